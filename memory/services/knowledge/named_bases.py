"""The knowledge bases that a node names, as the caller may know them."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models.fields.json import KeyTextTransform

from accounts.tenancy import reading
from memory.core.scopes import Scope
from memory.host import get_host
from memory.logic.knowledge.named_bases import (
    MAX_TITLES,
    TEAM_KNOWLEDGE,
    NamedKnowledgeBase,
    get_plain_name,
)
from memory.logic.knowledge.pages import PAGE_CATEGORY, build_page_key
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize
from memory.services.gateway.namespace_access import NamespaceAccess


def list_named_bases(
    caller: MemoryCaller, namespaces: Sequence[str]
) -> tuple[NamedKnowledgeBase, ...]:
    """Return the knowledge bases in this order, those that don't exist included.

    Raise an error that names the knowledge base if the caller may not view one of them.
    """
    accesses = [authorize(caller, "view", "memory.recalled", namespace=text) for text in namespaces]
    with reading([caller.team_id]):
        names = _list_names(caller, accesses)
        return tuple(
            NamedKnowledgeBase(
                access.text,
                names.get(access.text) or get_plain_name(access.text),
                _list_titles(access),
                exists=access.target.row is not None or _exists_without_row(access),
                description=access.target.row.description if access.target.row else "",
            )
            for access in accesses
        )


def _list_names(caller: MemoryCaller, accesses: Sequence[NamespaceAccess]) -> Mapping[str, str]:
    ids = {access.text: access.target.parsed.ids[0] for access in accesses}
    names = get_host().list_names(caller.team_id, Scope.GLOBAL.value, list(ids.values()))
    given_names = {access.text: access.target.row.name for access in accesses if access.target.row}
    return {text: given_names.get(text) or names.get(id_, "") for text, id_ in ids.items()}


def list_missing_bases(team_id: UUID, namespaces: Iterable[str]) -> frozenset[str]:
    """Return those of these knowledge bases that the team doesn't have, whoever may view them."""
    texts = frozenset(namespaces) - {TEAM_KNOWLEDGE}
    with reading([team_id]):
        rows_of_team = Namespace.objects.unscoped().filter(team_id=team_id, text__in=texts)
        return texts - set(rows_of_team.values_list("text", flat=True))


def _exists_without_row(access: NamespaceAccess) -> bool:
    """Return whether there is the knowledge base although this database has no row of it, or doesn't show it."""
    is_elsewhere = access.external is not None or access.is_withheld
    return is_elsewhere or access.text == TEAM_KNOWLEDGE


def _list_titles(access: NamespaceAccess) -> tuple[str, ...]:
    """Return the titles of the pages that changed last, of those that hold now."""
    if access.target.row is None:
        return ()
    visible = rows.find_visible(
        access.target.row, access.now, holding_at=access.now, for_prompt=True
    )
    pages = visible.filter(category=PAGE_CATEGORY, key__startswith=build_page_key(""))
    titles = pages.order_by("-updated_at").values_list(KeyTextTransform("title", "value"))
    return tuple(title for (title,) in titles[:MAX_TITLES])
