"""What a server of an earlier revision asks a person while it carries out a call.

Such a server waits for the answer with its connection open, and a person may take days. So it isn't kept waiting: the call is
withdrawn while the server waits, and the question is answered with ``cancel``. When the person has answered, the same call is
made again, and gets the remembered answer as soon as the server asks the same question.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Final

from mcp import types

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json


MAX_QUESTIONS: Final = 10  # of one call, each of which a person has to answer
_TELL_SECONDS: Final = 2.0  # until a server has been told that its question is cancelled


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked, and what the person answered; both as they are sent."""

    question: Mapping[str, Json]
    result: Mapping[str, Json]


@dataclass
class Interview:
    """The questions of a server during one call, in their order. ``question`` is the one that nobody has answered yet."""

    answers: Sequence[Answer] = ()
    question: types.ElicitRequestFormParams | None = None
    is_asking: asyncio.Event = field(default_factory=asyncio.Event)
    is_withdrawn: asyncio.Event = field(default_factory=asyncio.Event)
    is_told: asyncio.Event = field(default_factory=asyncio.Event)
    _count: int = 0

    async def answer(self, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        """Return the remembered answer to a question, or ``cancel`` once the call that asks it is withdrawn."""
        if self.question is None and self._count < len(self.answers):
            remembered = self.answers[self._count]
            if remembered.question == describe_question(params):
                self._count += 1
                return types.ElicitResult.model_validate(remembered.result)
        if self.question is None:
            # Answers to what it no longer asks are dropped: they were given to another question.
            self.question, self.answers = params, self.answers[: self._count]
            self.is_asking.set()
        await self.is_withdrawn.wait()
        return types.ElicitResult(action="cancel")

    async def end(self) -> types.ElicitRequestFormParams | None:
        """Return the question for the person after the call was withdrawn. Raise ``ToolFailed`` if there were too many."""
        if self.question is None:
            return None
        self.is_withdrawn.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.is_told.wait(), _TELL_SECONDS)
        if len(self.answers) >= MAX_QUESTIONS:
            raise ToolFailed(f"The MCP server asks more than {MAX_QUESTIONS} questions in one call")
        return self.question


@dataclass
class Interviews:
    """The interviews of a connection: those of the calls under way, and which of them a request of the server belongs to."""

    under_way: list[Interview] = field(default_factory=list)
    requests: dict[str, Interview] = field(default_factory=dict)

    @contextmanager
    def hold(self, interview: Interview) -> Iterator[None]:
        """Let the server ask in this block. What is sent in it over HTTP carries the interview with its answer."""
        token = _current.set(interview)
        self.under_way.append(interview)
        try:
            yield
        finally:
            self.under_way.remove(interview)
            _current.reset(token)

    def note_request(self, request: types.RequestId, context: Context | None) -> None:
        """Note which call asks: that of the context in which its answer is read, or the only one that is under way."""
        interview = context.get(_current) if context is not None else None
        if interview is None and len(self.under_way) == 1:
            interview = self.under_way[0]
        if interview is not None:
            self.requests[str(request)] = interview

    def find(self, request: types.RequestId) -> Interview | None:
        return self.requests.get(str(request))

    def note_response(self, request: types.RequestId | None) -> None:
        """Note that the answer to a request of the server was sent."""
        if interview := self.requests.pop(str(request), None):
            interview.is_told.set()


_current: ContextVar[Interview | None] = ContextVar("mcp_interview", default=None)


def describe_question(params: types.ElicitRequestFormParams) -> dict[str, Json]:
    """Return what makes a question the same one: its text and its fields."""
    return {"message": params.message, "schema": params.requested_schema}
