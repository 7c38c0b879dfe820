"""The understudy: the honest offline model that ships with Screentest."""

from screentest.llms.understudy.model import Understudy

__all__ = ["Understudy"]
