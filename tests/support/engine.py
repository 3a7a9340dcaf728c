"""Stand-ins for the engine's ports, and a way to run plans with a chosen history."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import jinja2

from workflows.engine.document import Document
from workflows.engine.kinds import AnyKind
from workflows.engine.local import ListJournal, RandomIds, SystemClock
from workflows.engine.loop import drive
from workflows.engine.mocks import Mocks
from workflows.engine.nodes import builtin_kinds
from workflows.engine.plan import compile_plan
from workflows.engine.ports import ModelChunk, ModelRequest, Ports, Usage
from workflows.engine.records import StepRecord
from workflows.engine.runs import RunResult, RunStart


class EchoModels:
    """Remembers what it was asked and repeats the last message, word by word."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        for word in request.messages[-1].text.split(" "):
            yield ModelChunk(text=f"{word} ")
        yield ModelChunk(finish_reason="stop", usage=Usage(3, 2))


class JinjaHere:
    """Jinja in the test's own process; the product never does this."""

    async def render(self, template: str, inputs: Mapping[str, Any]) -> str:
        return jinja2.Environment(autoescape=False).from_string(template).render(**inputs)


def ports(**given: Any) -> Ports:
    return Ports(clock=SystemClock(), ids=RandomIds(), templates=JinjaHere(), **given)


async def run_plan(
    document: Document,
    *,
    inputs: Mapping[str, Any] | None = None,
    history: Sequence[StepRecord] = (),
    mocks: Mapping[str, Mapping[str, Any]] | None = None,
    plugins: Sequence[AnyKind] = (),
    journal: ListJournal | None = None,
    **start: Any,
) -> RunResult:
    plan = compile_plan(document, builtin_kinds(plugins=plugins))
    return await drive(
        plan,
        RunStart(run_id="run", inputs=inputs or {}, **start),
        ports(),
        journal or ListJournal(),
        history=history,
        mocks=Mocks(mocks) if mocks else None,
    )
