"""Runs a saved test case in a worker: the team's models, a memory that is there for the case alone.

No run comes of it: nothing is remembered, nothing is said in a conversation of anybody's.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import tenant
from config.crypto import decrypt
from workflows import memory_app
from workflows.engine.case_runs import CaseHistory, run_case
from workflows.engine.cases import Case, CaseResult, TurnResult, read_case
from workflows.engine.document import Document, Json
from workflows.engine.errors import WorkflowFault
from workflows.engine.mocks import Mocks
from workflows.engine.nodes import builtin_kinds
from workflows.engine.ports import ModelPort
from workflows.engine.runner import WorkflowRunner
from workflows.execution.adapters import Services
from workflows.execution.codec import dump
from workflows.execution.kinds import kinds
from workflows.execution.masking import Mask, mask_for
from workflows.execution.models_port import models_for
from workflows.models import TestResult, WorkflowSecret
from workflows.models.cases import LONGEST, ResultStatus
from workflows.models.documents import from_json


log = logging.getLogger(__name__)

SECONDS_A_TURN = 60.0
SHOWN = 4000  # characters of one value


@cache
def services() -> Services:
    return Services(models_for)


def run_saved_case(team_id: UUID, result_id: UUID) -> None:
    """Queued → running → passed or failed. Delivered twice, the second finds it begun."""
    with tenant([team_id]):
        claimed = (
            TestResult.objects.unscoped()
            .filter(pk=result_id, status=ResultStatus.QUEUED)
            .update(status=ResultStatus.RUNNING)
        )
        if not claimed:
            return
        row = TestResult.objects.unscoped().select_related("case", "snapshot").get(pk=result_id)
        secrets = _secrets(row)
    result = _result(row, secrets)
    with tenant([team_id]):
        TestResult.objects.unscoped().filter(pk=result_id).update(
            status=ResultStatus.PASSED if result.passed else ResultStatus.FAILED,
            detail=_detail(result, mask_for(str(result_id), secrets)),
            finished_at=timezone.now(),
            elapsed=result.seconds,
        )


def _result(row: TestResult, secrets: dict[str, str]) -> CaseResult:
    name = str(row.spec.get("name", ""))
    try:
        work = _run(row, secrets)
        return asyncio.run(asyncio.wait_for(work, LONGEST.total_seconds() - 10))
    except WorkflowFault as fault:
        return CaseResult(name, problem=fault.message)
    except TimeoutError:
        return CaseResult(name, problem="The case took too long.")
    except Exception as error:  # the row must say how it ended, whatever happened
        log.exception("test_case_broke", extra={"result": str(row.pk)})
        return CaseResult(name, problem=f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class CaseBench:
    """Where cases run: everything real but memory and conversations, which are the case's own."""

    services: Services
    models: ModelPort
    environment: Mapping[str, Json] = field(default_factory=dict, repr=False)

    async def run(self, document: Document, case: Case) -> CaseResult:
        memory = _memory()
        plugins = [kind for kind in kinds().values() if kind.name not in builtin_kinds()]

        def runner(
            document: Document, *, history: CaseHistory, mocks: Mocks | None
        ) -> WorkflowRunner:
            return WorkflowRunner(
                document,
                memory=memory,
                models=self.models,
                templates=self.services.templates,
                code=self.services.code,
                http=self.services.http,
                history=history,
                plugins=plugins,
                mocks=mocks,
                environment=self.environment,
                timeout_seconds=SECONDS_A_TURN,
            )

        return await run_case(document, case, runner, memory.port() if memory else None)


async def _run(row: TestResult, secrets: dict[str, str]) -> CaseResult:
    shared = services()
    bench = CaseBench(shared, shared.models(row.team_id, row.offline), secrets)
    return await bench.run(from_json(row.snapshot.document), read_case(row.spec))


def _memory() -> "memory_app.InMemoryProvider | None":
    return memory_app.InMemoryProvider() if memory_app.is_on() else None


def _secrets(row: TestResult) -> dict[str, str]:
    found = WorkflowSecret.objects.unscoped().filter(workflow_id=row.case.workflow_id)
    return {secret.name: decrypt(bytes(secret.secret)) for secret in found}


def _detail(result: CaseResult, mask: Mask) -> dict[str, Json]:
    detail = {"problem": result.problem, "turns": [_turn(turn) for turn in result.turns]}
    return json.loads(mask.on(dump(detail)))  # type: ignore[no-any-return]


def _turn(turn: TurnResult) -> dict[str, Json]:
    facts = turn.facts
    return {
        "findings": [asdict(finding) for finding in turn.findings],
        "status": facts.status,
        "error": facts.error,
        "outputs": _cut(dict(facts.outputs)),
        "recalled": list(facts.recalled)[:50],
        "written": list(facts.written)[:50],
        "seconds": facts.seconds,
        "tokens": facts.tokens,
        "steps": [
            {
                "node": step.key.node_id,
                "rounds": list(step.key.rounds),
                "kind": step.kind,
                "status": step.status.value,
                "handle": step.handle,
                "elapsed": step.elapsed,
                "error": step.error.message if step.error else "",
                "outputs": _cut(dict(step.outputs)),
            }
            for step in facts.steps
        ],
    }


def _cut(value: Json) -> Json:
    """Shortened for people, in the shape it had at the top."""
    if isinstance(value, dict):
        return {key: _cut_text(inner) for key, inner in value.items()}
    return _cut_text(value)


def _cut_text(value: Json) -> Json:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= SHOWN:
        return value
    return text[:SHOWN] + "…"
