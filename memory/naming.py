"""Namespaces in people's words: "You", a test person's name, what a conversation began with.

Whose conversations and workflows those are is another app's to know; it registers a namer here,
which answers for all ids of a page at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import audit
from accounts.models import User
from accounts.personas import find_key_id, find_player, strip_player
from accounts.tenancy import HasTeams
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import Scope, parse_namespace, scope_kinds
from memory.models import Namespace


Namer = Callable[[UUID, Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Named:
    """A namespace's row and what a person calls it; ``is_own`` where it is the reader's."""

    row: Namespace
    title: str
    is_own: bool = False


def name_with(scope: str, namer: Namer) -> None:
    """``namer`` gives words for the first ids of a scope's namespaces, for those it knows."""
    _NAMERS[scope] = namer


def named(rows: Sequence[Namespace], *, reader_id: UUID | None) -> list[Named]:
    """In the order given; as many queries as there are kinds of names, whatever the number of rows."""
    first = {row.pk: parse_namespace(row.text).ids[0] for row in rows}
    words: dict[tuple[str, str], str] = {}
    for scope in dict.fromkeys(row.scope for row in rows):
        of_scope = [row for row in rows if row.scope == scope]
        words |= _words(scope, of_scope, [first[row.pk] for row in of_scope], reader_id)
    return [
        Named(
            row,
            words.get((row.scope, first[row.pk]), first[row.pk]),
            is_own=reader_id is not None and row.owner_user_id == reader_id,
        )
        for row in rows
    ]


_NAMERS: dict[str, Namer] = {}

Words = dict[tuple[str, str], str]  # scope and first id → what people say


def _words(
    scope: str, rows: Sequence[Namespace], ids: Sequence[str], reader_id: UUID | None
) -> Words:
    found: Mapping[str, str] = {}
    if scope in _NAMERS:
        found = _NAMERS[scope](rows[0].team_id, ids)
    elif parse_namespace(rows[0].text).seen_by is SeenBy.PERSON:
        found = _people(rows, ids, reader_id)
    words: Words = {(scope, one): word for one, word in found.items() if word}
    if scope == Scope.GLOBAL:
        words.setdefault((scope, "default"), _("Everyone in the team"))
    return words


def _people(
    rows: Sequence[Namespace], ids: Sequence[str], reader_id: UUID | None
) -> Mapping[str, str]:
    whose = {row.owner_user_id for row in rows} | {find_player(one) for one in ids}
    accounts = {one for one in whose if one is not None and one != reader_id}
    names = {}
    if accounts:
        people = User.objects.filter(pk__in=accounts).values_list("pk", "name", "email")
        names = {str(pk): name or email for pk, name, email in people}
    if reader_id is not None:
        names[str(reader_id)] = _("You")
    return {**names, **{one: _no_member(one, names, reader_id) for one in ids if one not in names}}


def _no_member(subject: str, names: Mapping[str, str], reader_id: UUID | None) -> str:
    player = find_player(subject)
    if player is None:
        words = _("%(name)s (API key)") if find_key_id(subject) else _("%(name)s (external user)")
        return words % {"name": subject}
    if player == reader_id:
        return _("%(name)s (test user)") % {"name": strip_player(subject)}
    return _("%(name)s (test user of %(player)s)") % {
        "name": strip_player(subject),
        "player": names.get(str(player), _("former member")),
    }


def prefixes_of_persons() -> tuple[str, ...]:
    """What a namespace begins with whose id says who somebody is."""
    return tuple(one.prefix for one in scope_kinds() if one.seen_by is SeenBy.PERSON)


def for_the_trail(
    principal: HasTeams, team_id: UUID, texts: Sequence[str]
) -> Mapping[str, audit.DisplayName]:
    """Of namespaces as the audit trail names them. Who may not look into one learns whose it is, never
    what a conversation began with."""
    reader: Any = principal  # Any: tenancy knows only the half of a principal that it needs
    known = [kind.word for kind in scope_kinds()]  # a plug-in that is gone left names nobody reads
    found_rows = Namespace.objects.unscoped().filter(team_id=team_id, text__in=texts)
    rows = list(found_rows.filter(scope__in=known))
    seen = set(
        Namespace.objects.visible_to(principal)
        .filter(pk__in=[row.pk for row in rows])
        .values_list("pk", flat=True)
    )
    found = {}
    for one in named(rows, reader_id=reader.user_id):
        row = one.row
        address = reverse("memory:namespace", args=[row.pk]) if row.pk in seen else ""
        is_told = row.pk in seen or parse_namespace(row.text).seen_by is SeenBy.PERSON
        title = one.title if is_told else row.text.rpartition(":")[2]
        found[row.text] = audit.DisplayName(f"{row.get_scope_display()}: {title}", address)
    return found
