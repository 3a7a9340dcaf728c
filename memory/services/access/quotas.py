"""What a team lets memory be: which beginnings of namespaces, how many entries and bytes; and how full it is.

An application may have limits of its own, which only narrow the team's (``memory.policies``).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db.models import Count, Max, Sum
from django.utils.translation import gettext as _

from accounts import access
from accounts.errors import NotAllowed
from accounts.tenancy import tenant
from memory.core.errors import InvalidInput
from memory.core.scopes import Scope, parse_namespace, scope_kinds
from memory.models import Namespace, Policy
from memory.policies import DEFAULT, DEFAULT_MAX_NAMESPACES, load_rules
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller


CHANGED: Final = "memory.policy_changed"
VERB: Final = "memory.share"  # as in Django's admin: who decides about sharing decides about limits
MOST: Final = 2**31 - 1
MOST_BYTES: Final = 2**53
LONGEST_PREFIX: Final = 120
LONGEST_APP: Final = 80
MOST_APPS: Final = 100
FULLEST: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """``None``: the installation's own limit holds; of prefixes, that any is allowed."""

    allowed_prefixes: tuple[str, ...] | None = None
    max_entries: int | None = None
    max_value_bytes: int | None = None
    max_namespace_bytes: int | None = None
    max_namespaces: int | None = None
    subjects_write_global: bool | None = None  # an application can forbid it, not allow it


# What holds where a team says nothing.
DEFAULTS: Final = Limits(
    None,
    DEFAULT.max_entries_per_namespace,
    DEFAULT.max_value_bytes,
    DEFAULT.max_namespace_bytes,
    DEFAULT_MAX_NAMESPACES,
    subjects_write_global=False,
)


@dataclass(frozen=True, slots=True)
class Meter:
    """How much there is of how much there may be."""

    used: int
    most: int

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / self.most)) if self.most else 100


@dataclass(frozen=True, slots=True)
class Fullness:
    """Of the whole team; ``fullest`` names those the reader may look into."""

    namespaces: Meter
    entries: int
    bytes: int
    largest_entries: Meter
    largest_bytes: Meter
    fullest: Sequence[Namespace]


def limits_of(caller: MemoryCaller, *, app_id: str = "") -> Limits:
    """The team's own, or an application's. For every member: limits one runs into are no secret."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with tenant([caller.team_id]):
        return _of(_row(caller, app_id))


def in_force(own: Limits) -> Limits:
    """With the installation's own where the team says nothing."""
    values = {name: value for name, value in asdict(own).items() if value is not None}
    return Limits(**{**asdict(DEFAULTS), **values})


def in_force_for(caller: MemoryCaller, *, app_id: str) -> Limits:
    """What holds for an application's memory: as a write asks it."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with tenant([caller.team_id]):
        found = load_rules(caller.team_id, app_id, None)
    return Limits(
        found.policy.allowed_namespace_prefixes,
        found.policy.max_entries_per_namespace,
        found.policy.max_value_bytes,
        found.policy.max_namespace_bytes,
        found.max_namespaces,
        found.subjects_write_global,
    )


@dataclass(frozen=True, slots=True)
class Application:
    """``own``: none where the team's limits hold as they are."""

    app_id: str
    own: Limits | None


def applications(caller: MemoryCaller) -> list[Application]:
    """Those that have limits of their own, and those whose shared memory the reader sees."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with tenant([caller.team_id]):
        rows = Policy.objects.unscoped().filter(team_id=caller.team_id).exclude(app_id="")
        own = {row.app_id: _of(row) for row in rows}
        seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        shared = seen.filter(scope=Scope.GLOBAL).order_by("-byte_count", "text")
        texts = list(shared.values_list("text", flat=True)[:MOST_APPS])
    known = [text.partition(":")[2] for text in texts]
    return [Application(one, own.get(one)) for one in dict.fromkeys([*sorted(own), *known])]


def fullness(caller: MemoryCaller, limits: Limits) -> Fullness:
    access.check(caller.principal, VERB, caller.team_id)
    most = in_force(limits)
    with tenant([caller.team_id]):
        rows = Namespace.objects.unscoped().filter(team_id=caller.team_id)
        sums = rows.aggregate(
            count=Count("id"),
            entries=Sum("entry_count", default=0),
            bytes=Sum("byte_count", default=0),
            largest=Max("entry_count", default=0),
            widest=Max("byte_count", default=0),
        )
        seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        fullest = list(seen.filter(entry_count__gt=0).order_by("-byte_count", "text")[:FULLEST])
    return Fullness(
        Meter(sums["count"], most.max_namespaces or 0),
        sums["entries"],
        sums["bytes"],
        Meter(sums["largest"], most.max_entries or 0),
        Meter(sums["widest"], most.max_namespace_bytes or 0),
        fullest,
    )


def change_limits(caller: MemoryCaller, limits: Limits, *, app_id: str = "") -> Limits:
    """All of them at once; what is over a new limit already stays, and takes nothing more."""
    _check_may(caller, app_id)
    _check(limits)
    _check_app(limits, app_id)
    with tenant([caller.team_id]):
        row = _locked(caller, app_id)
        before = _tree(_of(row))
        for name, value in asdict(limits).items():
            setattr(row, name, list(value) if isinstance(value, tuple) else value)
        row.save()
        after = _tree(limits)
        if before != after:
            _note(caller, app_id, before, after)
    return limits


def follow_team(caller: MemoryCaller, *, app_id: str) -> None:
    """An application's own limits end."""
    _check_may(caller, app_id)
    with tenant([caller.team_id]):
        row = _row(caller, app_id, lock=True) if app_id else None
        if row is not None:
            _note(caller, app_id, _tree(_of(row)), None)
            row.delete()


def _check_may(caller: MemoryCaller, app_id: str) -> None:
    """Who is refused, and is of the team, stands in its trail."""
    try:
        access.check(caller.principal, VERB, caller.team_id)
    except NotAllowed as fault:
        if caller.team_id in caller.principal.team_ids:
            record_refusal(caller, CHANGED, _subject(caller, app_id), fault)
        raise


def _note(caller: MemoryCaller, app_id: str, before: Any, after: Any) -> None:  # Any: JSON
    record(caller, CHANGED, _subject(caller, app_id), {"before": before, "after": after})


def _subject(caller: MemoryCaller, app_id: str) -> str:
    return f"global:{app_id[:LONGEST_APP]}" if app_id else f"team:{caller.team_id}"


def _row(caller: MemoryCaller, app_id: str, *, lock: bool = False) -> Policy | None:
    rows = Policy.objects.unscoped().filter(team_id=caller.team_id, app_id=app_id)
    return (rows.select_for_update() if lock else rows).first()


def _locked(caller: MemoryCaller, app_id: str) -> Policy:
    """Made if it is new: two who save the first limits at once meet at one row. It may go before it is locked."""
    while True:
        Policy.objects.unscoped().get_or_create(team_id=caller.team_id, app_id=app_id)
        if row := _row(caller, app_id, lock=True):
            return row


def _of(row: Policy | None) -> Limits:
    if row is None:
        return Limits()
    prefixes = row.allowed_prefixes
    return Limits(
        None if prefixes is None else tuple(prefixes),
        row.max_entries,
        row.max_value_bytes,
        row.max_namespace_bytes,
        row.max_namespaces,
        row.subjects_write_global,
    )


def _check(limits: Limits) -> None:
    for name, most in (
        ("max_entries", MOST),
        ("max_value_bytes", MOST),
        ("max_namespace_bytes", MOST_BYTES),
        ("max_namespaces", MOST),
    ):
        value = getattr(limits, name)
        if value is not None and not 0 <= value <= most:
            raise InvalidInput(_("%(name)s: must be a whole number, 0 or more.") % {"name": name})
    for prefix in limits.allowed_prefixes or ():
        if len(prefix) > LONGEST_PREFIX or not _begins_some(prefix):
            raise InvalidInput(
                _("allowed_prefixes: no namespace starts with %(prefix)s.") % {"prefix": prefix}
            )


def _check_app(limits: Limits, app_id: str) -> None:
    if not app_id:
        return
    if len(app_id) > LONGEST_APP:
        raise InvalidInput(_("app: at most %(most)s characters.") % {"most": LONGEST_APP})
    parse_namespace(f"global:{app_id}")
    if limits.max_namespaces is not None:
        raise InvalidInput(_("max_namespaces: applies only to the whole team."))


def _begins_some(prefix: str) -> bool:
    known = [f"{kind.prefix}:" for kind in scope_kinds()]
    return bool(prefix) and any(prefix.startswith(one) or one.startswith(prefix) for one in known)


def _tree(limits: Limits) -> dict[str, Any]:  # Any: JSON
    prefixes = limits.allowed_prefixes
    return {**asdict(limits), "allowed_prefixes": None if prefixes is None else list(prefixes)}
