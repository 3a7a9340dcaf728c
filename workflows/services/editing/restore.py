"""Restore a numbered version, or the draft at a revision. Either is one undoable edit."""

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.editing import EditRefused, EditResult, apply_all
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Replace
from workflows.engine.language.problems import Problem
from workflows.models import Version, Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import build_change, find_previous, record_edit
from workflows.services.editing.rebase import MAX_REVISIONS_BEHIND
from workflows.services.editing.rows import Rows
from workflows.services.editor import drafts


def restore_version(
    principal: Principal,
    *,
    workflow: Workflow,
    version: Version,
    client: str = "",
    key: str | None = None,
) -> Change:
    """Make the draft equal to the version."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := find_previous(principal, locked, key)) is not None:
            return build_change(principal, locked, earlier)
        store = Rows(locked)
        ops, inverse = apply_all(store, [Replace(version.snapshot.hash)])
        if ops == inverse:  # the draft equals the version already
            return build_change(principal, locked, None)
        label = _("Restored version %(number)s") % {"number": version.number}
        performed = EditResult(ops, inverse, (0,))
        revision = record_edit(
            principal, locked, store, performed, label=label, client=client, key=key
        )
        return build_change(principal, locked, revision, store)


def restore_revision(
    principal: Principal,
    *,
    workflow: Workflow,
    number: int,
    client: str = "",
    key: str | None = None,
) -> Change:
    """Undo every edit after that revision, also of other members, as one edit."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := find_previous(principal, locked, key)) is not None:
            return build_change(principal, locked, earlier)
        since = log.list_revisions_after(locked, number, MAX_REVISIONS_BEHIND)
        if since is None or number > locked.revision:
            message = f"The history no longer contains revision {number}"
            raise EditRefused((Problem("edit.base", message, field="number"),))
        if not since:
            return build_change(principal, locked, None)
        store = Rows(locked)
        inverse_ops = [op for revision in reversed(since) for op in read_log(revision.inverse)]
        ops, inverse = apply_all(store, inverse_ops)
        label = _("Restored revision %(number)s") % {"number": number}
        performed = EditResult(ops, inverse, (0,) * len(ops))
        revision = record_edit(
            principal, locked, store, performed, label=label, client=client, key=key
        )
        return build_change(principal, locked, revision, store)
