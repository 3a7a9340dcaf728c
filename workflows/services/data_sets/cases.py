"""Add, change and delete test cases, in the data sets of a team and in the tests of a workflow alike."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.language.start_form import remove_nul
from workflows.engine.testing.cases import MAX_NAME, Case, build_simple_case
from workflows.errors import ContentTooLarge, InvalidValue, NameTaken
from workflows.models import DataCase, DataSet, Run
from workflows.services import audit_lines
from workflows.services.data_sets.data_sets import check_change


MAX_CASES: Final = 1_000
MAX_TEXT: Final = 100_000


def make_case(
    query: str = "", inputs: Mapping[str, Json] | None = None, expected: Json = None
) -> Case:
    """Return a case of one message or of inputs. Raises InvalidValue without any."""
    if not query.strip() and not inputs:
        raise InvalidValue(_("A case needs a message or inputs."), field="query")
    return build_simple_case(query, inputs, expected)


def add_cases(
    principal: Principal, data_set: DataSet, cases: Sequence[Case], *, subject: str = ""
) -> list[DataCase]:
    """Add cases at the end; one whose name is taken gets a number behind it.

    Raises InvalidValue if one is too large or there would be too many; then none is added.
    """
    check_change(principal, data_set)
    specs = [dump_case(case) for case in cases]
    with tenant([data_set.team_id]):
        rows = _lock(data_set)
        taken = set(rows.values_list("name", flat=True))
        if len(taken) + len(specs) > MAX_CASES:
            raise InvalidValue(_("A dataset can have at most 1000 cases."))
        last = rows.aggregate(last=Max("rank"))["last"] or 0
        added = DataCase.objects.bulk_create(
            DataCase(
                team_id=data_set.team_id,
                data_set=data_set,
                rank=last + number,
                name=name,
                spec={**spec, "name": name},
                subject=subject,
                created_by_id=principal.user_id,
            )
            for number, (name, spec) in enumerate(_name_specs(specs, taken), start=1)
        )
        audit_lines.record(principal, data_set, "data_set.cases_added", count=len(added))
    return added


def save_case(
    principal: Principal,
    data_set: DataSet,
    case: Case,
    row: DataCase | None = None,
    *,
    is_named: bool = True,
    subject: str = "",
) -> DataCase:
    """Create a case, or change the given one; ``subject`` is the person of the run that it was made from, if any.

    Raises NameTaken, unless nobody has named it: then it gets a free name.
    """
    check_change(principal, data_set)
    spec = dump_case(case)
    with tenant([data_set.team_id]):
        rows = _lock(data_set)
        if row is None:
            if rows.count() >= MAX_CASES:
                raise InvalidValue(_("A dataset can have at most 1000 cases."))
            last = rows.aggregate(last=Max("rank"))["last"] or 0
            row = DataCase(
                team_id=data_set.team_id,
                data_set=data_set,
                rank=last + 1,
                created_by_id=principal.user_id,
            )
        taken = set(rows.exclude(pk=row.pk).values_list("name", flat=True))
        if is_named and case.name in taken:
            raise NameTaken(field="name")
        row.name = _find_free_name(case.name, taken)
        row.spec = {**spec, "name": row.name}
        row.subject = subject or row.subject
        row.save()
        audit_lines.record(principal, row, "case.saved", **_describe(data_set))
    return row


def delete_case(principal: Principal, case: DataCase) -> None:
    """Delete a case with its results. The summaries of earlier evaluations stay."""
    check_change(principal, case.data_set)
    with tenant([case.team_id]):
        DataCase.objects.unscoped().filter(pk=case.pk).delete()
        subject = case.data_set.workflow or case.data_set
        audit_lines.record(principal, subject, "case.deleted", case=str(case.pk))


def add_run(principal: Principal, data_set: DataSet, run: Run) -> DataCase:
    """Add a case with the inputs of a run, which expects its output. The team can see it from then on."""
    permissions.check_view_run(principal, run)
    outputs = dict(run.outputs or {})
    expected = outputs.get("answer")
    if expected is None:
        expected = next(iter(outputs.values())) if len(outputs) == 1 else outputs or None
    case = make_case(str(run.system.get("query", "")), dict(run.inputs), expected)
    (row,) = add_cases(principal, data_set, [case], subject=run.subject)
    return row


def dump_case(case: Case) -> dict[str, Json]:
    """Return the case without default values, because people read it. Raises InvalidValue if it is too large."""
    spec: Any = remove_nul(case.model_dump(mode="json", exclude_defaults=True))  # Any: JSON
    if len(json.dumps(spec, ensure_ascii=False)) > MAX_TEXT:
        raise ContentTooLarge(_("A case can have at most 100,000 characters."), field="query")
    return spec  # type: ignore[no-any-return]


def _lock(data_set: DataSet) -> Any:  # Any: a queryset of the guarded manager
    """Return the cases of the set, to which nobody else adds one meanwhile."""
    DataSet.objects.unscoped().select_for_update(of=("self",), no_key=True).get(pk=data_set.pk)
    return DataCase.objects.unscoped().filter(data_set=data_set)


def _name_specs(
    specs: Sequence[dict[str, Json]], taken: set[str]
) -> list[tuple[str, dict[str, Json]]]:
    named = []
    for spec in specs:
        name = _find_free_name(str(spec["name"]), taken)
        taken.add(name)
        named.append((name, spec))
    return named


def _find_free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name[: MAX_NAME - 8]} ({number})"
    return free


def _describe(data_set: DataSet) -> dict[str, str]:
    if data_set.workflow_id is None:
        return {"data_set": str(data_set.pk)}
    return {"workflow": str(data_set.workflow_id)}
