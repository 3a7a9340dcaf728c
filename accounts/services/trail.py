"""Reading the audit trail: narrowed, page by page, in people's words; and taking it along as a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal, check
from accounts.audit import Told
from accounts.models import ApiKey, AuditEntry, Invitation, Team, TeamGroup, User
from accounts.pseudonyms import worded
from accounts.tenancy import TenantQuerySet, tenant


PAGE: Final = 50
BATCH: Final = 1000
CLOCK_SET_BACK: Final = timedelta(hours=1)  # how far at most between two entries

Format = Literal["jsonl", "csv"]
COLUMNS: Final = ("seq", "at", "actor_kind", "actor", "action", "subject", "success", "detail", "prev_hash", "hash")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What the trail is narrowed by. ``action`` may be a whole family: ``memory.`` ends with its point."""

    actor: str = ""
    action: str = ""
    subject: str = ""
    run: str = ""
    node: str = ""
    since: datetime | None = None
    until: datetime | None = None
    success: bool | None = None

    @property
    def is_anything(self) -> bool:
        return self != Asked()


@dataclass(frozen=True, slots=True)
class Change:
    """One field before and after."""

    field: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Line:
    """An entry in people's words; ``changes`` where its detail says what was before and after."""

    entry: AuditEntry
    actor: Told
    action: str
    subject: Told
    changes: tuple[Change, ...]
    rest: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Page:
    """``older`` is where the next one goes on, by sequence number; none: there is nothing older."""

    lines: tuple[Line, ...]
    older: int | None


def read(
    principal: Principal, *, team: Team, asked: Asked, before: int | None = None, limit: int = PAGE
) -> Page:
    """Newest first. By sequence, so that what is written meanwhile moves nothing."""
    found = entries(principal, team=team, asked=asked, before=before, limit=limit + 1)
    shown = found[:limit]
    return Page(lines_of(principal, team.pk, shown), shown[-1].seq if len(found) > limit else None)


def entries(
    principal: Principal, *, team: Team, asked: Asked, before: int | None = None, limit: int = PAGE
) -> Sequence[AuditEntry]:
    check(principal, "audit.view", team)
    visible = AuditEntry.objects.visible_to(principal).filter(team_id=team.pk)
    rows = _narrowed(team.pk, visible, asked)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    found = list(rows.order_by("-seq")[:limit])
    audit.reveal(team.pk, found)
    return found


def lines_of(principal: Principal, team_id: UUID, rows: Sequence[AuditEntry]) -> tuple[Line, ...]:
    """As many questions as there are kinds of names."""
    texts = {row.actor for row in rows}
    actors = {**_actors(texts, team_id), **_runs(principal, team_id, texts)}
    subjects = _subjects(principal, team_id, rows)
    return tuple(
        Line(
            row,
            actors.get(row.actor, Told(row.actor)),
            str(audit.AUDIT_ACTIONS.get(row.action, row.action)),
            subjects.get((_family(row), row.subject), Told(_worded(row.subject))),
            changes_in(row.detail),
            {name: _worded(value) for name, value in _rest(row.detail).items()},
        )
        for row in rows
    )


def changes_in(detail: Mapping[str, Any]) -> tuple[Change, ...]:
    """``before`` and ``after`` field by field, or ``from`` and ``to``."""
    if "from" in detail and "to" in detail:
        return (Change("", _said(detail["from"]), _said(detail["to"])),)
    was, now = detail.get("before"), detail.get("after")
    if not isinstance(was, dict) or not isinstance(now, dict):
        return (Change("", _said(was), _said(now)),) if was != now else ()
    fields = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return tuple(Change(name, _said(was.get(name)), _said(now.get(name))) for name in fields)


def export(principal: Principal, *, team: Team, asked: Asked, kind: Format) -> Iterator[bytes]:
    """All of it, oldest first, batch by batch; that it was taken stands in the trail, and in the file as its last line.

    The check and the record are made at once, the rows are read as they are sent.
    """
    check(principal, "audit.view", team)
    with tenant([team.pk]):
        audit.record(
            team_id=team.pk,
            actor=principal.actor,
            actor_kind=principal.kind,
            action="audit.exported",
            subject=f"team:{team.pk}",
            detail={"format": kind, "asked": _said_of(asked)},
        )
        last, _hash = audit.head(team.pk)
    return _batches(team.pk, asked, kind, last)


def _batches(team_id: UUID, asked: Asked, kind: Format, last: int) -> Iterator[bytes]:
    write = _AS[kind]
    after = 0
    if kind == "csv":
        yield _csv([dict(zip(COLUMNS, COLUMNS, strict=True))])
    while True:
        with tenant([team_id]):
            whole = AuditEntry.objects.unscoped().filter(team_id=team_id)
            rows = _narrowed(team_id, whole, asked)
            batch = list(rows.filter(seq__gt=after, seq__lte=last).order_by("seq")[:BATCH])
            audit.reveal(team_id, batch)
        if not batch:
            return
        after = batch[-1].seq
        yield write([_tree(row) for row in batch])


def _narrowed(
    team_id: UUID, rows: TenantQuerySet[AuditEntry], asked: Asked
) -> TenantQuerySet[AuditEntry]:
    wanted: dict[str, Any] = {  # Any: what a lookup takes
        "actor": asked.actor or None,
        "subject__in": audit.as_written(team_id, [asked.subject])[asked.subject]
        if asked.subject
        else None,
        "detail__run": asked.run or None,
        "detail__node": asked.node or None,
        "at__gte": asked.since,
        "at__lt": asked.until,
        "success": asked.success,
    }
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    if asked.run:
        rows = rows.filter(detail__has_key="run")  # the index holds no others
    rows = _within(team_id, rows, asked)
    if asked.action.endswith("."):
        family = [name for name in audit.AUDIT_ACTIONS if name.startswith(asked.action)]
        return rows.filter(action__in=family)
    return rows.filter(action=asked.action) if asked.action else rows


def _within(
    team_id: UUID, rows: TenantQuerySet[AuditEntry], asked: Asked
) -> TenantQuerySet[AuditEntry]:
    """Moments as numbers too, which pages go by: else one of long ago reads all that came since.

    Numbers grow with time, unless the clock is set back; by an hour it may be, the moments themselves decide. What
    was written an hour before the one end or after the other is on its own side of every line in between.
    """
    numbered = AuditEntry.objects.unscoped().filter(team_id=team_id).values_list("seq", flat=True)
    if asked.since is not None:
        before = numbered.filter(at__lt=_moved(asked.since, -CLOCK_SET_BACK))
        last = before.order_by("-at", "-seq").first()
        rows = rows if last is None else rows.filter(seq__gt=last)
    if asked.until is not None:
        after = numbered.filter(at__gte=_moved(asked.until, CLOCK_SET_BACK))
        first = after.order_by("at", "seq").first()
        rows = rows if first is None else rows.filter(seq__lt=first)
    return rows


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:  # at an end of time
        return moment


def _worded(text: str) -> str:
    """Pseudonyms are left of those alone whose keys are gone."""
    return worded(text, _("somebody who was erased"))


def _family(row: AuditEntry) -> str:
    return row.action.partition(".")[0]


def _subjects(
    principal: Principal, team_id: UUID, rows: Sequence[AuditEntry]
) -> dict[tuple[str, str], Told]:
    by_family: dict[str, set[str]] = {}
    for row in rows:
        by_family.setdefault(_family(row), set()).add(row.subject)
    found: dict[tuple[str, str], Told] = {}
    for family, texts in by_family.items():
        namer = audit.NAMERS.get(family)
        named = dict(namer(principal, team_id, sorted(texts))) if namer else {}
        named |= _actors(texts - set(named), team_id)
        found |= {(family, text): told for text, told in named.items()}
    return found


def _runs(principal: Principal, team_id: UUID, texts: set[str]) -> Mapping[str, Told]:
    """As the app that has runs calls them."""
    namer, runs = audit.NAMERS.get("run"), sorted(one for one in texts if one.startswith("run:"))
    return namer(principal, team_id, runs) if namer and runs else {}


def _actors(texts: set[str], team_id: UUID) -> dict[str, Told]:
    """People, keys, groups, invitations and the team itself; admins may know them all."""
    ids = {kind: _ids(texts, kind) for kind in ("user", "key", "group", "invitation", "team")}
    found: dict[str, Told] = {}
    if ids["user"]:
        people = User.objects.filter(pk__in=ids["user"])
        # Somebody who left is named no more: only their rows say that they were here.
        here = Q(memberships__team_id=team_id)
        found |= {f"user:{one.pk}": Told(str(one)) for one in people.filter(here).distinct()}
    for kind, model in _MODELS.items():
        if ids[kind]:
            rows = model._base_manager.filter(team_id=team_id, pk__in=ids[kind])
            found |= {f"{kind}:{row.pk}": Told(str(row)) for row in rows}
    found |= {f"team:{team_id}": Told(str(Team.objects.get(pk=team_id)))} if ids["team"] else {}
    return found


_MODELS: Final[Mapping[str, type[ApiKey | TeamGroup | Invitation]]] = {
    "key": ApiKey,
    "group": TeamGroup,
    "invitation": Invitation,
}


def _ids(texts: set[str], kind: str) -> list[UUID]:
    found = []
    for text in texts:
        try:
            if text.startswith(f"{kind}:"):
                found.append(UUID(text.partition(":")[2]))
        except ValueError:
            continue
    return found


def _rest(detail: Mapping[str, Any]) -> dict[str, str]:
    changed = {"before", "after"} | (
        {"from", "to"} if "from" in detail and "to" in detail else set()
    )
    return {name: _said(value) for name, value in detail.items() if name not in changed}


def _said(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict) and value and all(type(one) is int for one in value.values()):
        # Counts, of a receipt say: most are none, and hide those that aren't.
        return " · ".join(f"{name}: {one}" for name, one in value.items() if one) or "0"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _said_of(asked: Asked) -> dict[str, Any]:
    chosen = {name: getattr(asked, name) for name in asked.__slots__}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in chosen.items()
        if value not in ("", None)
    }


def _tree(row: AuditEntry) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {"at": row.at.isoformat()}


def _jsonl(trees: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(tree, ensure_ascii=False) + "\n" for tree in trees).encode()


def _csv(trees: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([_cell(tree[name]) for name in COLUMNS] for tree in trees)
    return out.getvalue().encode()


def _cell(value: object) -> str:
    """A spreadsheet takes what begins like a formula for one; an apostrophe before it says it is none."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


_AS = {"jsonl": _jsonl, "csv": _csv}
