"""Test cases: save them, create one from a run, and run them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.personas import strip_player
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.testing.cases import PERSON, Case, Check, Seed, Turn, read_case
from workflows.errors import InvalidValue, NameTaken
from workflows.models import Run, RunEvent, TestCase, TestResult, Workflow
from workflows.models.documents import from_json
from workflows.services import audit_lines
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.document_checks import check_document
from workflows.tasks import wake_worker_for_case


MAX_CASES = 200
MAX_RESULTS = 20  # of one case; a new result replaces the oldest one


def save_case(
    principal: Principal,
    *,
    workflow: Workflow,
    spec: Mapping[str, Json],
    case: TestCase | None = None,
) -> TestCase:
    """Create a case, or change the given one. Raises DocumentInvalid with the fields, or NameTaken."""
    permissions.check_edit(principal, workflow)
    parsed = read_case(spec)
    with tenant([workflow.team_id]):
        siblings = TestCase.objects.unscoped().filter(workflow=workflow)
        if case is None:
            if siblings.count() >= MAX_CASES:
                raise InvalidValue(_("A workflow can have at most 200 test cases."))
            highest = siblings.aggregate(highest=Max("rank"))["highest"] or 0
            case = TestCase(
                team_id=workflow.team_id,
                workflow=workflow,
                rank=highest + 1,
                created_by_id=principal.user_id,
            )
        if siblings.filter(name=parsed.name).exclude(pk=case.pk).exists():
            raise NameTaken(field="name")
        case.name, case.spec = parsed.name, dump_case(parsed)
        case.save()
        audit_lines.record(principal, case, "case.saved", workflow=str(workflow.pk))
    return case


def delete_case(principal: Principal, *, workflow: Workflow, case: TestCase) -> None:
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        case_id = str(case.pk)
        case.delete()
        audit_lines.record(principal, workflow, "case.deleted", case=case_id)


def build_case_from_run(run: Run) -> Case:
    """Return an unsaved case with a run's inputs and memories, which expects the same outputs."""
    outputs = run.outputs or {}
    query = run.system.get("query")
    checks = [Check(of="status", operator="is", value=run.status)]
    for name, expected in outputs.items():
        operator = "is" if isinstance(expected, str | bool) else "="
        if isinstance(expected, str | bool | int | float) and expected != "":
            checks.append(Check(of=f"output.{name}", operator=operator, value=expected))
    turn = Turn(
        say=str(query) if query is not None else None,
        inputs=dict(run.inputs),
        person=strip_player(run.subject) if run.subject_user_id is None else PERSON,
        checks=tuple(checks),
    )
    return Case(
        name=run.summary[:120] or _("From a run"),
        turns=(turn,),
        memories=_build_memory_seeds(run, turn.person),
        pins=dict(run.mocks or {}),
    )


def _build_memory_seeds(run: Run, person: str) -> tuple[Seed, ...]:
    """Return the memories that the run recalled, because the separate memory of a case is empty at first."""
    seeds: dict[tuple[str, str], Seed] = {}
    with tenant([run.team_id]):
        events = RunEvent.objects.unscoped().filter(run=run, name="memory_recalled").order_by("seq")
        for event in events:
            scope = event.data["scope"]
            for entry in event.data["entries"] if scope != "run" else ():
                key = entry["key"]
                seed = Seed(scope=scope, person=person, key=key, value=entry["value"])
                seeds.setdefault((scope, key), seed)
    return tuple(seeds.values())


def run_cases(
    principal: Principal, *, workflow: Workflow, cases: Iterable[TestCase], offline: bool = False
) -> list[TestResult]:
    """Queue the cases to run against the current draft, and return their unfinished results.

    Raises DocumentInvalid if the draft can't run.
    """
    permissions.check_edit(principal, workflow)
    permissions.check_run(principal, workflow)
    snapshot = take_snapshot(workflow)
    key = principal.key if isinstance(principal, KeyPrincipal) else None
    with tenant([workflow.team_id]):
        check_document(workflow, snapshot, from_json(snapshot.document))
        results = TestResult.objects.bulk_create(
            TestResult(
                team_id=workflow.team_id,
                case=case,
                snapshot=snapshot,
                spec=case.spec,
                offline=offline,
                started_by_id=principal.user_id,
                api_key=key,
            )
            for case in cases
        )
        for result in results:
            _delete_old_results(result.case_id)
        audit_lines.record(principal, workflow, "case.run", count=len(results))
        for result in results:
            transaction.on_commit(partial(wake_worker_for_case, workflow.team_id, result.pk))
    return results


def find_newest_results(cases: Sequence[TestCase]) -> dict[UUID, TestResult]:
    """Return the last result of each case. The caller has found the cases' workflow and may therefore see them."""
    if not cases:
        return {}
    with tenant([cases[0].team_id]):
        results = (
            TestResult.objects.unscoped()
            .filter(case__in=cases)
            .order_by("case_id", "-queued_at", "-id")
            .distinct("case_id")
        )
        return {result.case_id: result for result in results}


def dump_case(case: Case) -> dict[str, Json]:
    """Return the case without default values, because people read it."""
    return case.model_dump(mode="json", exclude_defaults=True)


def _delete_old_results(case_id: UUID) -> None:
    old_ids = (
        TestResult.objects.unscoped()
        .filter(case_id=case_id)
        .order_by("-queued_at", "-id")
        .values_list("pk", flat=True)[MAX_RESULTS:]
    )
    TestResult.objects.unscoped().filter(pk__in=list(old_ids)).delete()
