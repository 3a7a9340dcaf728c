"""Reads the audit trail, filtered, paginated and with readable names, and exports it as a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal, check
from accounts.audit import DisplayName
from accounts.models import ApiKey, AuditEntry, Invitation, Team, TeamGroup, User
from accounts.pseudonyms import replace_pseudonyms
from accounts.spreadsheets import escape_formula
from accounts.tenancy import TenantQuerySet, tenant


PAGE_SIZE: Final = 50
BATCH_SIZE: Final = 1000
READ_ACTIONS: Final = ("memory.listed", "memory.recalled")
MAX_CLOCK_STEP: Final = timedelta(hours=1)  # how far the clock may be set back between entries

Format = Literal["jsonl", "csv"]
COLUMNS: Final = ("seq", "at", "actor_kind", "actor", "action", "subject", "success", "detail", "prev_hash", "hash")  # fmt: skip

_NAMED_MODELS: Final[Mapping[str, type[ApiKey | TeamGroup | Invitation]]] = {
    "key": ApiKey,
    "group": TeamGroup,
    "invitation": Invitation,
}


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Filters of the audit trail. An ``action`` that ends with a period, such as ``memory.``, matches its whole family."""

    actor: str = ""
    action: str = ""
    subject: str = ""
    run: str = ""
    node: str = ""
    since: datetime | None = None
    until: datetime | None = None
    success: bool | None = None
    # The actor whose own reads are left out: opening pages fills the trail without changing anything.
    hidden_reader: str = ""

    @property
    def is_active(self) -> bool:
        return replace(self, hidden_reader="") != AuditFilter()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The value of one field before and after."""

    field: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry in readable words. ``changes`` are the values before and after; ``rest`` are the other details."""

    entry: AuditEntry
    actor: DisplayName
    action: str
    subject: DisplayName
    changes: tuple[FieldChange, ...]
    rest: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of lines. ``older`` is the sequence number where the next page begins, or None on the last page."""

    lines: tuple[AuditLine, ...]
    older: int | None


def read_page(
    principal: Principal,
    *,
    team: Team,
    filters: AuditFilter,
    before: int | None = None,
    limit: int = PAGE_SIZE,
) -> AuditPage:
    """Return the newest lines, or those before a sequence number, so that new entries don't move lines between pages."""
    rows = list_entries(principal, team=team, filters=filters, before=before, limit=limit + 1)
    lines = describe_entries(principal, team.pk, rows[:limit])
    return AuditPage(lines, find_next_position(rows, limit))


def list_entries(
    principal: Principal,
    *,
    team: Team,
    filters: AuditFilter = AuditFilter(),
    before: int | None = None,
    limit: int = PAGE_SIZE,
) -> Sequence[AuditEntry]:
    """Return the newest matching entries, or the newest of those before a sequence number."""
    check(principal, "audit.view", team)
    visible = AuditEntry.objects.visible_to(principal).filter(team_id=team.pk)
    rows = _apply_filters(team.pk, visible, filters)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    entries = list(rows.order_by("-seq")[:limit])
    audit.reveal(team.pk, entries)
    return entries


def find_next_position(rows: Sequence[AuditEntry], limit: int) -> int | None:
    """Return where the next page begins, or None on the last page, whose ``rows`` are not more than ``limit``."""
    return rows[limit - 1].seq if len(rows) > limit else None


def describe_entries(
    principal: Principal, team_id: UUID, rows: Sequence[AuditEntry]
) -> tuple[AuditLine, ...]:
    """Return the entries in readable words, with one query for each kind of name."""
    actors = {row.actor for row in rows}
    actor_names = {**_name_actors(actors, team_id), **_name_runs(principal, team_id, actors)}
    subject_names = _name_subjects(principal, team_id, rows)
    return tuple(
        AuditLine(
            row,
            actor_names.get(row.actor) or DisplayName(row.actor),
            str(audit.AUDIT_ACTIONS.get(row.action, row.action)),
            subject_names.get((_get_family(row), row.subject))
            or DisplayName(_replace_erased_persons(row.subject)),
            list_changes(row.detail),
            _list_other_details(row.detail),
        )
        for row in rows
    )


def list_changes(detail: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Return the changes that a detail records: one from ``from`` to ``to``, or one per field of ``before``/``after``."""
    if "from" in detail and "to" in detail:
        return (_build_change("", detail["from"], detail["to"]),)
    was, now = detail.get("before"), detail.get("after")
    if not isinstance(was, dict) or not isinstance(now, dict):
        return (_build_change("", was, now),) if was != now else ()
    fields = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return tuple(_build_change(name, was.get(name), now.get(name)) for name in fields)


def export(
    principal: Principal, *, team: Team, filters: AuditFilter, kind: Format
) -> Iterator[bytes]:
    """Stream all matching entries, oldest first, batch by batch.

    The permission is checked and the export is recorded before the stream starts, so that the file ends with the
    entry of the export; the rows are read while they are sent.
    """
    check(principal, "audit.view", team)
    with tenant([team.pk]):
        detail = {"format": kind, "asked": _describe_filters(filters)}
        audit.record_action(principal, team.pk, "audit.exported", f"team:{team.pk}", **detail)
        last_seq, _hash = audit.read_head(team.pk)
    return _write_batches(team.pk, filters, kind, last_seq)


def _build_change(field: str, was: object, now: object) -> FieldChange:
    return FieldChange(field, _format_value(was), _format_value(now))


def _write_batches(
    team_id: UUID, filters: AuditFilter, kind: Format, last_seq: int
) -> Iterator[bytes]:
    write = _write_csv if kind == "csv" else _write_jsonl
    written_seq = 0
    if kind == "csv":
        yield _write_csv([dict(zip(COLUMNS, COLUMNS, strict=True))])
    while True:
        with tenant([team_id]):
            queryset = AuditEntry.objects.unscoped().filter(team_id=team_id)
            rows = _apply_filters(team_id, queryset, filters)
            rows = rows.filter(seq__gt=written_seq, seq__lte=last_seq).order_by("seq")
            batch = list(rows[:BATCH_SIZE])
            audit.reveal(team_id, batch)
        if not batch:
            return
        written_seq = batch[-1].seq
        yield write([_to_json(row) for row in batch])


def _apply_filters(
    team_id: UUID, rows: TenantQuerySet[AuditEntry], filters: AuditFilter
) -> TenantQuerySet[AuditEntry]:
    subject = filters.subject
    conditions: dict[str, Any] = {  # Any: the values of lookups
        "actor": filters.actor,
        "subject__in": subject and audit.list_written_forms(team_id, [subject])[subject],
        "detail__run": filters.run,
        "detail__node": filters.node,
        "at__gte": filters.since,
        "at__lt": filters.until,
        "success": filters.success,
    }
    set_conditions = {name: value for name, value in conditions.items() if value not in (None, "")}
    rows = rows.filter(**set_conditions)
    if filters.run:
        rows = rows.filter(detail__has_key="run")  # the partial index covers only these rows
    if filters.hidden_reader:
        rows = rows.exclude(actor=filters.hidden_reader, action__in=READ_ACTIONS, success=True)
    rows = _limit_by_time(team_id, rows, filters)
    if filters.action.endswith("."):
        family = [name for name in audit.AUDIT_ACTIONS if name.startswith(filters.action)]
        return rows.filter(action__in=family)
    return rows.filter(action=filters.action) if filters.action else rows


def _limit_by_time(
    team_id: UUID, rows: TenantQuerySet[AuditEntry], filters: AuditFilter
) -> TenantQuerySet[AuditEntry]:
    """Limit the rows by the sequence numbers that belong to the times of the filters.

    Pages are read by sequence number: without these limits, a page of old entries would read all newer entries. Numbers
    grow with time unless the clock is set back, so the limits leave a margin of MAX_CLOCK_STEP.
    """
    numbers = AuditEntry.objects.unscoped().filter(team_id=team_id).values_list("seq", flat=True)
    if filters.since is not None:
        earlier = numbers.filter(at__lt=_shift(filters.since, -MAX_CLOCK_STEP))
        lower_limit = earlier.order_by("-at", "-seq").first()
        rows = rows if lower_limit is None else rows.filter(seq__gt=lower_limit)
    if filters.until is not None:
        later = numbers.filter(at__gte=_shift(filters.until, MAX_CLOCK_STEP))
        upper_limit = later.order_by("at", "seq").first()
        rows = rows if upper_limit is None else rows.filter(seq__lt=upper_limit)
    return rows


def _shift(moment: datetime, duration: timedelta) -> datetime:
    try:
        return moment + duration
    except OverflowError:  # beyond the supported dates
        return moment


def _replace_erased_persons(text: str) -> str:
    """Replace the remaining pseudonyms, which are those of erased people."""
    return replace_pseudonyms(text, _("erased user"))


def _get_family(row: AuditEntry) -> str:
    return row.action.partition(".")[0]


def _name_subjects(
    principal: Principal, team_id: UUID, rows: Sequence[AuditEntry]
) -> dict[tuple[str, str], DisplayName]:
    """Name the subjects with the functions that the apps registered; the keys are family and subject."""
    subjects_by_family: dict[str, set[str]] = {}
    for row in rows:
        subjects_by_family.setdefault(_get_family(row), set()).add(row.subject)
    names: dict[tuple[str, str], DisplayName] = {}
    for family, subjects in subjects_by_family.items():
        namer = audit.NAMERS.get(family)
        family_names = dict(namer(principal, team_id, sorted(subjects))) if namer else {}
        family_names |= _name_actors(subjects - set(family_names), team_id)
        names |= {(family, subject): name for subject, name in family_names.items()}
    return names


def _name_runs(principal: Principal, team_id: UUID, actors: set[str]) -> Mapping[str, DisplayName]:
    """Name the runs among the actors with the function that their app registered."""
    namer = audit.NAMERS.get("run")
    runs = sorted(actor for actor in actors if actor.startswith("run:"))
    return namer(principal, team_id, runs) if namer and runs else {}


def _name_actors(texts: set[str], team_id: UUID) -> dict[str, DisplayName]:
    """Name users, keys, groups, invitations and the team itself; administrators may see all these names."""
    ids = {kind: _parse_ids(texts, kind) for kind in ("user", "team", *_NAMED_MODELS)}
    names: dict[str, DisplayName] = {}
    if ids["user"]:
        # Former members are not named, because their membership rows are deleted.
        users = User.objects.filter(pk__in=ids["user"], memberships__team_id=team_id).distinct()
        names |= {f"user:{user.pk}": DisplayName(str(user)) for user in users}
    for kind, model in _NAMED_MODELS.items():
        if ids[kind]:
            rows = model._base_manager.filter(team_id=team_id, pk__in=ids[kind])
            names |= {f"{kind}:{row.pk}": DisplayName(str(row)) for row in rows}
    if ids["team"]:
        names[f"team:{team_id}"] = DisplayName(str(Team.objects.get(pk=team_id)))
    return names


def _parse_ids(texts: set[str], kind: str) -> list[UUID]:
    ids = []
    for text in texts:
        try:
            if text.startswith(f"{kind}:"):
                ids.append(UUID(text.partition(":")[2]))
        except ValueError:
            continue
    return ids


def _list_other_details(detail: Mapping[str, Any]) -> dict[str, str]:
    changed = {"before", "after"}
    if "from" in detail and "to" in detail:
        changed |= {"from", "to"}
    return {
        name: _replace_erased_persons(_format_value(value))
        for name, value in detail.items()
        if name not in changed
    }


def _format_value(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict) and value and all(type(count) is int for count in value.values()):
        # Counts, for example of a receipt: zeros are left out, because they would hide the other counts.
        return " · ".join(f"{name}: {count}" for name, count in value.items() if count) or "0"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _describe_filters(filters: AuditFilter) -> dict[str, Any]:
    values = {name: getattr(filters, name) for name in filters.__slots__}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if value not in ("", None)
    }


def _to_json(row: AuditEntry) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {"at": row.at.isoformat()}


def _write_jsonl(trees: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(tree, ensure_ascii=False) + "\n" for tree in trees).encode()


def _write_csv(trees: Sequence[Mapping[str, Any]]) -> bytes:
    buffer = io.StringIO()
    rows = ([_escape_cell(tree[name]) for name in COLUMNS] for tree in trees)
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode()


def _escape_cell(value: object) -> str:
    return escape_formula(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
