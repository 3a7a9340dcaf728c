"""Run a saved test case in a worker, with the team's models and a memory that exists only for this case.

Neither a run nor a memory nor a message of a conversation is stored.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import tenant
from config.redaction import Redactor
from workflows import memory_app
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document, Json
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import ModelPort
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.case_runs import run_case
from workflows.engine.testing.cases import Case, CaseResult, TurnResult, read_case
from workflows.execution.journal.codec import dump
from workflows.execution.journal.masking import build_run_redactor, load_secrets
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.models import build_models
from workflows.models import TestResult
from workflows.models.cases import MAX_CASE_TIME, ResultStatus
from workflows.models.documents import from_json


log = logging.getLogger(__name__)

SECONDS_PER_TURN = 60.0
MAX_VALUE_CHARACTERS = 4000  # characters of one value


@cache
def get_services() -> Services:
    return Services(build_models)


def run_saved_case(team_id: UUID, result_id: UUID) -> None:
    """Run a queued case and store its result. A second delivery of the message does nothing."""
    with tenant([team_id]):
        claimed = (
            TestResult.objects.unscoped()
            .filter(pk=result_id, status=ResultStatus.QUEUED)
            .update(status=ResultStatus.RUNNING)
        )
        if not claimed:
            return
        row = TestResult.objects.unscoped().select_related("case", "snapshot").get(pk=result_id)
        secrets = load_secrets(row.case.workflow_id)
    result = _run_to_result(row, secrets)
    with tenant([team_id]):
        TestResult.objects.unscoped().filter(pk=result_id).update(
            status=ResultStatus.PASSED if result.has_passed else ResultStatus.FAILED,
            detail=_build_detail(result, build_run_redactor(str(result_id), secrets)),
            finished_at=timezone.now(),
            elapsed=result.seconds,
        )


def _run_to_result(row: TestResult, secrets: dict[str, str]) -> CaseResult:
    name, seconds = str(row.spec.get("name", "")), MAX_CASE_TIME.total_seconds() - 10
    try:
        return asyncio.run(asyncio.wait_for(_run(row, secrets), seconds))
    except EngineFault as fault:
        return CaseResult(name, problem=fault.message)
    except TimeoutError:
        return CaseResult(name, problem="The test case timed out.")
    except Exception as error:  # the row must record the end in any case
        log.exception("test_case_broke", extra={"result": str(row.pk)})
        return CaseResult(name, problem=f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class CaseRunner:
    """Runs cases with the given services and models. Each case has its own memory and conversations."""

    services: Services
    models: ModelPort
    environment: Mapping[str, Json] = field(default_factory=dict, repr=False)

    async def run(self, document: Document, case: Case) -> CaseResult:
        memory = memory_app.InMemoryProvider() if memory_app.is_on() else None
        make_runner = partial(
            WorkflowRunner,
            memory=memory,
            models=self.models,
            templates=self.services.templates,
            code=self.services.code,
            http=self.services.http,
            plugins=[kind for kind in load_kinds().values() if kind.name not in build_kinds()],
            environment=self.environment,
            timeout_seconds=SECONDS_PER_TURN,
        )
        return await run_case(document, case, make_runner, memory.port() if memory else None)


async def _run(row: TestResult, secrets: dict[str, str]) -> CaseResult:
    services = get_services()
    runner = CaseRunner(services, services.models(row.team_id, row.offline), secrets)
    return await runner.run(from_json(row.snapshot.document), read_case(row.spec))


def _build_detail(result: CaseResult, redactor: Redactor) -> dict[str, Json]:
    detail = {"problem": result.problem, "turns": [_describe_turn(turn) for turn in result.turns]}
    return json.loads(redactor.redact_json_text(dump(detail)))  # type: ignore[no-any-return]


def _describe_turn(turn: TurnResult) -> dict[str, Json]:
    facts = turn.facts
    return {
        "findings": [asdict(finding) for finding in turn.findings],
        "status": facts.status,
        "error": facts.error,
        "outputs": _shorten(dict(facts.outputs)),
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
                "outputs": _shorten(dict(step.outputs)),
            }
            for step in facts.steps
        ],
    }


def _shorten(value: Json) -> Json:
    """Shorten a value for people, keeping the keys of its top level."""
    if isinstance(value, dict):
        return {key: _shorten_text(inner) for key, inner in value.items()}
    return _shorten_text(value)


def _shorten_text(value: Json) -> Json:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= MAX_VALUE_CHARACTERS:
        return value
    return text[:MAX_VALUE_CHARACTERS] + "…"
