"""The namespaces whose knowledge base a person may write to, as choices of a form."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.models import Namespace
from memory.services.knowledge.knowledge_bases import list_page_targets
from memory.views.request_context import build_caller, find_namespace, is_allowed, load_titles


def list_namespace_choices(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the texts and titles of the namespaces to which a page can be written."""
    choices = list_page_targets(build_caller(request))
    row = _find_requested_namespace(request)
    if row is not None and row.text not in dict(choices) and is_allowed(request, "write", row):
        choices = [(row.text, row), *choices]
    titles = load_titles(request, [row for _text, row in choices if row is not None])
    return [(text, titles.get(text) or _get_default_title(text)) for text, _row in choices]


def get_requested_namespace(request: HttpRequest) -> str:
    """Return the text of the namespace in the query, or an empty string."""
    requested = _find_requested_namespace(request)
    return requested.text if requested is not None else ""


def _find_requested_namespace(request: HttpRequest) -> Namespace | None:
    """Return the namespace of the knowledge base from which the page was opened."""
    try:
        namespace_id = UUID(request.GET.get("in", ""))
    except ValueError:
        return None
    return find_namespace(request, namespace_id)


def _get_default_title(text: str) -> str:
    """Return the title of a namespace that is only created with its first page."""
    return _("You") if text.startswith("user:") else _("Everyone in the team")
