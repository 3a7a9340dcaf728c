"""What uses a workflow: other workflows that run it, data sets that test it, triggers that start it, and its public page."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.principals import Principal
from accounts.tenancy import tenant
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.nodes.agent.tool_use.tool_references import iter_workflow_references
from workflows.errors import WorkflowInUse
from workflows.models import DataSet, Evaluation, Node, PublicPage, Trigger, Workflow
from workflows.models.documents import from_json
from workflows.models.public_pages.public_page import PageAccess


@dataclass(frozen=True, slots=True)
class Uses:
    """What uses a workflow. Of workflows that the person may not see, only the number is known."""

    workflow: Workflow
    callers: Sequence[Workflow] = ()
    hidden_caller_count: int = 0
    data_sets: Sequence[DataSet] = ()
    triggers: Sequence[Trigger] = ()
    has_public_page: bool = False

    @property
    def is_empty(self) -> bool:
        return not (
            self.callers
            or self.hidden_caller_count
            or self.data_sets
            or self.triggers
            or self.has_public_page
        )


def list_uses(principal: Principal, workflows: Sequence[Workflow]) -> list[Uses]:
    """Return what uses each of the workflows, without those that nothing uses.

    The person may see the workflows, which are of one team. Workflows that are archived together are no uses of each other.
    """
    if not workflows:
        return []
    team_id, together = workflows[0].team_id, [workflow.pk for workflow in workflows]
    uses = (_find_uses(principal, team_id, workflow, together) for workflow in workflows)
    return [each for each in uses if not each.is_empty]


def check_unused(principal: Principal, workflow: Workflow) -> None:
    """Raise WorkflowInUse, which names what uses the workflow, as its page does before it is archived."""
    if workflow.is_archived:
        return  # whatever it ended has ended already
    if uses := list_uses(principal, [workflow]):
        raise WorkflowInUse(list(_describe(uses[0])))


def _describe(uses: Uses) -> Iterator[Problem]:
    for caller in uses.callers:
        message = _("“%(name)s” runs it, and will fail.") % {"name": caller.name}
        yield Problem("used.workflow", message)
    if hidden := uses.hidden_caller_count:
        message = ngettext(
            "%(n)s workflow that you can't see runs it, and will fail.",
            "%(n)s workflows that you can't see run it, and will fail.",
            hidden,
        )
        yield Problem("used.hidden_workflow", message % {"n": hidden})
    for trigger in uses.triggers:
        message = _("The trigger “%(name)s” will start no more runs.") % {"name": trigger}
        yield Problem("used.trigger", message)
    if uses.has_public_page:
        yield Problem("used.public_page", _("Its public page will be closed."))
    for data_set in uses.data_sets:
        message = _("The dataset “%(name)s” was run with it.") % {"name": data_set.name}
        yield Problem("used.data_set", message)


def _find_uses(
    principal: Principal, team_id: UUID, workflow: Workflow, together: Iterable[UUID]
) -> Uses:
    visible = Workflow.objects.visible_to(principal).filter(team_id=team_id)
    with tenant([team_id]):
        caller_ids = _find_callers(workflow) - {*together}
        triggers = Trigger.objects.unscoped().filter(
            workflow=workflow, is_published=True, is_on=True
        )
        pages = PublicPage.objects.unscoped().filter(workflow=workflow)
        callers = list(visible.filter(pk__in=caller_ids).order_by("name", "id"))
        data_sets = DataSet.objects.visible_to(principal).filter(
            team_id=team_id,
            pk__in=Evaluation.objects.unscoped().filter(workflow=workflow).values("data_set"),
        )
        return Uses(
            workflow,
            callers,
            len(caller_ids) - len(callers),
            list(data_sets.order_by("name", "id")),
            list(triggers.order_by("created_at", "id")),
            pages.exclude(access=PageAccess.OFF).exists(),
        )


def _find_callers(workflow: Workflow) -> set[UUID]:
    """Return the workflows whose draft or published version runs this one."""
    references = {workflow.slug, str(workflow.pk)} - {""}
    living = Workflow.objects.unscoped().filter(team_id=workflow.team_id, archived_at=None)
    others = living.exclude(pk=workflow.pk)
    return {
        *_find_drafts(others, references),
        *_find_published(others, references),
    }


def _find_drafts(others: QuerySet[Workflow], references: set[str]) -> set[UUID]:
    nodes = Node.objects.unscoped().filter(workflow__in=others, is_note=False)
    naming = nodes.annotate(text=Cast("data", TextField())).filter(_contains("text", references))
    return {
        node.workflow_id
        for node in naming.only("workflow_id", "key", "kind", "data")
        if _refers(NodeSpec(node.key, node.kind, node.data), references)
    }


def _find_published(others: QuerySet[Workflow], references: set[str]) -> set[UUID]:
    rows = others.filter(published_version__isnull=False).annotate(
        text=Cast("published_version__snapshot__document", TextField())
    )
    rows = rows.filter(_contains("text", references)).select_related("published_version__snapshot")
    return {
        row.pk
        for row in rows
        if row.published_version is not None
        and any(
            _refers(node, references)
            for node in from_json(row.published_version.snapshot.document).nodes
        )
    }


def _contains(field: str, references: Iterable[str]) -> Q:
    """Return the condition that a JSON text may name one of the references; what it names is read afterwards."""
    condition = Q()
    for reference in references:
        escaped = json.dumps(reference)[1:-1]  # as a JSON column may hold other letters than ASCII
        condition |= Q(**{f"{field}__contains": reference})
        condition |= Q(**{f"{field}__contains": escaped})
    return condition


def _refers(node: NodeSpec, references: set[str]) -> bool:
    document = Document(Mode.WORKFLOW, (node,), ())
    return not references.isdisjoint(iter_workflow_references(document))
