"""Pausing and resuming memory about a person.

People pause their own memory; the memory about an external user is paused by the key that names them.
"""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import reading
from config.retry import retry_on_conflict
from config.timestamps import to_utc
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.core.scopes import resolve_namespace
from memory.models import Namespace
from memory.models.namespaces import PauseChoice
from memory.providers.postgres import rows
from memory.services.access.pause_state import Pause, PauseKind, get_active_pause
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace


def get_own_namespace(caller: MemoryCaller) -> str:
    """Return the name of the caller's own namespace. Keys have none."""
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys have to name the user."))
    return resolve_namespace("user", {"user_id": str(caller.principal.user_id)})


@retry_on_conflict
def get_subject_pause(caller: MemoryCaller, *, subject: str) -> Pause | None:
    """Return the active pause of an external user, whom the calling key names, or None. The read is audited."""
    text = _resolve_namespace(caller, subject)
    with open_namespace(caller, "view", "memory.listed", namespace=text) as access:
        # access.target.row is None while recalling is paused, so the row is read directly.
        return get_active_pause(rows.find_namespace(caller.team_id, access.text), access.now)


def get_own_pause(caller: MemoryCaller) -> Pause | None:
    with reading([caller.team_id]):
        row = rows.find_namespace(caller.team_id, get_own_namespace(caller))
    return get_active_pause(row, timezone.now())


def is_run_paused(caller: MemoryCaller) -> bool:
    """Return whether the person for whom the run is has paused remembering. False for a run without a person."""
    user_id = caller.identity.get("user_id")
    if not user_id:
        return False
    with reading([caller.team_id]):
        row = rows.find_namespace(caller.team_id, resolve_namespace("user", {"user_id": user_id}))
    active_pause = get_active_pause(row, timezone.now())
    return active_pause is not None and active_pause.pauses_remembering


@retry_on_conflict
def pause(
    caller: MemoryCaller,
    *,
    what: PauseKind = "both",
    until: datetime | None = None,
    subject: str | None = None,
) -> Pause:
    """Pause the caller's own memory until the given time or until it is resumed. A new pause replaces the previous one.

    An API key has no memory of its own and must name an external user in ``subject``.
    """
    if what not in (PauseChoice.REMEMBERING, PauseChoice.RECALLING, PauseChoice.BOTH):
        raise InvalidInput("what: use remembering, recalling, or both.")
    text = _resolve_namespace(caller, subject)
    with open_namespace(caller, "forget", "memory.paused", namespace=text) as access:
        until = _convert_to_utc(until)
        if until is not None and until <= access.now:
            raise InvalidInput(_("until: must be in the future."))
        row = access.claim()
        _save_pause(row, what, access.now, until)
        access.detail.update(what=what, until=until.isoformat() if until else "")
        return Pause(what, access.now, until)


@retry_on_conflict
def resume(caller: MemoryCaller, *, subject: str | None = None) -> bool:
    """End the pause, and return whether there was an active one. ``subject`` is as in ``pause``."""
    text = _resolve_namespace(caller, subject)
    with open_namespace(caller, "forget", "memory.resumed", namespace=text) as access:
        row = access.lock()
        active_pause = get_active_pause(row, access.now)
        access.detail.update(what=active_pause.what if active_pause else "")
        if row is not None:
            _save_pause(row, PauseChoice.NOTHING, None, None)
        return active_pause is not None


def _resolve_namespace(caller: MemoryCaller, subject: str | None) -> str:
    """Return the caller's own namespace or, for a key, the subject's. Raise NotFound if a person names one."""
    if subject is None:
        return get_own_namespace(caller)
    if caller.principal.kind != "key":
        raise NotFound(_("User not found."))
    return resolve_namespace("user", {"user_id": subject})


def _convert_to_utc(until: datetime | None) -> datetime | None:
    try:
        return to_utc(until) if until else None
    except ValueError:
        raise InvalidInput(_("until: too far in the future.")) from None


def _save_pause(row: Namespace, kind: str, since: datetime | None, until: datetime | None) -> None:
    row.paused, row.paused_since, row.paused_until = kind, since, until
    row.save(update_fields=["paused", "paused_since", "paused_until"])
