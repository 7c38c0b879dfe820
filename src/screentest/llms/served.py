"""What the providers have in common: send, give in where the server refuses a choice of ours, check for text."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from screentest.errors import EmptyReply, Rejected, ScreentestError
from screentest.llms.capabilities import capabilities
from screentest.llms.ladder import Ladder
from screentest.llms.model import Finish, Reply, Request, Usage
from screentest.llms.spec import ModelSpec, Rung
from screentest.llms.wire import Wire, unusable

log = logging.getLogger(__name__)

_TEMPERATURE = re.compile(r"\btemperature\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Draft:
    """One request, ready to send.

    Attributes:
        body: The JSON body.
        rung: How it asks for a schema, if it does.
        headers: What to send beside it.
    """

    body: Mapping[str, Any]
    rung: Rung | None
    headers: Mapping[str, str] | None


class ServedModel(ABC):
    """A model behind a wire.

    Args:
        name: The configured label.
        spec: The model.
        wire: The way to its server.
    """

    provider: ClassVar[Literal["openai", "anthropic"]]

    def __init__(self, name: str, spec: ModelSpec, wire: Wire) -> None:
        self._name, self._spec, self._wire = name, spec, wire
        self._row = capabilities(self.provider, spec.model)
        self._ladder = Ladder(spec, self._row)
        self._warn_of_what_is_not_sent()

    @property
    def name(self) -> str:
        """The configured label."""
        return self._name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` (see :class:`screentest.llms.Model`)."""
        while True:
            draft = self.draft(request)
            try:
                answer, latency = await self._wire.post(
                    draft.body, model=self._name, seconds=self._spec.timeout, headers=draft.headers
                )
            except Rejected as refused:
                if not self.gives_in(draft, refused):
                    raise
                continue
            return self.read(answer, draft.rung, latency)

    def draft(self, request: Request, rung: Rung | None = None) -> Draft:
        """What to send for ``request``, as far as is known of what the server takes.

        Args:
            request: The request.
            rung: How to ask for its schema; by default the way that works.
        """
        if request.schema is None:
            rung = None
        elif rung is None:
            rung = self._ladder.rung
        body = self._body(request, rung)
        return Draft(body, rung, self._headers(body))

    def read(self, answer: dict[str, Any], rung: Rung | None, latency: float) -> Reply:
        """The reply in the body of a response.

        Raises:
            CallError: The body is no reply.
            BadReply: The reply has no text, or the provider's filter stepped in.
        """
        reply = self._reply(answer, rung, latency)
        if reply.finish == "stop" and not reply.text.strip():
            raise EmptyReply("the reply has no text", model=self._name, reply=replace(reply, text=""))
        return reply

    def gives_in(self, draft: Draft, refused: Rejected) -> bool:
        """Whether to try again with less: a temperature that only the request suggested, or a lower rung."""
        if "temperature" in draft.body and self._spec.temperature is None and _TEMPERATURE.search(str(refused)):
            if self._row.sampling:
                log.info("%s: takes no temperature, none is sent from now on", self._name)
                self._row = replace(self._row, sampling=False)
            return True
        return draft.rung is not None and self._ladder.step_down(draft.rung, refused)

    @abstractmethod
    def _body(self, request: Request, rung: Rung | None) -> dict[str, Any]:
        """The body of a request, asking for a schema (if any) by way of ``rung``."""

    @abstractmethod
    def _reply(self, body: dict[str, Any], rung: Rung | None, latency: float) -> Reply:
        """The reply in the body of a response."""

    def _headers(self, body: Mapping[str, Any]) -> Mapping[str, str] | None:
        del body
        return None

    def _made(
        self, body: Mapping[str, Any], *, text: str, finish: Finish, thoughts: str, usage: Usage | None, latency: float
    ) -> Reply:
        return Reply(
            text=text,
            finish=finish,
            model=str(body.get("model") or self._spec.model),
            reasoning=thoughts,
            usage=usage,
            latency=latency,
            cost=self._spec.price.cost(usage) if self._spec.price else None,
        )

    def _unusable(self, body: Mapping[str, Any], what: str) -> ScreentestError:
        return unusable(body, what, model=self._name)

    def _warn_of_what_is_not_sent(self) -> None:
        spec, row = self._spec, self._row
        ignored = [
            *(name for name in ("temperature", "top_p") if getattr(spec, name) is not None and not row.sampling),
            *(["effort"] if spec.effort is not None and not row.effort else []),
        ]
        if ignored:
            log.warning("%s: %s does not take %s, so it is not sent", self._name, spec.model, " or ".join(ignored))
