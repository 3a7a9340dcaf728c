"""A team's limits for memory, of namespace prefixes, entries and bytes, and their usage.

An application may have separate limits, which only narrow the team's (``memory.policies``).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from django.db.models import Count, Max, Sum
from django.utils.translation import gettext as _

from accounts import access
from accounts.errors import NotAllowed
from accounts.tenancy import reading, tenant
from memory.core.errors import InvalidInput
from memory.core.identifiers import escape, parse_id
from memory.core.scopes import Scope, list_scope_kinds, parse_namespace
from memory.models import Namespace, Policy
from memory.policies import DEFAULT, DEFAULT_MAX_NAMESPACES, load_rules
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller, select_visible


POLICY_CHANGED: Final = "memory.policy_changed"
CHANGE_VERB: Final = "memory.share"  # members who may share may set limits, as in Django's admin
MAX_COUNT: Final = 2**31 - 1
MAX_BYTES: Final = 2**53
MAX_PREFIX_LENGTH: Final = 120
MAX_APP_LENGTH: Final = 80
MAX_SHARED_APPS: Final = 100
MAX_LISTED_NAMESPACES: Final = 8
TIGHT_SHARE: Final = 0.9  # of a limit that is nearly reached

_MAXIMA: Final = {
    "max_entries": MAX_COUNT,
    "max_value_bytes": MAX_COUNT,
    "max_namespace_bytes": MAX_BYTES,
    "max_namespaces": MAX_COUNT,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """A set of limits. None means that the installation's default applies, and for prefixes that all are allowed."""

    allowed_prefixes: tuple[str, ...] | None = None
    max_entries: int | None = None
    max_value_bytes: int | None = None
    max_namespace_bytes: int | None = None
    max_namespaces: int | None = None
    subjects_write_global: bool | None = None  # an application can only forbid it


# The limits that apply where a team sets none.
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
    """The used amount of a limit and the limit itself, which is None if there is none."""

    used: int
    most: int | None

    @property
    def share(self) -> float:
        """Return the used share of the limit, from 0 to 1 even if more is used. Without a limit it is 0."""
        return min(1.0, self.used / self.most) if self.most else float(self.most == 0)

    @property
    def percent(self) -> int:
        return round(self.share * 100)

    @property
    def is_tight(self) -> bool:
        return self.most is not None and self.share >= TIGHT_SHARE


@dataclass(frozen=True, slots=True)
class TeamUsage:
    """The usage of the whole team. ``fullest`` has the largest of the namespaces that the caller may view."""

    namespaces: Meter
    entries: int
    bytes: int
    largest_entries: Meter
    largest_bytes: Meter
    fullest: Sequence[Namespace]


@dataclass(frozen=True, slots=True)
class ApplicationLimits:
    """An application and its own limits, or None if only the team's limits apply to it."""

    app_id: str
    limits: Limits | None


def get_limits(caller: MemoryCaller, *, app_id: str = "") -> Limits:
    """Return the team's limits or an application's. Every member may see them."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with reading([caller.team_id]):
        return _build_limits(_find_policy(caller, app_id))


def apply_defaults(limits: Limits) -> Limits:
    """Fill in the installation's defaults for limits that the team doesn't set."""
    values = {name: value for name, value in asdict(limits).items() if value is not None}
    return Limits(**{**asdict(DEFAULTS), **values})


def get_effective_limits(caller: MemoryCaller, *, app_id: str) -> Limits:
    """Return the limits that a write of the application is checked against."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with reading([caller.team_id]):
        rules = load_rules(caller.team_id, app_id, None)
    return Limits(
        rules.policy.allowed_namespace_prefixes,
        rules.policy.max_entries_per_namespace,
        rules.policy.max_value_bytes,
        rules.policy.max_namespace_bytes,
        rules.max_namespaces,
        rules.subjects_write_global,
    )


def list_applications(caller: MemoryCaller) -> list[ApplicationLimits]:
    """Return the applications that have limits of their own or whose shared memory the caller may view."""
    access.check(caller.principal, "memory.view", caller.team_id)
    with reading([caller.team_id]):
        rows = Policy.objects.unscoped().filter(team_id=caller.team_id).exclude(app_id="")
        limits_by_app = {row.app_id: _build_limits(row) for row in rows}
        visible = select_visible(caller, Namespace)
        shared = visible.filter(scope=Scope.GLOBAL).order_by("-byte_count", "text")
        texts = list(shared.values_list("text", flat=True)[:MAX_SHARED_APPS])
    shared_ids = [parse_namespace(text).ids[0] for text in texts]
    return [
        ApplicationLimits(app_id, limits_by_app.get(app_id))
        for app_id in dict.fromkeys([*sorted(limits_by_app), *shared_ids])
    ]


def measure_usage(caller: MemoryCaller, limits: Limits) -> TeamUsage:
    """Return the team's usage of these limits. Only members who may change limits may see it."""
    access.check(caller.principal, CHANGE_VERB, caller.team_id)
    effective = apply_defaults(limits)
    with tenant([caller.team_id]):
        rows = Namespace.objects.unscoped().filter(team_id=caller.team_id)
        rows = rows.exclude(scope__in=RUN_SCOPES)
        sums = rows.aggregate(
            count=Count("id"),
            entries=Sum("entry_count", default=0),
            bytes=Sum("byte_count", default=0),
            largest=Max("entry_count", default=0),
            widest=Max("byte_count", default=0),
        )
        visible = select_visible(caller, Namespace).exclude(scope__in=RUN_SCOPES)
        filled = visible.filter(entry_count__gt=0).order_by("-byte_count", "text")
        fullest = list(filled[:MAX_LISTED_NAMESPACES])
    return TeamUsage(
        Meter(sums["count"], effective.max_namespaces or 0),
        sums["entries"],
        sums["bytes"],
        Meter(sums["largest"], effective.max_entries or 0),
        Meter(sums["widest"], effective.max_namespace_bytes or 0),
        fullest,
    )


def change_limits(caller: MemoryCaller, limits: Limits, *, app_id: str = "") -> Limits:
    """Replace all limits at once. Existing entries beyond a new limit stay, but no more can be written."""
    _check_permission(caller, app_id)
    _check_limits(limits)
    _check_application(limits, app_id)
    with tenant([caller.team_id]):
        row = _lock_policy(caller, app_id)
        before = _serialize_limits(_build_limits(row))
        for name, value in asdict(limits).items():
            setattr(row, name, list(value) if isinstance(value, tuple) else value)
        row.save()
        after = _serialize_limits(limits)
        if before != after:
            _record_change(caller, app_id, before, after)
    return limits


def remove_application_limits(caller: MemoryCaller, *, app_id: str) -> None:
    """Remove an application's own limits, so that only the team's apply. Without any, nothing happens."""
    _check_permission(caller, app_id)
    with tenant([caller.team_id]):
        row = _find_policy(caller, app_id, lock=True) if app_id else None
        if row is not None:
            _record_change(caller, app_id, _serialize_limits(_build_limits(row)), None)
            row.delete()


def _check_permission(caller: MemoryCaller, app_id: str) -> None:
    """Check that the caller may change limits, and record a refusal of a member in the audit log."""
    try:
        access.check(caller.principal, CHANGE_VERB, caller.team_id)
    except NotAllowed as fault:
        if caller.team_id in caller.principal.team_ids:
            record_refusal(caller, POLICY_CHANGED, _format_subject(caller, app_id), fault)
        raise


def _record_change(caller: MemoryCaller, app_id: str, before: Any, after: Any) -> None:  # Any: JSON
    change = {"before": before, "after": after}
    record(caller, POLICY_CHANGED, _format_subject(caller, app_id), change)


def _format_subject(caller: MemoryCaller, app_id: str) -> str:
    return f"global:{escape(app_id[:MAX_APP_LENGTH])}" if app_id else f"team:{caller.team_id}"


def _find_policy(caller: MemoryCaller, app_id: str, *, lock: bool = False) -> Policy | None:
    rows = Policy.objects.unscoped().filter(team_id=caller.team_id, app_id=app_id)
    return (rows.select_for_update() if lock else rows).first()


def _lock_policy(caller: MemoryCaller, app_id: str) -> Policy:
    """Return the locked row, created if it is missing or another transaction deletes it before it is locked."""
    while True:
        Policy.objects.unscoped().get_or_create(team_id=caller.team_id, app_id=app_id)
        if row := _find_policy(caller, app_id, lock=True):
            return row


def _build_limits(row: Policy | None) -> Limits:
    if row is None:
        return Limits()
    values = {field.name: getattr(row, field.name) for field in fields(Limits)}
    prefixes = row.allowed_prefixes
    return Limits(**{**values, "allowed_prefixes": None if prefixes is None else tuple(prefixes)})


def _check_limits(limits: Limits) -> None:
    for name, maximum in _MAXIMA.items():
        value = getattr(limits, name)
        if value is not None and not 0 <= value <= maximum:
            raise InvalidInput(_("%(name)s: must be a whole number, 0 or more.") % {"name": name})
    for prefix in limits.allowed_prefixes or ():
        if len(prefix) > MAX_PREFIX_LENGTH or not _is_namespace_prefix(prefix):
            raise InvalidInput(
                _("allowed_prefixes: no namespace starts with %(prefix)s.") % {"prefix": prefix}
            )


def _check_application(limits: Limits, app_id: str) -> None:
    if not app_id:
        return
    if len(app_id) > MAX_APP_LENGTH:
        raise InvalidInput(_("app: at most %(most)s characters.") % {"most": MAX_APP_LENGTH})
    parse_id(app_id, "app")
    if limits.max_namespaces is not None:
        raise InvalidInput(_("max_namespaces: applies only to the whole team."))


def _is_namespace_prefix(prefix: str) -> bool:
    scopes = [f"{kind.prefix}:" for kind in list_scope_kinds()]
    return bool(prefix) and any(
        prefix.startswith(scope) or scope.startswith(prefix) for scope in scopes
    )


def _serialize_limits(limits: Limits) -> dict[str, Any]:  # Any: JSON
    prefixes = limits.allowed_prefixes
    return {**asdict(limits), "allowed_prefixes": None if prefixes is None else list(prefixes)}
