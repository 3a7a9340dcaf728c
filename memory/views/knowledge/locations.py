"""Where a page can be put: the shelves a person may write to, in their words."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.principals import get_current_team_id, get_principal
from memory import naming, selectors
from memory.models import Namespace
from memory.services.knowledge.knowledge_bases import places_for_pages
from memory.views.request_context import caller_of, may


def place_choices(request: HttpRequest) -> list[tuple[str, str]]:
    """Where a page can be put, in people's words."""
    places = places_for_pages(caller_of(request))
    asked = _namespace_asked(request)
    if asked is not None and asked.text not in dict(places) and may(request, "write", asked):
        places = [(asked.text, asked), *places]
    rows = [row for _text, row in places if row is not None]
    reader = get_principal(request).user_id
    titles = {one.row.text: one.title for one in naming.name_namespaces(rows, reader_id=reader)}
    return [(text, titles.get(text) or _title_of_new(text)) for text, _row in places]


def _title_of_new(text: str) -> str:
    return _("You") if text.startswith("user:") else _("Everyone in the team")


def place_asked_for(request: HttpRequest) -> str:
    asked = _namespace_asked(request)
    return asked.text if asked is not None else ""


def _namespace_asked(request: HttpRequest) -> Namespace | None:
    """The shelf one came from."""
    try:
        wanted = UUID(request.GET.get("in", ""))
    except ValueError:
        return None
    return selectors.find_namespace(get_principal(request), get_current_team_id(request), wanted)
