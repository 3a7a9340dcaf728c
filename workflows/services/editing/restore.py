"""Restore the draft to a numbered version or to an earlier revision, as one edit that can be undone."""

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows.engine.editing import EditRefused, EditResult, apply_all
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Replace
from workflows.engine.language.problems import Problem
from workflows.models import Version, Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.gestures import Edit, edit_once
from workflows.services.editing.rebase import MAX_REVISIONS_BEHIND


def restore_version(
    principal: Principal,
    *,
    workflow: Workflow,
    version: Version,
    client: str = "",
    idempotency_key: str | None = None,
) -> Change:
    """Replace the draft with the version."""

    def perform(locked: Workflow) -> Edit | None:
        store = DraftStore(locked)
        ops, inverse = apply_all(store, [Replace(version.snapshot.hash)])
        if ops == inverse:  # the draft equals the version already
            return None
        label = _("Restored version %(number)s") % {"number": version.number}
        return Edit(store, EditResult(ops, inverse, (0,)), label)

    return edit_once(principal, workflow, perform, client=client, idempotency_key=idempotency_key)


def restore_revision(
    principal: Principal,
    *,
    workflow: Workflow,
    number: int,
    client: str = "",
    idempotency_key: str | None = None,
) -> Change:
    """Undo every edit after the revision, including those of other members. Raises EditRefused if it is too old."""

    def perform(locked: Workflow) -> Edit | None:
        revisions = log.list_revisions_after(locked, number, MAX_REVISIONS_BEHIND)
        if revisions is None or number > locked.revision:
            message = f"The history no longer contains revision {number}"
            raise EditRefused((Problem("edit.base", message, field="number"),))
        if not revisions:
            return None
        store = DraftStore(locked)
        inverse_ops = [op for revision in reversed(revisions) for op in read_log(revision.inverse)]
        ops, inverse = apply_all(store, inverse_ops)
        label = _("Restored revision %(number)s") % {"number": number}
        return Edit(store, EditResult(ops, inverse, (0,) * len(ops)), label)

    return edit_once(principal, workflow, perform, client=client, idempotency_key=idempotency_key)
