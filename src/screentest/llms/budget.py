"""The budget: the worst case is reserved before a call, and settled after it."""

from __future__ import annotations

import asyncio

from screentest.errors import BadReply, BudgetExhausted, InputError
from screentest.llms.limits import estimate
from screentest.llms.model import Model, Reply, Request
from screentest.llms.retries import EMPTY_REPLIES
from screentest.llms.spec import ModelSpec


class Budget:
    """US dollars to spend.

    Args:
        limit: The most that all sessions of a run may spend.
        spent: What earlier sessions spent.
    """

    def __init__(self, limit: float, spent: float = 0.0) -> None:
        self.limit, self.spent, self.reserved = limit, spent, 0.0
        self._open = 0
        self._settled = asyncio.Event()

    async def reserve(self, worst: float, model: str) -> None:
        """Set ``worst`` dollars aside, waiting for calls under way to settle if they may leave enough.

        Raises:
            BudgetExhausted: There is not enough left, and nothing under way that could settle for less.
        """
        while self.spent + self.reserved + worst > self.limit:
            if not self._open:
                raise BudgetExhausted(
                    f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} spent, and the next call of "
                    f"{model} could cost ${worst:.4f}; raise --max-usd and run the same command again"
                )
            await self._settled.wait()
        self._open += 1
        self.reserved += worst

    def settle(self, worst: float, cost: float) -> None:
        """Replace a reservation by what was spent."""
        self._open -= 1
        self.reserved = self.reserved - worst if self._open else 0.0
        self.spent += cost
        self._settled.set()
        self._settled = asyncio.Event()


class Budgeted:
    """A model whose calls stay within a budget.

    A call that failed without a reply counts as free; one whose cost is not reported counts as its worst case, which
    is that of all replies it may take: an empty one is paid for, and asked for again.

    Args:
        model: The model.
        budget: Shared by all models of a run.
        spec: Gives the price.

    Raises:
        InputError: The model has no price, so that its calls cannot be bounded.
    """

    def __init__(self, model: Model, budget: Budget, spec: ModelSpec) -> None:
        if spec.price is None and spec.provider != "understudy":
            hint = f"add `price: {{input: …, output: …}}` to models.{model.name}, in dollars per million tokens"
            raise InputError(f"a budget needs the price of {model.name}", where=f"models.{model.name}", hint=hint)
        self._model, self._budget, self._spec = model, budget, spec

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` if the budget allows it."""
        price = self._spec.price
        if price is None:
            return await self._model.reply(request)
        once = price.worst(estimate(request.messages), self._spec.longest_output(request.sampling))
        worst = once * min(self._spec.retries, EMPTY_REPLIES)
        await self._budget.reserve(worst, self.name)
        cost = 0.0
        try:
            reply = await self._model.reply(request)
            cost = worst if reply.cost is None else reply.cost
        except BadReply as bad:
            cost = worst if bad.reply is None or bad.reply.cost is None else bad.reply.cost
            raise
        finally:
            self._budget.settle(worst, cost)
        return reply
