"""Finding things: every function finds and admits in one call.

What isn't there and what isn't yours are the same ``NotFound``; what you may see but not do that
way is ``NotAllowed``, with a sentence.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Count, Model, OuterRef, Q, QuerySet, Subquery

from accounts.access import Principal, can
from accounts.errors import NotFound
from workflows import permissions
from workflows.models import (
    Conversation,
    Credential,
    Folder,
    FolderTree,
    Message,
    ModelProvider,
    Pin,
    Revision,
    Run,
    RunEvent,
    Step,
    Task,
    TestCase,
    TestResult,
    Version,
    Workflow,
    WouldBe,
)


M = TypeVar("M", bound=Model)

CHECKS: dict[str, Callable[[Principal, Workflow], None]] = {
    "view": permissions.check_view,
    "edit": permissions.check_edit,
    "run": permissions.check_run,
    "publish": permissions.check_publish,
    "delete": permissions.check_delete,
    "share": permissions.check_share,
}


def workflows_for(
    principal: Principal, *, team_id: UUID | None = None, archived: bool = False
) -> QuerySet[Workflow]:
    """Workflows the principal may see, newest change first."""
    teams = [team for team in principal.team_ids if can(principal, "workflow.view", team)]
    found = Workflow.objects.visible_to(principal).filter(
        team_id__in=teams, archived_at__isnull=not archived
    )
    if team_id is not None:
        found = found.filter(team_id=team_id)
    return found.select_related("published_version").order_by("-updated_at", "-id")


def workflow_for(principal: Principal, workflow_id: UUID, verb: str = "view") -> Workflow:
    """One workflow, admitted for a verb of ``CHECKS``; what is published is known by its hash, and read
    when it is asked for."""
    found = _one(
        Workflow.objects.visible_to(principal)
        .select_related("published_version__snapshot")
        .defer("published_version__snapshot__document"),
        pk=workflow_id,
    )
    CHECKS[verb](principal, found)
    return found


def workflows_by_id(
    principal: Principal, ids: Iterable[UUID], verb: str = "view"
) -> list[Workflow]:
    """All of these, each admitted for the verb, in one query; one that isn't there is ``NotFound``."""
    wanted = set(ids)
    found = list(Workflow.objects.visible_to(principal).filter(pk__in=wanted).order_by("id"))
    if len(found) < len(wanted):
        raise NotFound
    for workflow in found:
        CHECKS[verb](principal, workflow)
    return found


def tasks_for(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[Task]:
    """One's own, newest first."""
    teams = [team for team in principal.team_ids if can(principal, "run.view", team)]
    found = Task.objects.visible_to(principal).filter(team_id__in=teams)
    if team_id is not None:
        found = found.filter(team_id=team_id)
    return found.select_related("run").order_by("-created_at", "-id")


def task_for(principal: Principal, task_id: UUID) -> Task:
    return _one(tasks_for(principal), pk=task_id)


def folders_for(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[Folder]:
    """Folders by name, each with how many workflows lie in it directly (``held``)."""
    teams = [team for team in principal.team_ids if can(principal, "workflow.view", team)]
    found = Folder.objects.visible_to(principal).filter(team_id__in=teams)
    if team_id is not None:
        found = found.filter(team_id=team_id)
    unarchived = Q(workflows__archived_at__isnull=True)
    return found.annotate(held=Count("workflows", filter=unarchived)).order_by("name", "id")


def folder_tree(principal: Principal, team_id: UUID) -> FolderTree:
    return FolderTree.of(folders_for(principal, team_id=team_id))


def folder_for(principal: Principal, folder_id: UUID) -> Folder:
    """One folder; whoever sees the team's workflows sees it."""
    return _one(folders_for(principal), pk=folder_id)


def versions_of(principal: Principal, workflow: Workflow) -> QuerySet[Version]:
    """Newest first, without their documents."""
    permissions.check_view(principal, workflow)
    return (
        Version.objects.visible_to(principal)
        .filter(workflow=workflow)
        .select_related("snapshot")
        .defer("snapshot__document")
        .order_by("-number")
    )


def version_for(principal: Principal, workflow: Workflow, number: int) -> Version:
    permissions.check_view(principal, workflow)
    return _one(
        Version.objects.visible_to(principal).select_related("snapshot"),
        workflow=workflow,
        number=number,
    )


def cases_for(principal: Principal, workflow_id: UUID) -> QuerySet[TestCase]:
    """A workflow's test cases, in its order."""
    workflow = workflow_for(principal, workflow_id)
    return TestCase.objects.visible_to(principal).filter(workflow=workflow)


def case_for(
    principal: Principal, workflow_id: UUID, case_id: UUID, verb: str = "view"
) -> TestCase:
    found = _one(
        TestCase.objects.visible_to(principal).select_related("workflow"),
        pk=case_id,
        workflow_id=workflow_id,
    )
    CHECKS[verb](principal, found.workflow)
    return found


def case_result_for(principal: Principal, workflow_id: UUID, result_id: UUID) -> TestResult:
    found = _one(
        TestResult.objects.visible_to(principal).select_related("case__workflow"),
        pk=result_id,
        case__workflow_id=workflow_id,
    )
    permissions.check_view(principal, found.case.workflow)
    return found


def case_results_for(principal: Principal, ids: Iterable[UUID]) -> QuerySet[TestResult]:
    """Results by id, for who has just started them."""
    return TestResult.objects.visible_to(principal).filter(pk__in=list(ids)).order_by("id")


def version_or_draft(principal: Principal, workflow: Workflow, which: str) -> Version | None:
    """By its number; None for ``draft``."""
    if which == "draft":
        permissions.check_view(principal, workflow)
        return None
    number = int(which) if which.isdecimal() and len(which) < 10 else 0
    return version_for(principal, workflow, number)


def revisions_of(principal: Principal, workflow: Workflow) -> QuerySet[Revision]:
    """The draft's edits, newest first."""
    permissions.check_view(principal, workflow)
    return (
        Revision.objects.visible_to(principal)
        .filter(workflow=workflow)
        .select_related("author")
        .order_by("-number")
    )


def runs_for(principal: Principal, *, workflow: Workflow | None = None) -> QuerySet[Run]:
    """Runs that are the principal's own business, newest first."""
    teams = [team for team in principal.team_ids if can(principal, "run.view", team)]
    found = Run.objects.visible_to(principal).filter(team_id__in=teams)
    if workflow is not None:
        found = found.filter(workflow=workflow)
    return found.select_related("workflow").order_by("-created_at", "-id")


def run_for(principal: Principal, run_id: UUID) -> Run:
    found = _one(Run.objects.visible_to(principal).select_related("workflow", "api_key"), pk=run_id)
    permissions.check_view_run(principal, found)
    return found


def steps_of(principal: Principal, run: Run) -> QuerySet[Step]:
    """In the order they began."""
    permissions.check_view_run(principal, run)
    return Step.objects.visible_to(principal).filter(run=run).order_by("started_at", "id")


def step_titles(principal: Principal, nodes: Mapping[UUID, str]) -> Iterable[tuple[UUID, str, str]]:
    """Run, node and title, of the one node asked for in each of these runs; of a container's any round."""
    found = Step.objects.visible_to(principal).filter(
        run__in=Run.objects.visible_to(principal).filter(pk__in=list(nodes)),
        node_key__in=set(nodes.values()),
    )
    return found.order_by().values_list("run_id", "node_key", "title").distinct()


def events_of(principal: Principal, run: Run, *names: str) -> QuerySet[RunEvent]:
    """What was said by these names, in order."""
    permissions.check_view_run(principal, run)
    return RunEvent.objects.visible_to(principal).filter(run=run, name__in=names).order_by("seq")


def step_for(principal: Principal, run: Run, node: str, rounds: str = "") -> Step:
    """One step; of a node inside a container its newest round, or the one asked for (``0.2``)."""
    found = steps_of(principal, run).filter(node_key=node)
    parts = rounds.split(".") if rounds else []
    if parts:
        if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
            raise NotFound
        found = found.filter(rounds=[int(part) for part in parts])
    step = found.order_by("-id").first()
    if step is None:
        raise NotFound
    return step


def step_in_workflow(
    principal: Principal, workflow: Workflow, node: str, run_id: UUID | None
) -> Step | None:
    """What a node did in a run; without one, in the newest of one's own runs in which it ran."""
    permissions.check_view(principal, workflow)
    mine = runs_for(principal, workflow=workflow)
    if run_id is not None:
        mine = mine.filter(pk=run_id)
    steps = Step.objects.visible_to(principal).filter(run__in=mine, node_key=node)
    return steps.select_related("run", "run__workflow").order_by("-run_id", "-id").first()


def step_before(principal: Principal, workflow: Workflow, step: Step) -> Step | None:
    """The same node in the run before, to compare with."""
    mine = runs_for(principal, workflow=workflow).filter(pk__lt=step.run_id)
    steps = Step.objects.visible_to(principal).filter(
        run__in=mine, node_key=step.node_key, status="succeeded", reused_from=None
    )
    return steps.order_by("-run_id", "-id").first()


def rounds_of(principal: Principal, step: Step) -> int:
    """How often the node ran in that run."""
    same = Step.objects.visible_to(principal).filter(run_id=step.run_id, node_key=step.node_key)
    return same.count()


def would_be_of(principal: Principal, run: Run) -> QuerySet[WouldBe]:
    permissions.check_view_run(principal, run)
    return WouldBe.objects.visible_to(principal).filter(run=run).order_by("number")


def pins_of(principal: Principal, workflow: Workflow) -> QuerySet[Pin]:
    permissions.check_view(principal, workflow)
    return Pin.objects.visible_to(principal).filter(workflow=workflow).order_by("node_key")


def conversations_for(principal: Principal, workflow: Workflow) -> QuerySet[Conversation]:
    permissions.check_view(principal, workflow)
    return (
        Conversation.objects.visible_to(principal)
        .filter(workflow=workflow)
        .order_by("-created_at", "-id")
    )


def conversations_begun(
    principal: Principal, workflow: Workflow, subject: str, *, but: str, limit: int
) -> list[tuple[str, str]]:
    """Keys of one person's conversations and what each is called, or began with; newest first."""
    first = Message.objects.unscoped().filter(conversation=OuterRef("pk")).order_by("number")
    rows = (
        conversations_for(principal, workflow)
        .filter(subject=subject, archived_at=None)
        .exclude(key=but)
        .annotate(began=Subquery(first.values("query")[:1]))
        .values_list("key", "name", "began")[:limit]
    )
    return [(key, name or began or key) for key, name, began in rows]


def conversation_for(principal: Principal, conversation_id: UUID) -> Conversation:
    found = _one(
        Conversation.objects.visible_to(principal).select_related("workflow", "api_key"),
        pk=conversation_id,
    )
    permissions.check_view_conversation(principal, found)
    return found


def conversation_keyed(principal: Principal, team_id: UUID, key: str) -> Conversation:
    """By the id that runs and the API know it by."""
    found = _one(
        Conversation.objects.visible_to(principal).select_related("workflow", "api_key"),
        team_id=team_id,
        key=key,
    )
    permissions.check_view_conversation(principal, found)
    return found


def credentials_for(principal: Principal, team_id: UUID) -> QuerySet[Credential]:
    """The team's credentials, without what is secret about them."""
    permissions.check_view_credentials(principal, team_id)
    return Credential.objects.visible_to(principal).filter(team_id=team_id).defer("secret")


def credential_for(principal: Principal, credential_id: UUID) -> Credential:
    """For changing it; nothing else is done with one."""
    found = _one(Credential.objects.visible_to(principal), pk=credential_id)
    permissions.check_manage(principal, found)
    return found


def providers_for(principal: Principal, team_id: UUID) -> QuerySet[ModelProvider]:
    permissions.check_view_credentials(principal, team_id)
    return (
        ModelProvider.objects.visible_to(principal)
        .filter(team_id=team_id)
        .select_related("credential")
        .defer("credential__secret")
    )


def provider_for(principal: Principal, provider_id: UUID, *, change: bool = False) -> ModelProvider:
    found = _one(
        ModelProvider.objects.visible_to(principal).select_related("credential"), pk=provider_id
    )
    if change:
        permissions.check_manage(principal, found)
    else:
        permissions.check_view_credentials(principal, found.team_id)
    return found


def _one(queryset: QuerySet[M], **which: Any) -> M:  # Any: field lookups
    found = queryset.filter(**which).first()
    if found is None:
        raise NotFound
    return found
