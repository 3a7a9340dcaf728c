"""Selectors: every function finds rows and checks the permission in one call.

A missing row, or one of another team, raises ``NotFound``; one that the principal may only see raises ``NotAllowed``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Count, F, Model, OuterRef, Q, QuerySet, Subquery

from accounts.access import Principal, can, check
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.execution.events.run_watches import FOLLOWED_FIELDS
from workflows.models import (
    Conversation,
    Credential,
    DataCase,
    DataSet,
    DryRunChange,
    Evaluation,
    EvaluationResult,
    Feedback,
    Folder,
    FolderTree,
    Message,
    ModelProvider,
    Pin,
    Revision,
    Run,
    RunEvent,
    Step,
    StepPart,
    Task,
    ToolConnection,
    Version,
    Workflow,
)


M = TypeVar("M", bound=Model)

# What the list of a team's runs shows of runs that are not the reader's own.
TEAM_RUN_FIELDS = (
    *("id", "team_id", "workflow_id", "api_key_id", "parent_id", "status", "created_at"),
    *("started_at", "finished_at", "elapsed", "prompt_tokens", "completion_tokens", "cost"),
)

CHECKS: dict[str, Callable[[Principal, Workflow], None]] = {
    "view": permissions.check_view,
    "edit": permissions.check_edit,
    "run": permissions.check_run,
    "start": permissions.check_start,
    "publish": permissions.check_publish,
    "delete": permissions.check_delete,
    "share": permissions.check_share,
}


def list_workflows(
    principal: Principal, *, team_id: UUID | None = None, archived: bool = False
) -> QuerySet[Workflow]:
    """Return the workflows that the principal may see, most recently changed first."""
    teams = _list_team_ids(principal, "workflow.view", team_id)
    rows = Workflow.objects.visible_to(principal).filter(team_id__in=teams)
    rows = rows.filter(archived_at__isnull=not archived)
    return rows.select_related("published_version").order_by("-updated_at", "-id")


def find_workflow(principal: Principal, workflow_id: UUID, verb: str = "view") -> Workflow:
    """Return one workflow, checked for a verb of ``CHECKS``, with its published version's hash but not its document."""
    rows = Workflow.objects.visible_to(principal).select_related("published_version__snapshot")
    workflow = _get(rows.defer("published_version__snapshot__document"), pk=workflow_id)
    CHECKS[verb](principal, workflow)
    return workflow


def find_workflows(principal: Principal, ids: Iterable[UUID], verb: str = "view") -> list[Workflow]:
    """Return all of these workflows, each checked for the verb, in one query. Raises NotFound if one is missing."""
    pks = set(ids)
    workflows = list(Workflow.objects.visible_to(principal).filter(pk__in=pks).order_by("id"))
    if len(workflows) < len(pks):
        raise NotFound
    for workflow in workflows:
        CHECKS[verb](principal, workflow)
    return workflows


def list_tasks(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[Task]:
    """Return the principal's own tasks, newest first."""
    teams = _list_team_ids(principal, "run.view", team_id)
    rows = Task.objects.visible_to(principal).filter(team_id__in=teams)
    return rows.select_related("run").order_by("-created_at", "-id")


def find_task(principal: Principal, task_id: UUID) -> Task:
    return _get(list_tasks(principal), pk=task_id)


def list_folders(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[Folder]:
    """Return the folders by name, each with the number of workflows directly in it (``workflow_count``)."""
    teams = _list_team_ids(principal, "workflow.view", team_id)
    rows = Folder.objects.visible_to(principal).filter(team_id__in=teams)
    count = Count("workflows", filter=Q(workflows__archived_at__isnull=True))
    return rows.annotate(workflow_count=count).order_by("name", "id")


def load_folder_tree(principal: Principal, team_id: UUID) -> FolderTree:
    return FolderTree.from_folders(list_folders(principal, team_id=team_id))


def find_folder(principal: Principal, folder_id: UUID) -> Folder:
    """Return one folder, which is visible to any member who may see the team's workflows."""
    return _get(list_folders(principal), pk=folder_id)


def list_versions(principal: Principal, workflow: Workflow) -> QuerySet[Version]:
    """Return the versions, newest first, without their documents."""
    permissions.check_view(principal, workflow)
    rows = Version.objects.visible_to(principal).filter(workflow=workflow)
    return rows.select_related("snapshot").defer("snapshot__document").order_by("-number")


def find_version(principal: Principal, workflow: Workflow, number: int) -> Version:
    permissions.check_view(principal, workflow)
    rows = Version.objects.visible_to(principal).select_related("snapshot")
    return _get(rows, workflow=workflow, number=number)


def list_cases(principal: Principal, workflow_id: UUID) -> QuerySet[DataCase]:
    """Return the tests of the workflow in their order."""
    workflow = find_workflow(principal, workflow_id)
    rows = DataCase.objects.visible_to(principal).select_related("data_set__workflow")
    return rows.filter(data_set__workflow=workflow).order_by("rank", "id")


def find_case(
    principal: Principal, workflow_id: UUID, case_id: UUID, verb: str = "view"
) -> DataCase:
    workflow = find_workflow(principal, workflow_id, verb)
    rows = DataCase.objects.visible_to(principal).select_related("data_set__workflow")
    return _get(rows, pk=case_id, data_set__workflow=workflow)


def find_case_result(principal: Principal, workflow_id: UUID, result_id: UUID) -> EvaluationResult:
    """Return a result of one of the tests of the workflow."""
    rows = EvaluationResult.objects.visible_to(principal).select_related("case")
    workflow = find_workflow(principal, workflow_id)
    return _get(rows, pk=result_id, case__data_set__workflow=workflow)


def list_case_results(principal: Principal, ids: Iterable[UUID]) -> QuerySet[EvaluationResult]:
    """Return the results with these ids. The caller has started them and may therefore see them."""
    rows = EvaluationResult.objects.visible_to(principal).select_related("evaluation")
    return rows.filter(pk__in=list(ids)).order_by("id")


def list_data_sets(principal: Principal, team_id: UUID | None = None) -> QuerySet[DataSet]:
    """Return the data sets of the team by name, then the tests of workflows, with the number of cases (``case_count``)."""
    teams = _list_team_ids(principal, "workflow.view", team_id)
    rows = DataSet.objects.visible_to(principal).select_related("workflow")
    counted = rows.filter(team_id__in=teams).annotate(case_count=Count("cases"))
    return counted.order_by(F("workflow__name").asc(nulls_first=True), "name", "id")


def find_data_set(principal: Principal, data_set_id: UUID, verb: str = "view") -> DataSet:
    """Return one data set, to view, or to "edit"."""
    data_set = _get(list_data_sets(principal), pk=data_set_id)
    check(principal, f"workflow.{verb}", data_set.workflow or data_set.team_id)
    return data_set


def list_data_cases(principal: Principal, data_set: DataSet) -> QuerySet[DataCase]:
    """Return the cases of a data set in their order."""
    check(principal, "workflow.view", data_set.workflow or data_set.team_id)
    return DataCase.objects.visible_to(principal).filter(data_set=data_set).order_by("rank", "id")


def find_data_case(
    principal: Principal, data_set_id: UUID, case_id: UUID, verb: str = "edit"
) -> DataCase:
    data_set = find_data_set(principal, data_set_id, verb)
    rows = DataCase.objects.visible_to(principal).select_related("data_set__workflow")
    return _get(rows, pk=case_id, data_set=data_set)


def list_evaluations(principal: Principal, data_set: DataSet) -> QuerySet[Evaluation]:
    """Return the evaluations with a data set, newest first."""
    check(principal, "workflow.view", data_set.workflow or data_set.team_id)
    return _list_newest_evaluations(principal).filter(data_set=data_set)


def list_evaluations_of_workflow(principal: Principal, workflow: Workflow) -> QuerySet[Evaluation]:
    """Return the evaluations of a workflow with any data set, newest first."""
    permissions.check_view(principal, workflow)
    return _list_newest_evaluations(principal).filter(workflow=workflow)


def find_evaluation(principal: Principal, evaluation_id: UUID, verb: str = "view") -> Evaluation:
    evaluation = _get(_list_newest_evaluations(principal), pk=evaluation_id)
    CHECKS[verb](principal, evaluation.workflow)
    return evaluation


def _list_newest_evaluations(principal: Principal) -> QuerySet[Evaluation]:
    rows = Evaluation.objects.visible_to(principal)
    return rows.select_related("workflow", "data_set__workflow").order_by("-created_at", "-id")


def find_version_or_draft(principal: Principal, workflow: Workflow, name: str) -> Version | None:
    """Return the version whose number is ``name``, or None if ``name`` is "draft"."""
    if name == "draft":
        permissions.check_view(principal, workflow)
        return None
    number = int(name) if name.isdecimal() and len(name) < 10 else 0
    return find_version(principal, workflow, number)


def find_versions(
    principal: Principal, workflow: Workflow, names: Iterable[str]
) -> list[Version | None]:
    """Return the versions with these numbers, and None for each "draft"."""
    return [find_version_or_draft(principal, workflow, name) for name in names]


def list_revisions(principal: Principal, workflow: Workflow) -> QuerySet[Revision]:
    """Return the draft's edits, newest first."""
    permissions.check_view(principal, workflow)
    rows = Revision.objects.visible_to(principal).filter(workflow=workflow)
    return rows.select_related("author").order_by("-number")


def list_runs(principal: Principal, *, workflow: Workflow | None = None) -> QuerySet[Run]:
    """Return the runs that the principal started or that are for the principal, newest first."""
    teams = _list_team_ids(principal, "run.view")
    rows = Run.objects.visible_to(principal).filter(team_id__in=teams, rounds__isnull=True)
    if workflow is not None:
        rows = rows.filter(workflow=workflow)
    return rows.select_related("workflow").order_by("-created_at", "-id")


def list_children(principal: Principal, runs: Iterable[Run]) -> list[Run]:
    """Return the runs that these runs started as sub-workflows, oldest first. Their own children are not among them."""
    children = Q(parent_id__in=[run.pk for run in runs])
    if not Run.objects.unscoped().filter(children).exists():
        return []  # mostly; composing the query for those that one may see takes longer
    rows = list_runs(principal).filter(children)
    return list(rows.select_related("subject_user").order_by("created_at", "id"))


def find_parent(principal: Principal, run: Run) -> Run | None:
    """Return the run that started this one, if there is one that the principal may see."""
    return list_runs(principal).filter(pk=run.parent_id).first() if run.parent_id else None


def find_run(principal: Principal, run_id: UUID) -> Run:
    run = _get(Run.objects.visible_to(principal).select_related("workflow", "api_key"), pk=run_id)
    permissions.check_view_run(principal, run)
    return run


def find_runs(pairs: Sequence[tuple[Principal | None, UUID]]) -> list[Run | None]:
    """Return each run that ``find_run`` would find for its principal, with one query for all; None for the others.

    They have the fields that a stream needs.
    """
    team_ids = {team_id for principal, _id in pairs if principal for team_id in principal.team_ids}
    with tenant(team_ids):
        rows = Run.objects.unscoped().filter(pk__in={run_id for _principal, run_id in pairs})
        runs = {run.pk: run for run in rows.select_related("api_key").only(*FOLLOWED_FIELDS)}
        return [
            run
            if (run := runs.get(run_id)) and principal and permissions.may_view_run(principal, run)
            else None
            for principal, run_id in pairs
        ]


def list_feedback(principal: Principal, run: Run) -> QuerySet[Feedback]:
    """Return the feedback on the run, oldest first."""
    permissions.check_view_run(principal, run)
    rows = Feedback.objects.visible_to(principal).filter(run=run)
    return rows.select_related("created_by").order_by("created_at", "id")


def list_team_runs(principal: Principal, team_id: UUID) -> QuerySet[Run]:
    """Return all runs of the team, newest first, for who may see the usage of all members.

    Their inputs, outputs, errors and people are not loaded: reading one fails, instead of showing it by mistake.
    """
    check(principal, "usage.view", team_id)
    rows = Run.objects.unscoped().filter(team_id=team_id)
    return (
        rows.select_related("workflow", "api_key")
        .only(*TEAM_RUN_FIELDS, "workflow__name", "api_key__name")
        .order_by("-created_at", "-id")
    )


def list_steps(principal: Principal, run: Run) -> QuerySet[Step]:
    """Return the run's steps in the order they began."""
    permissions.check_view_run(principal, run)
    return Step.objects.visible_to(principal).filter(run=run).order_by("started_at", "id")


def list_step_titles(
    principal: Principal, node_by_run: Mapping[UUID, str]
) -> Iterable[tuple[UUID, str, str]]:
    """Return run, node and title of the given node of each run."""
    steps = Step.objects.visible_to(principal).filter(
        run__in=Run.objects.visible_to(principal).filter(pk__in=list(node_by_run)),
        node_key__in=set(node_by_run.values()),
    )
    return steps.order_by().values_list("run_id", "node_key", "title").distinct()


def list_events(principal: Principal, run: Run, *names: str) -> QuerySet[RunEvent]:
    """Return the run's events with these names, in order."""
    permissions.check_view_run(principal, run)
    return RunEvent.objects.visible_to(principal).filter(run=run, name__in=names).order_by("seq")


def find_step(principal: Principal, run: Run, node: str, rounds: str = "") -> Step:
    """Return a node's step: inside a container that of the newest round, or of the given ``rounds`` such as "0.2"."""
    steps = list_steps(principal, run).filter(node_key=node)
    if rounds:
        steps = steps.filter(rounds=_parse_rounds(rounds))
    step = steps.order_by("-id").first()
    if step is None:
        raise NotFound
    return step


def list_parts(
    principal: Principal, run: Run, node: str = "", rounds: str = ""
) -> QuerySet[StepPart]:
    """Return the finished calls of the run's agents in their order, or those of one node, or of one of its rounds."""
    permissions.check_view_run(principal, run)
    parts = StepPart.objects.visible_to(principal).filter(run=run)
    if node:
        parts = parts.filter(node_key=node)
    if rounds:
        parts = parts.filter(rounds=_parse_rounds(rounds))
    return parts.order_by("started_at", "id")


def list_newest_parts(parts: QuerySet[StepPart], kind: str) -> list[StepPart]:
    """Return the newest part of the kind of each step in ``parts``."""
    newest_first = parts.filter(kind=kind).order_by("node_key", "rounds", "-id")
    return list(newest_first.distinct("node_key", "rounds"))


def find_newest_step(
    principal: Principal, workflow: Workflow, node: str, run_id: UUID | None
) -> Step | None:
    """Return the node's step in the run, by default in the principal's newest run that executed the node, or None."""
    permissions.check_view(principal, workflow)
    runs = list_runs(principal, workflow=workflow)
    if run_id is not None:
        runs = runs.filter(pk=run_id)
    steps = Step.objects.visible_to(principal).filter(run__in=runs, node_key=node)
    return steps.select_related("run", "run__workflow").order_by("-run_id", "-id").first()


def find_previous_step(principal: Principal, workflow: Workflow, step: Step) -> Step | None:
    """Return the step of the same node in the newest earlier run in which the node succeeded, or None."""
    earlier_runs = list_runs(principal, workflow=workflow).filter(pk__lt=step.run_id)
    steps = Step.objects.visible_to(principal).filter(
        run__in=earlier_runs, node_key=step.node_key, status="succeeded", reused_from=None
    )
    return steps.order_by("-run_id", "-id").first()


def count_rounds(principal: Principal, step: Step) -> int:
    """Return how often the step's node was executed in its run."""
    steps = Step.objects.visible_to(principal).filter(run_id=step.run_id, node_key=step.node_key)
    return steps.count()


def list_memory_changes(principal: Principal, run: Run) -> QuerySet[DryRunChange]:
    permissions.check_view_run(principal, run)
    return DryRunChange.objects.visible_to(principal).filter(run=run).order_by("number")


def list_pins(principal: Principal, workflow: Workflow) -> QuerySet[Pin]:
    permissions.check_view(principal, workflow)
    return Pin.objects.visible_to(principal).filter(workflow=workflow).order_by("node_key")


def list_conversations(principal: Principal, workflow: Workflow) -> QuerySet[Conversation]:
    permissions.check_view(principal, workflow)
    rows = Conversation.objects.visible_to(principal).filter(workflow=workflow)
    return rows.order_by("-created_at", "-id")


def list_recent_conversations(
    principal: Principal, workflow: Workflow, subject: str, *, excluded_key: str, limit: int
) -> list[tuple[str, str]]:
    """Return keys and names (or first messages) of a person's conversations, newest first."""
    messages = Message.objects.unscoped().filter(conversation=OuterRef("pk")).order_by("number")
    rows = (
        list_conversations(principal, workflow)
        .filter(subject=subject, archived_at=None)
        .exclude(key=excluded_key)
        .annotate(first_query=Subquery(messages.values("query")[:1]))
        .values_list("key", "name", "first_query")[:limit]
    )
    return [(key, name or first_query or key) for key, name, first_query in rows]


def find_conversation(principal: Principal, conversation_id: UUID) -> Conversation:
    return _get_conversation(principal, pk=conversation_id)


def list_credentials(principal: Principal, team_id: UUID) -> QuerySet[Credential]:
    """Return the team's credentials without their secrets."""
    permissions.check_view_credentials(principal, team_id)
    return Credential.objects.visible_to(principal).filter(team_id=team_id).defer("secret")


def find_credential(principal: Principal, credential_id: UUID) -> Credential:
    """Return a credential that the principal may change."""
    credential = _get(Credential.objects.visible_to(principal), pk=credential_id)
    permissions.check_manage(principal, credential)
    return credential


def list_providers(principal: Principal, team_id: UUID) -> QuerySet[ModelProvider]:
    permissions.check_view_credentials(principal, team_id)
    rows = ModelProvider.objects.visible_to(principal).filter(team_id=team_id)
    return rows.select_related("credential").defer("credential__secret")


def find_provider_by_name(principal: Principal, team_id: UUID, name: str) -> ModelProvider:
    """Return the provider of a team's model, for somebody who may change the team's models."""
    permissions.check_manage(principal, team_id)
    return _get(ModelProvider.objects.visible_to(principal), team_id=team_id, name=name)


def find_provider(
    principal: Principal, provider_id: UUID, *, change: bool = False
) -> ModelProvider:
    """Return a provider that the principal may see, or with ``change`` one that the principal may change."""
    rows = ModelProvider.objects.visible_to(principal).select_related("credential")
    provider = _get(rows, pk=provider_id)
    if change:
        permissions.check_manage(principal, provider)
    else:
        permissions.check_view_credentials(principal, provider.team_id)
    return provider


def list_tool_connections(principal: Principal, team_id: UUID) -> QuerySet[ToolConnection]:
    permissions.check_view_credentials(principal, team_id)
    rows = ToolConnection.objects.visible_to(principal).filter(team_id=team_id)
    return rows.select_related("credential", "sign_in").defer("credential__secret")


def find_tool_connection(
    principal: Principal, connection_id: UUID, *, change: bool = False
) -> ToolConnection:
    """Return a connection that the principal may see, or with ``change`` one that the principal may change."""
    rows = ToolConnection.objects.visible_to(principal).select_related("credential", "sign_in")
    connection = _get(rows, pk=connection_id)
    if change:
        permissions.check_manage(principal, connection)
    else:
        permissions.check_view_credentials(principal, connection.team_id)
    return connection


def _list_team_ids(principal: Principal, verb: str, team_id: UUID | None = None) -> list[UUID]:
    """Return the teams in which the principal has this permission, or if ``team_id`` is given at most that one."""
    ids = principal.team_ids if team_id is None else {team_id}.intersection(principal.team_ids)
    return [id_ for id_ in ids if can(principal, verb, id_)]


def _get_conversation(principal: Principal, **lookups: Any) -> Conversation:  # Any: field lookups
    rows = Conversation.objects.visible_to(principal).select_related("workflow", "api_key")
    conversation = _get(rows, **lookups)
    permissions.check_view_conversation(principal, conversation)
    return conversation


def _get(queryset: QuerySet[M], **lookups: Any) -> M:  # Any: field lookups
    """Return the row that the lookups identify, without sorting for it. Raises NotFound if there is none."""
    row = next(iter(queryset.filter(**lookups).order_by()[:1]), None)
    if row is None:
        raise NotFound
    return row


def _parse_rounds(text: str) -> list[int]:
    """Parse the rounds of containers, such as "0.2"; anything else is the address of nothing."""
    numbers = text.split(".")
    if not all(number.isascii() and number.isdigit() and len(number) < 9 for number in numbers):
        raise NotFound
    return [int(number) for number in numbers]
