"""Restore a numbered version, or the draft at a revision. Either is one undoable edit."""

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows.engine.editing import EditRefused, EditResult, apply_all
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Replace
from workflows.engine.language.problems import Problem
from workflows.models import Version, Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import Edit, edit_once
from workflows.services.editing.rebase import MAX_REVISIONS_BEHIND
from workflows.services.editing.rows import Rows


def restore_version(
    principal: Principal,
    *,
    workflow: Workflow,
    version: Version,
    client: str = "",
    key: str | None = None,
) -> Change:
    """Make the draft equal to the version."""

    def perform(locked: Workflow) -> Edit | None:
        store = Rows(locked)
        ops, inverse = apply_all(store, [Replace(version.snapshot.hash)])
        if ops == inverse:  # the draft equals the version already
            return None
        label = _("Restored version %(number)s") % {"number": version.number}
        return Edit(store, EditResult(ops, inverse, (0,)), label)

    return edit_once(principal, workflow, perform, client=client, key=key)


def restore_revision(
    principal: Principal,
    *,
    workflow: Workflow,
    number: int,
    client: str = "",
    key: str | None = None,
) -> Change:
    """Undo every edit after that revision, also of other members, as one edit."""

    def perform(locked: Workflow) -> Edit | None:
        since = log.list_revisions_after(locked, number, MAX_REVISIONS_BEHIND)
        if since is None or number > locked.revision:
            message = f"The history no longer contains revision {number}"
            raise EditRefused((Problem("edit.base", message, field="number"),))
        if not since:
            return None
        store = Rows(locked)
        inverse_ops = [op for revision in reversed(since) for op in read_log(revision.inverse)]
        ops, inverse = apply_all(store, inverse_ops)
        label = _("Restored revision %(number)s") % {"number": number}
        return Edit(store, EditResult(ops, inverse, (0,) * len(ops)), label)

    return edit_once(principal, workflow, perform, client=client, key=key)
