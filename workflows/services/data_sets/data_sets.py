"""Create, change and delete data sets and their cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.language.start_form import remove_nul
from workflows.errors import InvalidValue, NameTaken
from workflows.models import DataCase, DataSet, Run
from workflows.services import audit_lines


MAX_CASES: Final = 1_000
MAX_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True)
class CaseValues:
    """A case consists of these values. ``expected`` is any JSON value, mostly a text."""

    query: str = ""
    inputs: Mapping[str, Json] = field(default_factory=dict)
    expected: Json = None

    def clean(self) -> "CaseValues":
        """Return the values as they are stored. Raises InvalidValue for an empty case or one that is too large."""
        if not self.query.strip() and not self.inputs:
            raise InvalidValue(_("A case needs a message or inputs."), field="query")
        size = len(self.query) + len(str(self.inputs)) + len(str(self.expected))
        if size > MAX_TEXT:
            raise InvalidValue(_("A case can have at most 100,000 characters."), field="query")
        cleaned: Any = remove_nul(
            [self.query.strip(), dict(self.inputs), self.expected]
        )  # Any: JSON
        return CaseValues(*cleaned)


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
    name = name.strip()
    if not name or len(name) > 200:
        raise InvalidValue(_("Enter a name of at most 200 characters."), field="name")
    with tenant([team_id]):
        row = data_set or DataSet(team_id=team_id, created_by_id=principal.user_id)
        same_name = DataSet.objects.unscoped().filter(team_id=team_id, name=name)
        if same_name.exclude(pk=row.pk).exists():
            raise NameTaken(field="name")
        row.name, row.description = name, description.strip()[:2_000]
        row.save()
        audit_lines.record(principal, row, "data_set.saved")
    return row


def delete_data_set(principal: Principal, data_set: DataSet) -> None:
    """Delete a data set with its cases and evaluations."""
    permissions.check_arrange(principal, data_set.team_id)
    with tenant([data_set.team_id]):
        # The row is deleted by a query, so that the entry can still name it.
        DataSet.objects.unscoped().filter(pk=data_set.pk).delete()
        audit_lines.record(principal, data_set, "data_set.deleted")


def add_cases(
    principal: Principal, data_set: DataSet, cases: Sequence[CaseValues], *, subject: str = ""
) -> list[DataCase]:
    """Add cases at the end. Raises InvalidValue if one is invalid or there would be too many; then none is added."""
    permissions.check_arrange(principal, data_set.team_id)
    cleaned = [values.clean() for values in cases]
    with tenant([data_set.team_id]):
        DataSet.objects.unscoped().select_for_update().get(pk=data_set.pk)
        rows = DataCase.objects.unscoped().filter(data_set=data_set)
        if rows.count() + len(cleaned) > MAX_CASES:
            raise InvalidValue(_("A dataset can have at most 1000 cases."))
        last = rows.aggregate(last=Max("rank"))["last"] or 0
        added = DataCase.objects.bulk_create(
            DataCase(
                team_id=data_set.team_id,
                data_set=data_set,
                rank=last + number,
                query=values.query,
                inputs=dict(values.inputs),
                expected=values.expected,
                subject=subject,
            )
            for number, values in enumerate(cleaned, start=1)
        )
        audit_lines.record(principal, data_set, "data_set.cases_added", count=len(added))
    return added


def change_case(principal: Principal, case: DataCase, values: CaseValues) -> DataCase:
    permissions.check_arrange(principal, case.team_id)
    cleaned = values.clean()
    with tenant([case.team_id]):
        case.query, case.inputs = cleaned.query, dict(cleaned.inputs)
        case.expected = cleaned.expected
        case.save(update_fields=["query", "inputs", "expected"])
        audit_lines.record(principal, case.data_set, "data_set.case_saved", case=str(case.pk))
    return case


def delete_case(principal: Principal, case: DataCase) -> None:
    """Delete a case with its results. The summaries of earlier evaluations stay."""
    permissions.check_arrange(principal, case.team_id)
    with tenant([case.team_id]):
        DataCase.objects.unscoped().filter(pk=case.pk).delete()
        audit_lines.record(principal, case.data_set, "data_set.case_deleted", case=str(case.pk))


def add_run(principal: Principal, data_set: DataSet, run: Run) -> DataCase:
    """Add a case with the inputs of a run, which expects its output. The team can see it from then on."""
    permissions.check_view_run(principal, run)
    outputs = dict(run.outputs or {})
    expected = outputs.get("answer")
    if expected is None:
        expected = next(iter(outputs.values())) if len(outputs) == 1 else outputs or None
    values = CaseValues(str(run.system.get("query", "")), dict(run.inputs), expected)
    (case,) = add_cases(principal, data_set, [values], subject=run.subject)
    return case
