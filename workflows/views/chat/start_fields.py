"""The fields of a chat's Start node, which its messages are sent with."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Document, Json
from workflows.forms import build_input_fields, read_inputs
from workflows.models import Workflow
from workflows.templatetags.problems import describe_problem


PREFIX: Final = "input."  # of the names in the form, which has names of its own
_PLACE: Final = "#chat-inputs"


def build_fields_context(
    document: Document, last_inputs: Mapping[str, Json], *, is_new: bool = False
) -> dict[str, Any]:
    """Return the fields with the values of the conversation's last turn.

    They are open before the first message of a conversation, and if one must be filled in.
    """
    fields = build_input_fields(document, last_inputs=last_inputs)
    return {
        "start_fields": fields,
        "is_open": is_new or any(field.required and not field.value for field in fields),
    }


def read_start_inputs(document: Document, data: Mapping[str, str]) -> dict[str, Json]:
    return read_inputs(document, _select(data))


def render_rejection(
    request: HttpRequest,
    workflow: Workflow,
    document: Document,
    rejected: InputRejected,
    upload_url: str = "",
) -> HttpResponse:
    """Return the fields with their errors, in their place. Raises the rejection again if it is about none of them.

    ``upload_url`` is the address for files of another version than the draft.
    """
    errors = {p.field: describe_problem(p) for p in rejected.problems if p.field}
    fields = build_input_fields(document, _select(request.POST.dict()), errors)
    if not any(field.error for field in fields):
        raise rejected
    context = {"start_fields": fields, "is_open": True, "workflow": workflow}
    context |= {"upload_url": upload_url}
    response = render(request, "chat/_start_fields.html", context, status=422)
    response["HX-Retarget"], response["HX-Reswap"] = _PLACE, "outerHTML"
    return response


def _select(data: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX): value for name, value in data.items() if name.startswith(PREFIX)
    }
