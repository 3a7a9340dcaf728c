"""What a team lets memory be: which beginnings of namespaces, how many entries and bytes; and how full it is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db.models import Count, Max, Sum
from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.tenancy import tenant
from memory.core.errors import InvalidInput
from memory.core.scopes import scope_kinds
from memory.models import Namespace, Policy
from memory.policies import DEFAULT, DEFAULT_MAX_NAMESPACES
from memory.services.caller import MemoryCaller


VERB: Final = "memory.share"  # as in Django's admin: who decides about sharing decides about limits
MOST: Final = 2**31 - 1
MOST_BYTES: Final = 2**53
LONGEST_PREFIX: Final = 120
FULLEST: Final = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """``None``: the installation's own limit holds; of prefixes, that any is allowed."""

    allowed_prefixes: tuple[str, ...] | None = None
    max_entries: int | None = None
    max_value_bytes: int | None = None
    max_namespace_bytes: int | None = None
    max_namespaces: int | None = None
    subjects_write_global: bool = False


# What holds where a team says nothing.
DEFAULTS: Final = Limits(
    None,
    DEFAULT.max_entries_per_namespace,
    DEFAULT.max_value_bytes,
    DEFAULT.max_namespace_bytes,
    DEFAULT_MAX_NAMESPACES,
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


def limits_of(caller: MemoryCaller) -> Limits:
    """For every member: limits one runs into are no secret."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with tenant([caller.team_id]):
        return _of(_row(caller))


def in_force(own: Limits) -> Limits:
    """With the installation's own where the team says nothing."""
    values = {name: value for name, value in asdict(own).items() if value is not None}
    return Limits(**{**asdict(DEFAULTS), **values})


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


def change_limits(caller: MemoryCaller, limits: Limits) -> Limits:
    """All of them at once; what is over a new limit already stays, and takes nothing more."""
    access.check(caller.principal, VERB, caller.team_id)
    _check(limits)
    with tenant([caller.team_id]):
        row = _row(caller, lock=True) or Policy(team_id=caller.team_id, app_id="")
        before = _tree(_of(row))
        for name, value in asdict(limits).items():
            setattr(row, name, list(value) if isinstance(value, tuple) else value)
        row.save()
        after = _tree(limits)
        if before != after:
            audit.record(
                team_id=caller.team_id,
                actor=caller.principal.actor,
                actor_kind=caller.principal.kind,
                action="memory.policy_changed",
                subject=f"team:{caller.team_id}",
                detail={"before": before, "after": after},
            )
    return limits


def _row(caller: MemoryCaller, *, lock: bool = False) -> Policy | None:
    rows = Policy.objects.unscoped().filter(team_id=caller.team_id, app_id="")
    return (rows.select_for_update() if lock else rows).first()


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
            raise InvalidInput(_("%(name)s: a whole number from 0.") % {"name": name})
    for prefix in limits.allowed_prefixes or ():
        if len(prefix) > LONGEST_PREFIX or not _begins_some(prefix):
            raise InvalidInput(
                _("allowed_prefixes: no namespace begins with %(prefix)s.") % {"prefix": prefix}
            )


def _begins_some(prefix: str) -> bool:
    known = [f"{kind.prefix}:" for kind in scope_kinds()]
    return bool(prefix) and any(prefix.startswith(one) or one.startswith(prefix) for one in known)


def _tree(limits: Limits) -> dict[str, Any]:  # Any: JSON
    prefixes = limits.allowed_prefixes
    return {**asdict(limits), "allowed_prefixes": None if prefixes is None else list(prefixes)}
