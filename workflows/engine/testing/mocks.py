"""Mocks steps, so that a run needs none of the services that its workflow uses.

Keys are node ids or ``type:<node kind>``; the mock of a node has priority. The editor's pins, saved test cases and
the conformance suite use them.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import AnyKind, NodeContext, NodeResult
from workflows.engine.language.document import Json
from workflows.engine.language.plan import PlanNode
from workflows.engine.ports import ClockPort, ModelChunk, ModelRequest, Usage
from workflows.engine.testing.fake_server import FakeServer


# Says in a step's inputs that its outputs were pinned: nobody knows whether its tools read them outside.
PINNED: Final = "pinned"


@dataclass(frozen=True, slots=True)
class Mock:
    """A scripted step: its outputs, its error, or the answer of its model or server."""

    outputs: Mapping[str, Json] | None = None
    error: str | None = None
    fail_times: int = 0
    delay_s: float = 0
    chunk_delay_s: float = 0
    handle: str | None = None
    llm_text: str | None = None
    chunks: Sequence[str] | None = None
    http: Sequence[Mapping[str, Json]] | None = None  # the responses of the fake server, in order
    _server: FakeServer | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.http is not None:
            object.__setattr__(self, "_server", FakeServer(self.http))

    @property
    def replaces_step(self) -> bool:
        """Return whether the mock replaces the whole step, and not only the response of its model or server."""
        scripted = self.llm_text is not None or self.http is not None
        return self.outputs is not None or self.handle is not None or not scripted

    def should_fail(self, tries: int) -> bool:
        if self.fail_times:
            return tries <= self.fail_times
        return self.error is not None

    async def play(self, node: PlanNode, ctx: NodeContext, tries: int) -> NodeResult:
        """Return the mocked result after the delay, or raise NodeFailed."""
        if self.delay_s:
            await ctx.ports.clock.sleep(self.delay_s)
        if self.should_fail(tries):
            raise NodeFailed("MockError", self.error or "The pinned node fails", retryable=True)
        ctx.record_inputs(await node.kind.preview_inputs(node.prepared, ctx))
        kind = node.kind
        if kind.records_untrusted_content and kind.brings_untrusted_content(node.spec):
            ctx.record_untrusted_keys([PINNED])
        outputs = dict(self.outputs or {})
        await self._stream(kind, outputs, ctx)
        return NodeResult(outputs, handle=self.handle, usage=_read_usage(outputs))

    async def _stream(self, kind: AnyKind, outputs: Mapping[str, Json], ctx: NodeContext) -> None:
        for name in sorted(kind.streams):
            text = outputs.get(name)
            if not isinstance(text, str):
                continue
            for piece in self.chunks if self.chunks is not None else split_words(text):
                if self.chunk_delay_s:
                    await ctx.ports.clock.sleep(self.chunk_delay_s)
                ctx.stream(name, piece)

    def build_context(self, ctx: NodeContext) -> NodeContext:
        """Return the context with the mock's server or model, for a node that runs itself."""
        if self._server is not None:
            return replace(ctx, ports=replace(ctx.ports, http=self._server))
        model = ScriptedModel(self.llm_text or "", self.chunks, self.chunk_delay_s, ctx.ports.clock)
        return replace(ctx, ports=replace(ctx.ports, model=model))


class Mocks:
    def __init__(self, sources: Mapping[str, Mapping[str, Json]]) -> None:
        self._by_key = {key: read_mock(key, value) for key, value in sources.items()}

    def find(self, node_id: str, kind: str) -> Mock | None:
        """Return the mock of the node or, without one, of its kind."""
        return self._by_key.get(node_id) or self._by_key.get(f"type:{kind}")


def read_mock(key: str, source: Mapping[str, Json]) -> Mock:
    names = {mock_field.name for mock_field in fields(Mock) if mock_field.init}
    if unknown := set(source) - names:
        raise NodeFailed("MockInvalid", f"The mock of {key} has unknown keys: {sorted(unknown)}")
    return Mock(**source)


def split_words(text: str) -> list[str]:
    """Return the words, all but the first with the space before it, and an empty piece that marks the end."""
    return [*re.findall(r"^[^ ]*| [^ ]*", text), ""]


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Answers every request with one text."""

    text: str
    chunks: Sequence[str] | None
    chunk_delay_s: float
    clock: ClockPort

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for piece in self.chunks if self.chunks is not None else split_words(self.text):
            if self.chunk_delay_s:
                await self.clock.sleep(self.chunk_delay_s)
            yield ModelChunk(text=piece)
        yield ModelChunk(finish_reason="stop", usage=Usage())


def _read_usage(outputs: Mapping[str, Json]) -> Usage | None:
    usage = outputs.get("usage")
    if not isinstance(usage, Mapping):
        return None
    return Usage(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
