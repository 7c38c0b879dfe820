"""All text meant for a model: templates in English and Chinese, and how they become messages."""

from screentest.prompts.templates import fence, prompts_digest, render

__all__ = ["fence", "prompts_digest", "render"]
