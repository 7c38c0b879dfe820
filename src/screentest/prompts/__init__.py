"""All text meant for a model: templates in English and Chinese, and how they become messages."""

from screentest.prompts.templates import fence, render

__all__ = ["fence", "render"]
