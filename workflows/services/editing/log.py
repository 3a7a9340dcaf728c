"""The log of a draft: what is written of every edit, whoever makes it, and what is read back."""

from collections.abc import Iterable, Sequence

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.access import Principal, UserPrincipal
from workflows.engine.editing.encode import write_ops
from workflows.engine.editing.ops import Op
from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind
from workflows.services.editing.notify import announce


LONGEST_LABEL = 255


def record(
    principal: Principal,
    workflow: Workflow,
    *,
    ops: Sequence[Op],
    inverse: Sequence[Op],
    label: str = "",
    base: int | None = None,
    client: str = "",
    key: str | None = None,
    kind: RevisionKind = RevisionKind.EDIT,
    undoes: int | None = None,
    changed: Iterable[str] = (),
) -> Revision:
    """The next revision. The caller holds the workflow's lock and has written the rows.

    ``changed`` names what else of the workflow's own row is to be saved.
    """
    workflow.revision += 1
    workflow.save(update_fields=["revision", "updated_at", *changed])
    revision = Revision(
        team_id=workflow.team_id,
        workflow=workflow,
        number=workflow.revision,
        base=workflow.revision - 1 if base is None else base,
        kind=kind,
        undoes=undoes,
        author_id=principal.user_id,
        actor=principal.actor,
        client=client,
        key=key or None,
        label=label[:LONGEST_LABEL],
        ops=write_ops(ops),
        inverse=write_ops(inverse),
    )
    if isinstance(principal, UserPrincipal):
        revision.author = principal.user  # so that nobody looks the name up again
    revision.save(force_insert=True)
    announce(workflow, revision)
    return revision


def begin(principal: Principal, workflow: Workflow) -> Revision:
    """The first row of the log: the draft as it was made. There is nothing before it to go back to."""
    revision = Revision(
        team_id=workflow.team_id,
        workflow=workflow,
        number=workflow.revision,
        base=workflow.revision - 1,
        author_id=principal.user_id,
        actor=principal.actor,
        label=_("Created the workflow"),
        ops=[],
        inverse=[],
    )
    revision.save(force_insert=True)
    return revision


def revisions(workflow: Workflow) -> QuerySet[Revision]:
    """The caller has found the workflow, so may see them."""
    return Revision.objects.unscoped().filter(workflow=workflow).select_related("author")


def after(workflow: Workflow, number: int, most: int) -> list[Revision] | None:
    """What was done after a revision, in order. None: more than that, or the log doesn't reach back."""
    found = list(revisions(workflow).filter(number__gt=number).order_by("number")[: most + 1])
    if len(found) > most or len(found) != max(0, workflow.revision - number):
        return None
    return found
