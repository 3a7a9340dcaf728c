"""The areas of this app that ``manage.py leakcheck`` looks into, each with a secret of its own, and a hole in each.

A hole replaces functions by ones that forget a condition, so that ``--plant`` shows whether the check finds the leak.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from accounts.access import Principal
from accounts.models import Team
from accounts.tenancy import tenant
from workflows import selectors
from workflows.models import (
    ConnectionKind,
    DataCase,
    DataSet,
    Feedback,
    Run,
    RunUsage,
    RunWait,
    StepPart,
    ToolConnection,
)
from workflows.models.run import RunStatus
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.runs import waits
from workflows.services.usage import labels, report


NODE: Final = "tried"  # of the run with the secrets
# The areas whose rows are for one person, and those whose rows all members of the team see.
OWN_AREAS: Final = ("feedback", "step part", "usage", "wait")
SHARED_AREAS: Final = ("data set", "tool")

# A module, the name of a function in it, and what replaces the function.
Patch = tuple[ModuleType, str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class LeakAreas:
    """Implements ``memory.host.LeakAreas``."""

    own: tuple[str, ...] = OWN_AREAS
    shared: tuple[str, ...] = SHARED_AREAS

    @property
    def holes(self) -> Mapping[str, tuple[Patch, ...]]:
        return HOLES

    def fill(
        self, principal: Principal, team_id: UUID, run_id: str, secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        with tenant([team_id]):
            run = Run.objects.unscoped().get(pk=run_id)
            wait = _fill_run(run, secrets)
            _fill_usage(run, secrets["usage"])
            connection = _fill_tools(team_id, secrets["tool"])
        name, case = secrets["data set"], make_case(secrets["data set"], {}, None)
        data_set = save_data_set(principal, team_id=team_id, name=name)
        (row,) = add_cases(principal, data_set, [case])
        return {
            "data_set": str(data_set.pk),
            "case": str(row.pk),
            "connection": str(connection.pk),
            "wait": str(wait.pk),
            "node": NODE,
        }


def _fill_run(run: Run, secrets: Mapping[str, str]) -> RunWait:
    """Give the run feedback, the call of an agent, and an open question."""
    own: dict[str, Any] = {"team_id": run.team_id, "run": run}  # Any: values of columns
    Feedback.objects.create(**own, actor="leak check", rating=1, text=secrets["feedback"])
    text = secrets["step part"]
    StepPart.objects.create(
        **own,
        node_key=NODE,
        part="1.model",
        kind="agent-model",
        status="succeeded",
        inputs={"messages": [{"role": "user", "text": text}]},
        outputs={"text": text},
    )
    pause = {"nodes": [NODE], "reason": "input", "at": run.created_at.timestamp()}
    Run.objects.unscoped().filter(pk=run.pk).update(status=RunStatus.PAUSED, pause=pause)
    form = {"type": "question", "content": secrets["wait"], "inputs": [], "actions": []}
    return RunWait.objects.create(**own, node_key=NODE, form=form)


def _fill_usage(run: Run, subject: str) -> None:
    """Count a run of the person for somebody whose id at the person's own customer is the secret."""
    RunUsage.objects.create(
        team_id=run.team_id,
        day=report.get_today(),
        workflow_id=run.workflow_id,
        subject=subject,
        latency_bucket=0,
        runs=1,
    )


def _fill_tools(team_id: UUID, secret: str) -> ToolConnection:
    operation = {"name": "read", "description": secret, "parameters": {}, "call": {}}
    return ToolConnection.objects.create(
        team_id=team_id,
        slug=f"leak-check-{secret}"[:64],
        name=secret,
        kind=ConnectionKind.OPENAPI,
        url="https://leakcheck.invalid",
        operations=[operation],
        enabled_operations=["read"],
    )


def _find_anywhere(model: type[Model]) -> Callable[..., Model]:
    """Return a function that finds a row by its id in every team."""

    def find(_principal: Principal, row_id: UUID, *_args: object, **_options: object) -> Model:
        with tenant(Team.objects.values_list("pk", flat=True)):
            rows: QuerySet[Model] = model._base_manager.all()
            return rows.get(pk=row_id)

    return find


def _list_cases_anywhere(_principal: Principal, data_set: DataSet) -> list[DataCase]:
    with tenant([data_set.team_id]):
        return list(DataCase.objects.unscoped().filter(data_set=data_set))


def _list_parts_of_all_runs(principal: Principal, _run: Run, *_args: str) -> QuerySet[StepPart]:
    return StepPart.objects.visible_to(principal).order_by("id")


def _list_feedback_on_all_runs(principal: Principal, _run: Run) -> QuerySet[Feedback]:
    return Feedback.objects.visible_to(principal).select_related("created_by").order_by("id")


def _list_all_waiting(principal: Principal, **_options: object) -> QuerySet[RunWait]:
    rows = RunWait.objects.visible_to(principal).filter(answered_at=None, form__isnull=False)
    related = ("run__workflow", "run__subject_user", "run__started_by", "run__api_key")
    return rows.select_related(*related).order_by("-created_at", "-id")


def _match_all_usage(_principal: Principal) -> Q:
    return Q()


HOLES: Final[Mapping[str, tuple[Patch, ...]]] = {
    "data set": (
        (selectors, "find_data_set", _find_anywhere(DataSet)),
        (selectors, "list_data_cases", _list_cases_anywhere),
    ),
    "feedback": ((selectors, "list_feedback", _list_feedback_on_all_runs),),
    "step part": ((selectors, "list_parts", _list_parts_of_all_runs),),
    "tool": ((selectors, "find_tool_connection", _find_anywhere(ToolConnection)),),
    "usage": (
        (report, "match_own_usage", _match_all_usage),
        (labels, "match_own_usage", _match_all_usage),
    ),
    "wait": ((waits, "list_waiting", _list_all_waiting),),
}
