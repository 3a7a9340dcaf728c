"""Notes for whom the run is that is about to write shared memory."""

from typing import Final
from uuid import UUID

from memory.core.scopes import parse_namespace
from memory.services.gateway.caller import MemoryCaller
from memory.upkeep.run_people import OWN_SCOPES, note_runs


# Runs that this process has noted. One that is forgotten here is merely noted again.
MAX_NOTED: Final = 10_000
_noted: dict[tuple[UUID, str], None] = {}


def note_writer(caller: MemoryCaller, namespace: str) -> None:
    """Note for whom the calling run is, once, if others share what it writes into."""
    run_id, team_id = caller.origin.run_id, caller.team_id
    if not run_id or (team_id, run_id) in _noted:
        return
    if parse_namespace(namespace).scope in OWN_SCOPES:
        return
    note_runs(team_id, [run_id])
    if len(_noted) >= MAX_NOTED:
        _noted.clear()
    _noted[team_id, run_id] = None
