"""The tests of a workflow: save them, create one from a run, and run them against the draft.

They are the cases of a data set that belongs to the workflow; a run of them is an evaluation of the draft.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.personas import strip_player
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.testing.cases import MAX_TURNS, PERSON, Case, Check, Seed, Turn, read_case
from workflows.models import (
    Conversation,
    DataCase,
    Evaluation,
    EvaluationResult,
    Run,
    RunEvent,
    Workflow,
)
from workflows.models.documents import from_json
from workflows.services import audit_lines
from workflows.services.data_sets import cases as data_cases
from workflows.services.data_sets.data_sets import load_tests
from workflows.services.data_sets.evaluations import EvaluationRequest, queue_evaluation
from workflows.services.debugging.subjects import find_subject
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.document_checks import check_document


MAX_RESULTS = 20  # of one case; a new result replaces the oldest one

dump_case = data_cases.dump_case


def save_case(
    principal: Principal,
    *,
    workflow: Workflow,
    spec: Mapping[str, Json],
    case: DataCase | None = None,
    run_id: UUID | None = None,
) -> DataCase:
    """Create a case, or change the given one. ``run_id``: the run it was made from, with whose person it is erased.

    Raises DocumentInvalid with the fields, or NameTaken.
    """
    permissions.check_edit(principal, workflow)
    subject = find_subject(principal, workflow, run_id) if run_id else ""
    parsed = read_case(dict(spec))
    return data_cases.save_case(principal, load_tests(workflow), parsed, case, subject=subject)


def list_conversation_runs(principal: Principal, conversation: Conversation) -> list[Run]:
    """Return the last ended runs of a conversation that the caller sees, oldest first."""
    runs = _list_ended_runs(principal, conversation.workflow).filter(conversation=conversation)
    return list(runs[:MAX_TURNS])[::-1]


def list_last_runs(principal: Principal, workflow: Workflow) -> list[Run]:
    """Return the ended runs of the caller's last conversation, oldest first; without conversations, the last run."""
    own_runs = _list_ended_runs(principal, workflow).filter(
        started_by_id=principal.user_id, api_key=None
    )
    last = own_runs.first()
    if last is None or last.conversation_id is None:
        return [last] if last is not None else []
    return list(own_runs.filter(conversation_id=last.conversation_id)[:MAX_TURNS])[::-1]


def _list_ended_runs(principal: Principal, workflow: Workflow) -> QuerySet[Run]:
    """Return the runs that have ended, newest first."""
    runs = Run.objects.visible_to(principal).filter(
        workflow=workflow, parent=None, finished_at__isnull=False
    )
    return runs.order_by("-created_at", "-id")


def build_case_from_runs(runs: Sequence[Run]) -> Case:
    """Return an unsaved case with a turn for each run. Memories that an earlier turn writes are none of the case's."""
    cases = [build_case_from_run(run) for run in runs]
    written: set[str] = set()
    seeds: dict[tuple[str, str], Seed] = {}
    for run, case in zip(runs, cases, strict=True):
        for seed in case.memories:
            if seed.key not in written:
                seeds.setdefault((seed.scope, seed.key), seed)
        written |= _list_written_keys(run)
    turns = tuple(turn for case in cases for turn in case.turns)
    return cases[0].model_copy(update={"turns": turns, "memories": tuple(seeds.values())})


def _list_written_keys(run: Run) -> set[str]:
    with tenant([run.team_id]):
        events = RunEvent.objects.unscoped().filter(run=run, name="memory_written").order_by("seq")
        return {event.data["entry"]["key"] for event in events}


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
    principal: Principal, *, workflow: Workflow, cases: Iterable[DataCase], offline: bool = False
) -> list[EvaluationResult]:
    """Queue the cases to run against the current draft, and return their unfinished results.

    Raises DocumentInvalid if the draft can't run.
    """
    permissions.check_edit(principal, workflow)
    permissions.check_run(principal, workflow)
    selected, snapshot = list(cases), take_snapshot(workflow)
    with tenant([workflow.team_id]):
        check_document(workflow, snapshot, from_json(snapshot.document))
        if not selected:
            return []
        request = EvaluationRequest(offline=offline)
        results = queue_evaluation(principal, load_tests(workflow), workflow, request, selected)
        _delete_old_results([case.pk for case in selected])
        audit_lines.record(principal, workflow, "case.run", count=len(results))
    return results


def find_newest_results(cases: Sequence[DataCase]) -> dict[UUID, EvaluationResult]:
    """Return the last result of each case. The caller has found the cases' workflow and may therefore see them."""
    if not cases:
        return {}
    with reading([cases[0].team_id]):
        results = (
            EvaluationResult.objects.unscoped()
            .select_related("evaluation")
            .filter(case__in=cases)
            .order_by("case_id", "-id")
            .distinct("case_id")
        )
        return {result.case_id: result for result in results}


def _delete_old_results(case_ids: Sequence[UUID]) -> None:
    """Delete all but the newest results of each case, and the evaluations that have none left."""
    number = Window(RowNumber(), partition_by=[F("case")], order_by=[F("id").desc()])
    rows = EvaluationResult.objects.unscoped().filter(case__in=case_ids).annotate(number=number)
    old_ids = list(rows.filter(number__gt=MAX_RESULTS).values_list("pk", flat=True))
    EvaluationResult.objects.unscoped().filter(pk__in=old_ids).delete()
    data_sets = DataCase.objects.unscoped().filter(pk__in=case_ids).values("data_set")
    empty = Evaluation.objects.unscoped().filter(data_set__in=data_sets, results=None)
    empty.filter(finished_at__isnull=False).delete()
