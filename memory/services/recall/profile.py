"""Recall the profile of the person for whom a run works."""

from config.retry import retry_on_conflict
from memory.core.scopes import Scope
from memory.logic.profile import Profile, build_profile, build_profile_query
from memory.services.access.pause_state import WithheldEntries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.recall import record_reads


@retry_on_conflict
def recall_profile(caller: MemoryCaller, *, injected: bool = False) -> Profile:
    """Return what every prompt gets about the person; while they have paused recalling, nothing, with the reason.

    Only what fits counts as read.
    """
    with open_namespace(caller, "view", "memory.recalled", scope=Scope.USER.value) as access:
        access.detail.update(keys=0, injected=injected, profile=True)
        if access.is_withheld:
            return Profile(withheld=WithheldEntries.withheld)
        profile = build_profile(access.open_store().recall(build_profile_query(access.text)))
        access.detail.update(keys=len(profile.entries), left_out=len(profile.left_out))
        record_reads(access, profile.entries, injected=injected)
        return profile
