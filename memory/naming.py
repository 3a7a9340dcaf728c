"""Find the titles of namespaces for people: "You", a test user's name, the first words of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import audit
from accounts.models import ServiceAccount, User
from accounts.personas import (
    find_player,
    find_service_account_id,
    find_visitor_code,
    strip_player,
)
from accounts.tenancy import HasTeams
from memory.core.identifiers import is_uuid
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import Scope, list_scope_kinds, parse_namespace
from memory.host import get_host
from memory.models import Namespace
from memory.services.gateway.caller import MemoryCaller
from memory.services.knowledge.knowledge_bases import TEAM_NAMESPACE, list_knowledge_bases
from memory.services.review.review_sample import is_demo_persona


@dataclass(frozen=True, slots=True)
class NamedNamespace:
    """A namespace's row and its title for a reader. ``is_own`` is true if it belongs to the reader."""

    row: Namespace
    title: str
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class ChoosableKnowledgeBase:
    """A shared knowledge base that a workflow can be told to search. ``namespace`` is the text that names it there."""

    namespace: str
    name: str
    description: str
    pages: int


def name_namespaces(rows: Sequence[Namespace], *, reader_id: UUID | None) -> list[NamedNamespace]:
    """Return the rows with their titles for this reader, in the same order, by one query for each kind of names."""
    ids = {row.pk: parse_namespace(row.text).ids[0] for row in rows}
    titles: dict[str, Mapping[str, str]] = {}  # by scope and first id
    for scope in dict.fromkeys(row.scope for row in rows):
        scope_rows = [row for row in rows if row.scope == scope]
        titles[scope] = _find_titles(scope_rows, [ids[row.pk] for row in scope_rows], reader_id)
    return [
        NamedNamespace(
            row,
            row.name or titles[row.scope].get(ids[row.pk]) or ids[row.pk],
            is_own=reader_id is not None and row.owner_user_id == reader_id,
        )
        for row in rows
    ]


def _find_titles(
    rows: Sequence[Namespace], ids: Sequence[str], reader_id: UUID | None
) -> Mapping[str, str]:
    """Return the titles of rows of one scope by the first id of their namespaces."""
    if parse_namespace(rows[0].text).seen_by is SeenBy.PERSON:
        return _name_people(rows, ids, reader_id)
    names = get_host().list_names(rows[0].team_id, rows[0].scope, ids)
    if rows[0].scope == Scope.GLOBAL and not names.get("default"):
        return {**names, "default": _("Everyone in the team")}
    return names


def _name_people(
    rows: Sequence[Namespace], ids: Sequence[str], reader_id: UUID | None
) -> Mapping[str, str]:
    owners = {row.owner_user_id for row in rows} | {find_player(subject) for subject in ids}
    accounts = {owner for owner in owners if owner is not None and owner != reader_id}
    names = {}
    if accounts:
        people = User.objects.filter(pk__in=accounts).values_list("pk", "name", "email")
        names = {str(pk): name or email for pk, name, email in people}
    if reader_id is not None:
        names[str(reader_id)] = _("You")
    names |= _name_service_accounts(ids)
    rest = [subject for subject in ids if subject not in names]
    return {**names, **{subject: _name_non_member(subject, names, reader_id) for subject in rest}}


def _name_service_accounts(subjects: Sequence[str]) -> dict[str, str]:
    """Return the titles of the subjects that are service accounts."""
    accounts = {subject: pk for subject in subjects if (pk := find_service_account_id(subject))}
    if not accounts:
        return {}
    rows = ServiceAccount.objects.unscoped().filter(pk__in=accounts.values())
    titles = {
        pk: _("%(name)s (service account)") % {"name": name}
        for pk, name in rows.values_list("pk", "name")
    }
    return {
        subject: titles.get(pk, _("Deleted service account")) for subject, pk in accounts.items()
    }


def _name_non_member(subject: str, names: Mapping[str, str], reader_id: UUID | None) -> str:
    """Return the title of an external user, or a test user of the member with one of ``names``."""
    player_id = find_player(subject)
    if code := find_visitor_code(subject):
        return _("Visitor %(code)s") % {"code": code}
    if player_id is None:
        return _("%(name)s (external user)") % {"name": subject}
    if is_demo_persona(subject) and player_id == reader_id:
        return _("Demo memory")
    if player_id == reader_id:
        return _("%(name)s (test user)") % {"name": strip_player(subject)}
    return _("%(name)s (test user of %(player)s)") % {
        "name": strip_player(subject),
        "player": names.get(str(player_id), _("former member")),
    }


def list_choosable_knowledge_bases(caller: MemoryCaller) -> list[ChoosableKnowledgeBase]:
    """Return the shared knowledge bases that the caller may view, the team's first, the others by their names."""
    summaries = [base for base in list_knowledge_bases(caller) if base.row.scope == Scope.GLOBAL]
    pages = {summary.row.text: summary.pages for summary in summaries}
    rows = [summary.row for summary in summaries]
    if TEAM_NAMESPACE not in pages:
        rows.append(Namespace(team_id=caller.team_id, scope=Scope.GLOBAL, text=TEAM_NAMESPACE))
    named_rows = name_namespaces(rows, reader_id=caller.principal.user_id)
    named_rows.sort(
        key=lambda item: (item.row.text != TEAM_NAMESPACE, item.title.casefold(), item.row.text)
    )
    return [
        ChoosableKnowledgeBase(
            item.row.text, item.title, item.row.description, pages.get(item.row.text, 0)
        )
        for item in named_rows
    ]


def list_person_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the namespaces whose id identifies a person."""
    return tuple(kind.prefix for kind in list_scope_kinds() if kind.seen_by is SeenBy.PERSON)


def name_for_audit_log(
    principal: HasTeams, team_id: UUID, texts: Sequence[str]
) -> Mapping[str, audit.DisplayName]:
    """Return the display names of namespaces in the audit log, with a link to those that the principal may view.

    Others get their title only if they belong to a person, because a conversation's title shows its first words.
    """
    reader: Any = principal  # Any: tenancy knows only the half of a principal that it needs
    scopes = [kind.word for kind in list_scope_kinds()]  # no names of removed plug-ins
    matches = Namespace.objects.unscoped().filter(team_id=team_id, text__in=texts)
    rows = list(matches.filter(scope__in=scopes))
    visible = Namespace.objects.visible_to(principal).filter(pk__in=[row.pk for row in rows])
    visible_ids = set(visible.values_list("pk", flat=True))
    names = {}
    for namespace in name_namespaces(rows, reader_id=reader.user_id):
        row = namespace.row
        url = reverse("memory:namespace", args=[row.pk]) if row.pk in visible_ids else ""
        can_show_title = row.pk in visible_ids or parse_namespace(row.text).seen_by is SeenBy.PERSON
        title = namespace.title if can_show_title else parse_namespace(row.text).ids[-1]
        scope = row.get_scope_display()
        # An id says nothing to people, such as that of a run without a name.
        label = scope if is_uuid(title) else f"{scope}: {title}"
        names[row.text] = audit.DisplayName(label, url)
    return names
