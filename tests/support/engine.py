"""Stand-ins for the engine's ports, and a way to run plans with a chosen history."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import jinja2

from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import (
    ClockPort,
    CodePort,
    CodeRequest,
    CodeResult,
    ModelChunk,
    ModelPort,
    ModelRequest,
    Ports,
    Usage,
)
from workflows.engine.runtime.local_ports import ListJournal, RandomIds, SystemClock
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart
from workflows.engine.runtime.step_records import StepRecord
from workflows.engine.testing.mocks import Mocks
from workflows.sandbox.rendering import print_as_json


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

    async def render(
        self, template: str, inputs: Mapping[str, Any], *, prints_json: bool = False
    ) -> str:
        environment = jinja2.Environment(
            autoescape=False, finalize=print_as_json if prints_json else None
        )
        return environment.from_string(template).render(**inputs)


class PythonHere:
    """Python in the test's own process; the product never does this."""

    async def run(self, request: CodeRequest) -> CodeResult:
        names: dict[str, Any] = {}
        exec(request.source, names)
        return CodeResult(names["main"](dict(request.inputs)))


def ports(*, clock: ClockPort | None = None, **given: Any) -> Ports:
    return Ports(clock=clock or SystemClock(), ids=RandomIds(), templates=JinjaHere(), **given)


async def run_plan(
    document: Document,
    *,
    inputs: Mapping[str, Any] | None = None,
    history: Sequence[StepRecord] = (),
    mocks: Mapping[str, Mapping[str, Any]] | None = None,
    plugins: Sequence[AnyKind] = (),
    journal: ListJournal | None = None,
    clock: ClockPort | None = None,
    models: ModelPort | None = None,
    code: CodePort | None = None,
    **start: Any,
) -> RunResult:
    plan = compile_plan(document, build_kinds(plugins=plugins))
    return await execute_plan(
        plan,
        RunStart(run_id="run", inputs=inputs or {}, **start),
        ports(clock=clock, model=models, code=code),
        journal or ListJournal(),
        history=history,
        mocks=Mocks(mocks) if mocks else None,
    )
