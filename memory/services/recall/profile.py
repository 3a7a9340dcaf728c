"""Recall the profile of the person for whom a run works."""

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied
from memory.core.policy import check_namespace
from memory.core.scopes import Scope, resolve_namespace
from memory.logic.profile import Profile, build_profile, build_profile_query
from memory.policies import load_rules
from memory.services.access.pause_state import WithheldEntries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.prompt_notes import add_notes, list_shown
from memory.services.recall.recall import record_reads


@retry_on_conflict
def recall_profile(caller: MemoryCaller, *, injected: bool = False) -> Profile:
    """Return what every prompt gets about the person; while they have paused recalling, nothing, with the reason.

    Only what fits counts as read. Where a policy keeps no memory of people, the profile is empty: no prompt needs one.
    """
    try:
        return _recall_profile(caller, injected)
    except AccessDenied:
        if _is_allowed_by_policy(caller):
            raise
        return Profile()


def _recall_profile(caller: MemoryCaller, injected: bool) -> Profile:
    with open_namespace(caller, "view", "memory.recalled", scope=Scope.USER.value) as access:
        access.detail.update(keys=0, injected=injected, profile=True)
        if access.is_withheld:
            return Profile(withheld=WithheldEntries.withheld)
        query = build_profile_query(access.text)
        entries = access.open_store().recall(query)
        profile = build_profile(add_notes(access, query, entries))
        access.detail.update(keys=len(profile.entries), left_out=len(profile.left_out))
        record_reads(access, list_shown(profile.entries), injected=injected)
        return profile


def _is_allowed_by_policy(caller: MemoryCaller) -> bool:
    with tenant([caller.team_id]):
        rules = load_rules(caller.team_id, str(caller.identity.get("app_id") or ""), None)
    try:
        check_namespace(rules.policy, resolve_namespace(Scope.USER, caller.identity))
    except AccessDenied:
        return False
    return True
