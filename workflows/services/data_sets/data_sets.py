"""Create, change and delete the data sets of a team, and find the set with the tests of a workflow."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue, NameTaken
from workflows.models import DataSet, Workflow
from workflows.services import audit_lines


def save_data_set(
    principal: Principal,
    *,
    team_id: UUID,
    name: str,
    description: str = "",
    data_set: DataSet | None = None,
) -> DataSet:
    """Create a data set, or rename the given one. Raises NameTaken."""
    permissions.check_arrange(principal, team_id)
    _check_of_team(data_set)
    name = name.strip()
    if not name or len(name) > 200:
        raise InvalidValue(_("Enter a name of at most 200 characters."), field="name")
    with tenant([team_id]):
        row = data_set or DataSet(team_id=team_id, created_by_id=principal.user_id)
        same_name = DataSet.objects.unscoped().filter(team_id=team_id, name=name, workflow=None)
        if same_name.exclude(pk=row.pk).exists():
            raise NameTaken(field="name")
        row.name, row.description = name, description.strip()[:2_000]
        row.save()
        audit_lines.record(principal, row, "data_set.saved")
    return row


def delete_data_set(principal: Principal, data_set: DataSet) -> None:
    """Delete a data set with its cases and evaluations. Raises InvalidValue if a workflow must pass it."""
    permissions.check_arrange(principal, data_set.team_id)
    _check_of_team(data_set)
    with tenant([data_set.team_id]):
        gated = Workflow.objects.unscoped().filter(must_pass=data_set).order_by("name")
        if names := list(gated.values_list("name", flat=True)[:5]):
            message = _("It must pass before these workflows are published: %(names)s")
            raise InvalidValue(message % {"names": ", ".join(names)}, field="data_set")
        # The row is deleted by a query, so that the entry can still name it.
        DataSet.objects.unscoped().filter(pk=data_set.pk).delete()
        audit_lines.record(principal, data_set, "data_set.deleted")


def check_change(principal: Principal, data_set: DataSet) -> None:
    """Raise NotAllowed unless the principal may change the cases: those of the team, or the tests of a workflow."""
    if data_set.workflow is None:
        permissions.check_arrange(principal, data_set.team_id)
    else:
        permissions.check_edit(principal, data_set.workflow)


def load_tests(workflow: Workflow) -> DataSet:
    """Return the set with the tests of a workflow, which is created with the first of them."""
    with tenant([workflow.team_id]):
        data_set, _is_new = DataSet.objects.unscoped().get_or_create(
            workflow=workflow, defaults={"team_id": workflow.team_id}
        )
    data_set.workflow = workflow
    return data_set


def _check_of_team(data_set: DataSet | None) -> None:
    """Raise InvalidValue for the tests of a workflow: their set is named and deleted with it."""
    if data_set is not None and data_set.workflow_id is not None:
        raise InvalidValue(_("The tests of a workflow have its name and stay with it."))
