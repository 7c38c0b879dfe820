"""A model whose calls go in batches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from screentest.errors import BadReply, CallError, NoBatchApi, Rejected
from screentest.llms.batch import BatchApi, Crowded, Outcome
from screentest.llms.batches import Batches
from screentest.llms.journal import digest
from screentest.llms.model import Model, Reply, Request
from screentest.llms.served import Draft, ServedModel
from screentest.llms.wire import encoded

_DIGEST = 40


class Batched:
    """A model whose every attempt at a call is one request of a batch.

    A custom id is made of the call's identity, as the journal sees it, and the number of the attempt. What an earlier
    session handed in is never handed in again: its result is waited for or fetched, and only if the provider did not
    answer it is the next attempt made.

    Args:
        model: Writes the requests and reads the responses; its price is that of a batch.
        batches: All batches of the run.
        open_api: The account's batches, given the headers that a request needs.
        identity: What the model is, as given to the journal.
        online: Answers instead if the server takes no batches; without it, that stops the run.
    """

    def __init__(
        self,
        model: ServedModel,
        batches: Batches,
        open_api: Callable[[Mapping[str, str]], BatchApi],
        identity: bytes,
        online: Model | None,
    ) -> None:
        self._model, self._batches, self._open_api, self._identity = model, batches, open_api, identity
        self._online, self._takes_batches = online, True
        self._attempts: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    def handed_in(self, request: Request) -> bool:
        """Whether an earlier session has made the next attempt at ``request``."""
        stem = self._stem(request)
        return self._batches.earlier(f"{stem}-{self._attempts[stem]}")

    async def reply(self, request: Request) -> Reply:
        """Make one attempt at ``request``, after those that earlier sessions made in vain."""
        if self._online and not self._takes_batches:
            return await self._online.reply(request)
        try:
            return await self._reply(request)
        except NoBatchApi:
            if self._online is None:
                raise
            self._takes_batches = False
            return await self._online.reply(request)

    async def _reply(self, request: Request) -> Reply:
        stem = self._stem(request)
        asked = asyncio.get_running_loop().time
        began = asked()
        while True:
            custom_id = f"{stem}-{self._attempts[stem]}"
            earlier = self._batches.earlier(custom_id)
            draft = self._model.draft(request, self._batches.rung(custom_id) if earlier else None)
            api = self._open_api(draft.headers or {})
            try:
                outcome = await self._outcome(custom_id, draft, api, earlier=earlier)
                if outcome is None:
                    continue
                if not isinstance(outcome, bytes):
                    raise outcome
                return self._model.read(api.answer(outcome, self.name), draft.rung, asked() - began)
            except (CallError, BadReply) as error:
                self._attempts[stem] += 1
                helped = isinstance(error, Crowded) or (
                    isinstance(error, Rejected) and self._model.gives_in(draft, error)
                )
                unpaid = getattr(error, "reply", None) is None
                if not helped and not (earlier and unpaid):
                    raise

    def _stem(self, request: Request) -> str:
        return f"st-{digest(self._identity, request).hex()[:_DIGEST]}"

    async def _outcome(self, custom_id: str, draft: Draft, api: BatchApi, *, earlier: bool) -> Outcome | None:
        if earlier:
            return await self._batches.recall(custom_id, api)
        line = api.line(custom_id, encoded(draft.body, self.name))
        return await self._batches.send(custom_id, line, draft.rung, api=api, model=str(draft.body["model"]))
