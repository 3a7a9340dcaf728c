"""Going back: to a numbered version, or to how the draft was at a revision. Either is one undoable edit."""

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.editing import EditRefused, Performed, apply_all
from workflows.engine.editing.encode import read_log
from workflows.engine.editing.ops import Replace
from workflows.engine.language.problems import Problem
from workflows.models import Version, Workflow
from workflows.services.editing import log
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import answer, done_before, keep
from workflows.services.editing.rebase import FARTHEST
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
    """The draft becomes what the version says."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := done_before(principal, locked, key)) is not None:
            return answer(principal, locked, earlier)
        store = Rows(locked)
        done, inverse = apply_all(store, [Replace(version.snapshot.hash)])
        if done == inverse:  # the draft says that already
            return answer(principal, locked, None)
        label = _("Restored version %(number)s") % {"number": version.number}
        performed = Performed(done, inverse, (0,))
        revision = keep(principal, locked, store, performed, label=label, client=client, key=key)
        return answer(principal, locked, revision, store)


def go_back_to(
    principal: Principal,
    *,
    workflow: Workflow,
    number: int,
    client: str = "",
    key: str | None = None,
) -> Change:
    """Everything after that revision is taken back, whoever did it."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        if (earlier := done_before(principal, locked, key)) is not None:
            return answer(principal, locked, earlier)
        since = log.after(locked, number, FARTHEST)
        if since is None or number > locked.revision:
            message = f"The history no longer contains revision {number}"
            raise EditRefused((Problem("edit.base", message, field="number"),))
        if not since:
            return answer(principal, locked, None)
        store = Rows(locked)
        back = [op for revision in reversed(since) for op in read_log(revision.inverse)]
        done, inverse = apply_all(store, back)
        label = _("Restored revision %(number)s") % {"number": number}
        performed = Performed(done, inverse, (0,) * len(done))
        revision = keep(principal, locked, store, performed, label=label, client=client, key=key)
        return answer(principal, locked, revision, store)
