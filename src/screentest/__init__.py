"""Screentest: a multi-agent simulation engine that builds role-play benchmarks."""

__version__ = "0.1.0"
