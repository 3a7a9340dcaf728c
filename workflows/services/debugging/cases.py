"""Test cases: writing them down, making one of a run, running them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.personas import strip_player
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.testing.cases import PERSON, Case, Check, Seed, Turn, read_case
from workflows.errors import InvalidValue, NameTaken
from workflows.models import Run, RunEvent, TestCase, TestResult, Workflow
from workflows.services import audit_lines
from workflows.services.editor.snapshots import take_snapshot
from workflows.tasks import wake_case


MOST_CASES = 200
KEPT_RESULTS = 20  # of one case; older ones are dropped as new ones come


def save_case(
    principal: Principal,
    *,
    workflow: Workflow,
    spec: Mapping[str, Json],
    case: TestCase | None = None,
) -> TestCase:
    """A new case, or the given one changed. Raises DocumentInvalid naming the fields, NameTaken."""
    permissions.check_edit(principal, workflow)
    read = read_case(spec)
    with tenant([workflow.team_id]):
        others = TestCase.objects.unscoped().filter(workflow=workflow)
        if case is None:
            if others.count() >= MOST_CASES:
                raise InvalidValue(_("A workflow can have at most 200 test cases."))
            last = others.aggregate(last=Max("rank"))["last"] or 0
            case = TestCase(
                team_id=workflow.team_id,
                workflow=workflow,
                rank=last + 1,
                created_by_id=principal.user_id,
            )
        if others.filter(name=read.name).exclude(pk=case.pk).exists():
            raise NameTaken(field="name")
        case.name, case.spec = read.name, as_json(read)
        case.save()
        audit_lines.note(principal, case, "case.saved", workflow=str(workflow.pk))
    return case


def delete_case(principal: Principal, *, workflow: Workflow, case: TestCase) -> None:
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        key = str(case.pk)
        case.delete()
        audit_lines.note(principal, workflow, "case.deleted", case=key)


def case_of_run(run: Run, *, name: str = "", answer: str | None = None) -> Case:
    """A run as a case: what went in and was known, and that the same comes out. Nothing is saved yet."""
    outputs = run.outputs or {}
    said = run.system.get("query")
    checks = [Check(of="status", operator="is", value=run.status)]
    for key, value in outputs.items():
        expected = answer if answer is not None and key == "answer" else value
        operator = "is" if isinstance(expected, str | bool) else "="
        if isinstance(expected, str | bool | int | float) and expected != "":
            checks.append(Check(of=f"output.{key}", operator=operator, value=expected))
    turn = Turn(
        say=str(said) if said is not None else None,
        inputs=dict(run.inputs),
        person=strip_player(run.subject) if run.subject_user_id is None else PERSON,
        checks=tuple(checks),
    )
    return Case(
        name=name or run.gist[:120] or _("From a run"),
        turns=(turn,),
        memories=_recalled(run, turn.person),
        pins=dict(run.mocks or {}),
    )


def _recalled(run: Run, person: str) -> tuple[Seed, ...]:
    """What the run was told by memory: a case has one of its own, and would otherwise know nothing."""
    seeds: dict[tuple[str, str], Seed] = {}
    with tenant([run.team_id]):
        events = RunEvent.objects.unscoped().filter(run=run, name="memory_recalled").order_by("seq")
        for said in events:
            scope = said.data["scope"]
            for entry in said.data["entries"] if scope != "run" else ():
                key = entry["key"]
                seed = Seed(scope=scope, person=person, key=key, value=entry["value"])
                seeds.setdefault((scope, key), seed)
    return tuple(seeds.values())


def run_cases(
    principal: Principal,
    *,
    workflow: Workflow,
    cases: Iterable[TestCase],
    offline: bool = False,
) -> list[TestResult]:
    """Queue every case against the draft as it is now."""
    permissions.check_edit(principal, workflow)
    permissions.check_run(principal, workflow)
    snapshot = take_snapshot(workflow)
    with tenant([workflow.team_id]):
        made = TestResult.objects.bulk_create(
            TestResult(
                team_id=workflow.team_id,
                case=case,
                snapshot=snapshot,
                spec=case.spec,
                offline=offline,
                started_by_id=principal.user_id,
            )
            for case in cases
        )
        for result in made:
            _drop_old(result.case_id)
        audit_lines.note(principal, workflow, "case.run", count=len(made))
        for result in made:
            transaction.on_commit(partial(wake_case, workflow.team_id, result.pk))
    return made


def newest_results(cases: Sequence[TestCase]) -> dict[UUID, TestResult]:
    """By case, its last result. The caller found the cases' workflow, so may see them."""
    if not cases:
        return {}
    with tenant([cases[0].team_id]):
        found = (
            TestResult.objects.unscoped()
            .filter(case__in=cases)
            .order_by("case_id", "-queued_at", "-id")
            .distinct("case_id")
        )
        return {result.case_id: result for result in found}


def as_json(case: Case) -> dict[str, Json]:
    """Without what is as it would be anyway: people read it."""
    return case.model_dump(mode="json", exclude_defaults=True)


def _drop_old(case_id: UUID) -> None:
    old = (
        TestResult.objects.unscoped()
        .filter(case_id=case_id)
        .order_by("-queued_at", "-id")
        .values_list("pk", flat=True)[KEPT_RESULTS:]
    )
    TestResult.objects.unscoped().filter(pk__in=list(old)).delete()
