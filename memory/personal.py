"""What is remembered about the one who asks, in people's words: their own, and that of their test persons."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access
from accounts.tenancy import tenant
from memory import naming, provenance
from memory.core.errors import AccessDenied, NotFound
from memory.host import RunDescription
from memory.models import Entry, Namespace, Read, Revision
from memory.models.entries import Operation, TierChoice
from memory.models.namespaces import ScopeChoice
from memory.providers.postgres.newest import newest
from memory.services.access.pause_state import Pause, pause_of
from memory.services.gateway.caller import MemoryCaller


MOST_SHOWN: Final = 200  # of all that is remembered; searching finds the rest
MOST_FORGOTTEN: Final = 50
LATELY: Final = timedelta(days=30)
_NOTHING: Final = "–"
_A_LINE: Final = 80


@dataclass(frozen=True, slots=True)
class Remembered:
    """``told``: the run it was learnt in, if the reader may see it; ``uses``: in how many answers it was."""

    row: Entry
    text: str
    told: RunDescription | None = None
    uses: int = 0
    corrected_at: datetime | None = None  # when its person last said it otherwise
    used_at: datetime | None = None
    used_in: RunDescription | None = None  # the newest of them

    @property
    def by_hand(self) -> bool:
        return not self.row.source_run

    @property
    def is_text(self) -> bool:
        return isinstance(self.row.value, str)

    @property
    def says_what(self) -> bool:
        """A number or a list alone doesn't say what it is about: its key has to."""
        return isinstance(self.row.value, str | Mapping)

    @property
    def is_waiting(self) -> bool:
        return self.row.tier == TierChoice.QUARANTINE


@dataclass(frozen=True, slots=True)
class Person:
    """``remembered``: newest first, at most so many that a page holds them."""

    namespace: Namespace
    name: str
    is_own: bool
    remembered: tuple[Remembered, ...]


@dataclass(frozen=True, slots=True)
class About:
    """``total``: living memories, whether found by ``text`` or not."""

    people: tuple[Person, ...]
    total: int
    shown: int
    pause: Pause | None
    is_shared: bool = False  # their own, with members
    forgotten: tuple[Remembered, ...] = ()  # of the last days, the newest first


def about(caller: MemoryCaller, *, text: str = "") -> About:
    """The person themselves first, then those they play."""
    with tenant([caller.team_id]):
        spaces = _own_spaces(caller)
        ids = [row.pk for row in spaces]
        visible: Any = Entry.objects.visible_to(
            caller.principal
        )  # Any: the manager's queryset is untyped
        living = visible.living().filter(namespace_id__in=ids)
        rows = _said(living, text) if text else _newest(caller, spaces)
        remembered = _with_sources(caller, rows)
        total = living.count() if text or len(rows) == MOST_SHOWN else len(rows)
        gone = _forgotten_lately(visible.filter(namespace_id__in=ids))
        own = next((row for row in spaces if row.owner_user_id == caller.principal.user_id), None)
        is_shared = own is not None and any(one.user for one in access.list_grants(own))
    by_space: dict[UUID, list[Remembered]] = {}
    for row in rows:
        by_space.setdefault(row.namespace_id, []).append(remembered[row.pk])
    people = tuple(
        Person(one.row, one.title, one.is_own, tuple(by_space.get(one.row.pk, ())))
        for one in naming.name_namespaces(spaces, reader_id=caller.principal.user_id)
    )
    pause = pause_of(own, timezone.now())
    return About(people, total, len(rows), pause, is_shared, gone)


def remembered_now(caller: MemoryCaller, *, ids: Sequence[UUID]) -> Mapping[UUID, Remembered]:
    """Those of the entries that the asker may see, as they are now, forgotten or not."""
    if not ids:
        return {}
    with tenant([caller.team_id]):
        found = Entry.objects.visible_to(caller.principal).filter(
            team_id=caller.team_id, pk__in=ids
        )
        return {row.pk: Remembered(row, words_of(row.value)) for row in found}


def own_entry(caller: MemoryCaller, *, entry_id: UUID) -> Remembered:
    """One of these, forgotten or not; what isn't about them isn't there."""
    with tenant([caller.team_id]):
        ids = [row.pk for row in _own_spaces(caller)]
        rows = Entry.objects.visible_to(caller.principal).filter(pk=entry_id, namespace_id__in=ids)
        row = rows.select_related("namespace").first()
        if row is None:
            raise NotFound(_("Memory not found."))
        return _with_sources(caller, [row])[row.pk]


def own_space(caller: MemoryCaller, *, namespace_id: UUID) -> Namespace:
    with tenant([caller.team_id]):
        row = next((one for one in _own_spaces(caller) if one.pk == namespace_id), None)
    if row is None:
        raise NotFound(_("Namespace not found."))
    return row


def words_of(value: object) -> str:
    """A remembered value as a sentence where it is one; anything else as people would write it down."""
    if isinstance(value, Mapping) and value:
        return "\n".join(_member(str(name), one) for name, one in value.items())
    if isinstance(value, list) and value:
        return "\n".join(_beneath("· ", words_of(one)) for one in value)
    return _single(value)


def _member(name: str, value: object) -> str:
    """Beside its name what is short, beneath it what has lines of its own."""
    if not isinstance(value, Mapping | list) or not value:
        return f"{name}: {_single(value)}"
    if isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in value):
        beside = f"{name}: {', '.join(map(_single, value))}"
        if len(beside) <= _A_LINE:
            return beside
    return f"{name}:\n{_beneath('  ', words_of(value))}"


def _single(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value is None or value in ({}, []):
        return _NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _beneath(mark: str, words: str) -> str:
    return mark + words.replace("\n", "\n" + " " * len(mark))


def _own_spaces(caller: MemoryCaller) -> list[Namespace]:
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys have to name the user."))
    user = caller.principal.user_id
    return sorted(_own(caller), key=lambda row: (row.owner_user_id != user, row.text))


def _own(caller: MemoryCaller) -> QuerySet[Namespace]:
    user = caller.principal.user_id
    return Namespace.objects.visible_to(caller.principal).filter(
        Q(owner_user=user) | Q(persona_of=user), team_id=caller.team_id, scope=ScopeChoice.USER
    )


def _newest(caller: MemoryCaller, spaces: Sequence[Namespace]) -> list[Entry]:
    known = {row.pk: row for row in spaces}
    return newest(_own(caller), caller.team_id, timezone.now(), MOST_SHOWN, known=known)


def _said(living: Any, text: str) -> list[Entry]:  # Any: as above
    return list(living.filter(text__icontains=text).order_by("-updated_at", "-id")[:MOST_SHOWN])


def _forgotten_lately(mine: Any) -> tuple[Remembered, ...]:  # Any: as above
    now = timezone.now()
    lasting = Q(expires_at=None) | Q(expires_at__gt=now)
    found = mine.filter(lasting, deleted_at__gt=now - LATELY).order_by("-deleted_at", "-id")
    return tuple(Remembered(row, words_of(row.value)) for row in found[:MOST_FORGOTTEN])


def _with_sources(caller: MemoryCaller, rows: Sequence[Entry]) -> dict[UUID, Remembered]:
    reads = _reads(rows)
    newest = _newest_readers(rows) if reads else {}
    runs = {row.source_run for row in rows} | set(newest.values())
    told = provenance.load_provenance(caller.principal, (), runs).runs
    corrected = _corrected(caller, rows)
    return {
        row.pk: Remembered(
            row,
            words_of(row.value),
            told.get(row.source_run),
            uses,
            corrected.get(row.pk),
            used_at,
            told.get(newest.get(row.pk, "")),
        )
        for row in rows
        for uses, used_at in [reads.get(row.pk, (0, None))]
    }


def _corrected(caller: MemoryCaller, rows: Sequence[Entry]) -> dict[UUID, datetime]:
    """When each was last written anew by hand, by the person themselves; of what was never changed, nothing."""
    changed = [row.pk for row in rows if row.revision > 1]
    if not changed:
        return {}
    found = Revision.objects.unscoped().filter(
        entry__in=changed, actor=caller.principal.actor, operation=Operation.EDIT, run_id=""
    )
    return dict(found.order_by().values_list("entry").annotate(Max("at")))


def _reads(rows: Sequence[Entry]) -> dict[UUID, tuple[int, datetime | None]]:
    """In how many runs each was read, and when last. The rows were admitted before."""
    found = Read.objects.unscoped().filter(entry__in=[row.pk for row in rows])
    counted = (
        found.order_by()
        .values("entry")
        .annotate(runs=Count("run_id", distinct=True), last=Max("at"))
    )
    return {one["entry"]: (one["runs"], one["last"]) for one in counted}


def _newest_readers(rows: Sequence[Entry]) -> dict[UUID, str]:
    found = Read.objects.unscoped().filter(entry__in=[row.pk for row in rows])
    newest = found.order_by("entry_id", "-at", "-id").distinct("entry_id")
    return dict(newest.values_list("entry_id", "run_id"))
