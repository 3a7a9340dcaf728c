"""Functions that memory pages use to read a request: the caller, the requested object, and the permissions."""

from uuid import UUID

from django.http import HttpRequest

from accounts.principals import get_current_team_id, get_principal
from memory import naming, permissions, selectors
from memory.core.errors import MemoryFault
from memory.core.scopes import parse_namespace
from memory.models import Change, Entry, Namespace
from memory.permissions import NamespaceTarget, Verb
from memory.services import MemoryCaller


def build_caller(request: HttpRequest) -> MemoryCaller:
    return MemoryCaller(principal=get_principal(request), team_id=get_current_team_id(request))


def entry_or_404(request: HttpRequest, entry_id: UUID) -> Entry:
    return selectors.find_entry(get_principal(request), get_current_team_id(request), entry_id)


def title_of(request: HttpRequest, row: Namespace) -> str:
    return naming.name_namespaces([row], reader_id=get_principal(request).user_id)[0].title


def may(request: HttpRequest, verb: Verb, row: Namespace) -> bool:
    target = NamespaceTarget(row.team_id, parse_namespace(row.text), row)
    return permissions.is_allowed(get_principal(request), verb, target)


def reason_of(request: HttpRequest) -> str:
    return request.POST.get("reason", "")[:500]


def refresh_namespace(row: Namespace) -> Namespace:
    row.refresh_from_db()
    return row


def undoable_change(request: HttpRequest, change_id: str) -> Change | None:
    """Return the change that the page offers to undo; None if the id is invalid or not visible, or the change was
    undone.
    """
    try:
        change = selectors.find_change(
            get_principal(request), get_current_team_id(request), UUID(change_id)
        )
    except (ValueError, MemoryFault):
        return None
    return change if change.undone_at is None else None
