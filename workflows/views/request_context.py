"""Helpers for the beginning of a view: they find the caller, the requested object, and the submitted values."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django import forms
from django.http import HttpRequest, QueryDict

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from workflows import selectors
from workflows.engine.errors import DocumentTooLarge
from workflows.errors import ContentTooLarge
from workflows.forms import TOO_LARGE
from workflows.models import ModelProvider, Run, Workflow


def find_workflow(
    request: HttpRequest, workflow_id: UUID, verb: str = "view", *, archived: bool = False
) -> tuple[Principal, Workflow]:
    """Return the caller and the workflow if the caller may ``verb`` it; an archived one only with ``archived``."""
    principal = get_principal(request)
    workflow = selectors.find_workflow(principal, workflow_id, verb)
    if workflow.is_archived and not archived:
        raise NotFound
    return principal, workflow


def find_run(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, selectors.find_run(principal, run_id)


def find_provider(request: HttpRequest, provider_id: UUID) -> tuple[Principal, ModelProvider]:
    principal = get_principal(request)
    return principal, selectors.find_provider(principal, provider_id, change=True)


def is_htmx(request: HttpRequest) -> bool:
    """Return whether a script sent the request, so that the response is a fragment instead of a page."""
    return "HX-Request" in request.headers


def get_form_data(request: HttpRequest) -> QueryDict | None:
    """Return the submitted data for a form; None if the form is only shown, so that it isn't validated yet."""
    return request.POST if request.method == "POST" else None


def choose_status(refusal: Exception) -> int:
    """Return the status of a page that shows the form of a refused request again."""
    return 413 if isinstance(refusal, ContentTooLarge | DocumentTooLarge) else 422


def choose_form_status(form: forms.Form) -> int:
    """Return the status of a page with a form: 200, or that of what is wrong with what was sent."""
    if not form.errors:
        return 200
    codes = {error.code for errors in form.errors.as_data().values() for error in errors}
    return 413 if TOO_LARGE in codes else 422


def read_text(data: Mapping[str, str], name: str) -> str:
    """Return a submitted string, stripped and without null characters, which PostgreSQL cannot store."""
    return data.get(name, "").replace("\x00", "").strip()


def parse_ids(texts: Iterable[str]) -> list[UUID]:
    return list(map(parse_id, texts))


def parse_id(text: str) -> UUID:
    """Return the parsed id; raise NotFound if it is invalid."""
    id_ = parse_id_or_none(text)
    if id_ is None:
        raise NotFound
    return id_


def parse_valid_ids(texts: Iterable[object]) -> set[UUID]:
    """Return the ids among the texts without the invalid ones."""
    return {id_ for text in texts if (id_ := parse_id_or_none(text))}


def parse_id_or_none(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None
