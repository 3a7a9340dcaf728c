"""The knowledge bases that a person may write to, by their titles."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.principals import get_current_team_id, get_principal
from memory import naming, selectors
from memory.models import Namespace
from memory.services.knowledge.knowledge_bases import list_page_targets
from memory.views.request_context import build_caller, may


def list_choices(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the namespaces to which a page can be written, with their titles."""
    choices = list_page_targets(build_caller(request))
    requested = _find_requested_namespace(request)
    if (
        requested is not None
        and requested.text not in dict(choices)
        and may(request, "write", requested)
    ):
        choices = [(requested.text, requested), *choices]
    rows = [row for _text, row in choices if row is not None]
    reader = get_principal(request).user_id
    titles = {item.row.text: item.title for item in naming.name_namespaces(rows, reader_id=reader)}
    return [(text, titles.get(text) or _get_default_title(text)) for text, _row in choices]


def _get_default_title(text: str) -> str:
    return _("You") if text.startswith("user:") else _("Everyone in the team")


def get_requested_text(request: HttpRequest) -> str:
    requested = _find_requested_namespace(request)
    return requested.text if requested is not None else ""


def _find_requested_namespace(request: HttpRequest) -> Namespace | None:
    """Return the namespace of the knowledge base from which the page was opened."""
    try:
        namespace_id = UUID(request.GET.get("in", ""))
    except ValueError:
        return None
    return selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
