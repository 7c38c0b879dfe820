"""Talking to models."""

from screentest.llms.model import Finish, Message, Model, Reply, Request, Sampling, Usage

__all__ = ["Finish", "Message", "Model", "Reply", "Request", "Sampling", "Usage"]
