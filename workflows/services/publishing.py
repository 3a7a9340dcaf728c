"""From the draft to a numbered version that never changes."""

from django.db.models import Max

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.problems import errors_of
from workflows.engine.validation import validate
from workflows.errors import NothingToPublish
from workflows.execution.kinds import kinds
from workflows.models import Version, Workflow
from workflows.models.documents import from_json
from workflows.services import audited, drafts


def publish(principal: Principal, *, workflow: Workflow, note: str = "") -> Version:
    """Number the draft as it is and make it the published one. Raises DocumentInvalid with every error."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        locked = drafts.lock(workflow)
        snapshot = drafts.snapshot_of_draft(locked)
        if locked.published_version and locked.published_version.snapshot_id == snapshot.pk:
            raise NothingToPublish
        if errors := errors_of(validate(from_json(snapshot.document), kinds())):
            raise DocumentInvalid(errors)
        version = Version.objects.create(
            team_id=locked.team_id,
            workflow=locked,
            number=_next_number(locked),
            snapshot=snapshot,
            note=note.strip(),
            created_by_id=principal.user_id,
        )
        Workflow.objects.unscoped().filter(pk=locked.pk).update(published_version=version)
        workflow.published_version = version
        audited.note(
            principal, locked, "workflow.published", number=version.number, hash=snapshot.hash
        )
    return version


def _next_number(workflow: Workflow) -> int:
    """The workflow is locked: nobody else numbers a version of it meanwhile."""
    newest = Version.objects.unscoped().filter(workflow=workflow).aggregate(newest=Max("number"))
    return (newest["newest"] or 0) + 1
