"""The pages that add, import, change and delete the cases of a data set."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import Principal, get_principal
from config.http import strict_json
from workflows import selectors
from workflows.engine.errors import DocumentInvalid
from workflows.engine.testing.cases import Case, read_case
from workflows.errors import ContentTooLarge, InvalidValue, NameTaken
from workflows.models import DataCase, DataSet
from workflows.services.data_sets import cases, files
from workflows.views.data_sets.pages import render_detail
from workflows.views.editor.debugging.case_form import (
    CaseForm,
    build_form,
    read_expected,
    read_form,
)
from workflows.views.editor.debugging.check_fields import build_subjects_context
from workflows.views.request_context import find_run, parse_id, read_text


NEW_CASE: dict[str, Any] = {"name": "", "turns": [{"checks": []}]}  # Any: JSON


@login_required
@require_http_methods(["GET", "POST"])
def add_case(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Add a case of one message or of inputs, or show the form of a whole case and store it."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    if request.method == "GET":
        return _render_form(request, data_set, None, build_form(NEW_CASE))
    if "turn-0-person" in request.POST:
        return _save_form(request, principal, data_set, None)
    try:
        cases.add_cases(principal, data_set, [_read_simple_case(request)])
    except InvalidValue as invalid:
        return render_detail(request, principal, data_set, refusal=invalid)
    return redirect("workflows:data_set", data_set.pk)


@login_required
@require_POST
def import_cases(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Add the cases of a file or of a pasted text."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    try:
        name, text = _read_file(request)
        read_cases = files.read_cases(text, files.detect_format(name, text))
        added = cases.add_cases(principal, data_set, read_cases)
    except InvalidValue as invalid:
        return render_detail(request, principal, data_set, refusal=invalid)
    text = ngettext("%(n)s case added", "%(n)s cases added", len(added)) % {"n": len(added)}
    messages.success(request, text)
    return redirect("workflows:data_set", data_set.pk)


@login_required
@require_http_methods(["GET", "POST"])
def case(request: HttpRequest, data_set_id: UUID, case_id: UUID) -> HttpResponse:
    """Show the form of a case, and store it."""
    principal = get_principal(request)
    row = selectors.find_data_case(principal, data_set_id, case_id)
    if request.method == "POST":
        return _save_form(request, principal, row.data_set, row)
    return _render_form(request, row.data_set, row, build_form(row.spec))


@login_required
@require_POST
def delete_case(request: HttpRequest, data_set_id: UUID, case_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    cases.delete_case(principal, selectors.find_data_case(principal, data_set_id, case_id))
    return redirect("workflows:data_set", data_set_id)


@login_required
@require_POST
def add_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Add a run to the chosen data set."""
    principal, run = find_run(request, run_id)
    data_set_id = parse_id(read_text(request.POST, "data_set"))
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    try:
        cases.add_run(principal, data_set, run)
    except InvalidValue as invalid:
        messages.error(request, str(invalid))
        return redirect("workflows:run", run.pk)
    messages.success(request, _("Added to the dataset %(name)s") % {"name": data_set.title})
    return redirect("workflows:run", run.pk)


def _save_form(
    request: HttpRequest, principal: Principal, data_set: DataSet, row: DataCase | None
) -> HttpResponse:
    """Store the case of the whole form. A form that grows a row is shown again, and so is a rejected one."""
    form = read_form(request.POST)
    if form.is_unfinished:
        return _render_form(request, data_set, row, form)
    try:
        cases.save_case(principal, data_set, read_case(form.build_spec()), row)
    except DocumentInvalid as invalid:
        errors = form.place_errors(invalid.problems)
        return _render_form(request, data_set, row, form, errors, is_refused=True)
    except (ValueError, InvalidValue, NameTaken) as error:
        return _render_form(request, data_set, row, form, [str(error)])
    return redirect("workflows:data_set", data_set.pk)


def _render_form(
    request: HttpRequest,
    data_set: DataSet,
    row: DataCase | None,
    form: CaseForm,
    errors: list[str] | None = None,
    *,
    is_refused: bool = False,
) -> HttpResponse:
    context = {
        "data_set": data_set,
        "case": row,
        "form": form,
        "errors": errors or [],
        **build_subjects_context(),
    }
    status = 422 if errors or is_refused else 200
    return render(request, "data_sets/case.html", context, status=status)


def _read_simple_case(request: HttpRequest) -> Case:
    """Read a case: the inputs are a JSON object; the expected answer is JSON if it looks like it, else a text."""
    inputs: Any = {}
    if text := read_text(request.POST, "inputs"):
        try:
            inputs = strict_json.loads(text)
        except strict_json.NotStrictJson:
            raise InvalidValue(_("Inputs: this is not valid JSON."), field="inputs") from None
        if not isinstance(inputs, dict):
            raise InvalidValue(_("Inputs must be a JSON object."), field="inputs")
    expected = read_expected(read_text(request.POST, "expected"))
    return cases.make_case(read_text(request.POST, "query"), inputs, expected)


def _read_file(request: HttpRequest) -> tuple[str, str]:
    """Return name and text of the file, or the pasted text without a name."""
    upload = request.FILES.get("file")
    if upload is None:
        return "", request.POST.get("text", "")
    if (upload.size or 0) > files.MAX_BYTES:
        raise ContentTooLarge(_("The file is larger than 5 MB."), field="file")
    try:
        return upload.name or "", upload.read().decode()
    except UnicodeDecodeError:
        raise InvalidValue(_("The file is not UTF-8 text."), field="file") from None
