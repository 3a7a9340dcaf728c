"""Pause and resume what is kept about somebody: what is left off, since when, until when.

People do it for themselves; outside people by the programme that names them.
"""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from config.timestamps import to_utc
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.core.scopes import resolve_namespace
from memory.models import Namespace
from memory.models.namespaces import PauseChoice
from memory.providers.postgres import rows
from memory.services.access.pause_state import Pause, What, pause_of
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway


def own_namespace(caller: MemoryCaller) -> str:
    """The name of what is kept about the person who asks; a programme is nobody."""
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys have to name the user."))
    return resolve_namespace("user", {"user_id": str(caller.principal.user_id)})


@retry_on_conflict
def pause_for(caller: MemoryCaller, *, subject: str) -> Pause | None:
    """What an outside person told the programme that names them; a look at it is in the trail."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=_namespace(caller, subject)
    ) as access:
        # A door to what is left off shows no row.
        return pause_of(rows.find_namespace(caller.team_id, access.text), access.now)


def own_pause(caller: MemoryCaller) -> Pause | None:
    with tenant([caller.team_id]):
        return pause_of(rows.find_namespace(caller.team_id, own_namespace(caller)), timezone.now())


def is_run_paused(caller: MemoryCaller) -> bool:
    """Whether the person a run is for wants nothing learnt from it, wherever it would be put."""
    who = caller.identity.get("user_id")
    if not who:
        return False
    with tenant([caller.team_id]):
        row = rows.find_namespace(caller.team_id, resolve_namespace("user", {"user_id": who}))
        pause = pause_of(row, timezone.now())
    return pause is not None and pause.remembering


@retry_on_conflict
def pause(
    caller: MemoryCaller,
    *,
    what: What = "both",
    until: datetime | None = None,
    subject: str | None = None,
) -> Pause:
    """Told anew, it replaces what was told before. No ``until``: until it is resumed.

    ``subject``: whom a programme means, which has no memory of its own to pause.
    """
    if what not in (PauseChoice.REMEMBERING, PauseChoice.RECALLING, PauseChoice.BOTH):
        raise InvalidInput("what: use remembering, recalling, or both.")
    place = _namespace(caller, subject)
    with MemoryGateway(caller).open_namespace("forget", "memory.paused", namespace=place) as access:
        until = _kept(until)
        if until is not None and until <= access.now:
            raise InvalidInput(_("until: must be in the future."))
        row = access.claim()
        row.paused, row.paused_since, row.paused_until = what, access.now, until
        _save(row)
        access.detail.update(what=what, until=until.isoformat() if until else "")
        return Pause(what, access.now, until)


@retry_on_conflict
def resume(caller: MemoryCaller, *, subject: str | None = None) -> bool:
    """Whether anything was paused."""
    place = _namespace(caller, subject)
    with MemoryGateway(caller).open_namespace(
        "forget", "memory.resumed", namespace=place
    ) as access:
        row = access.lock()
        was = pause_of(row, access.now)
        access.detail.update(what=was.what if was else "")
        if row is not None:
            row.paused, row.paused_since, row.paused_until = PauseChoice.NOTHING, None, None
            _save(row)
        return was is not None


def _namespace(caller: MemoryCaller, subject: str | None) -> str:
    """Theirs who asks, or whom a programme names. What was shared with somebody is not theirs to pause."""
    if subject is None:
        return own_namespace(caller)
    if caller.principal.kind != "key":
        raise NotFound(_("User not found."))
    return resolve_namespace("user", {"user_id": subject})


def _kept(until: datetime | None) -> datetime | None:
    try:
        return to_utc(until) if until else None
    except ValueError:
        raise InvalidInput(_("until: too far in the future.")) from None


def _save(row: Namespace) -> None:
    row.save(update_fields=["paused", "paused_since", "paused_until"])
