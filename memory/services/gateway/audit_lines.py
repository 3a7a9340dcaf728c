"""Record in the audit log who did what to which memory, or was refused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from accounts import audit
from memory.services.gateway.caller import MemoryCaller


Detail = Mapping[str, Any]  # JSON: numbers, ids and outcomes, never the content of memories

NO_DETAIL: Final[Detail] = MappingProxyType({})


def record(
    caller: MemoryCaller,
    action: str,
    subject: str,
    detail: Detail = NO_DETAIL,
    *,
    success: bool = True,
    is_hidden: bool = False,
) -> None:
    """Record the caller's action, together with the run and the node that it comes from."""
    origin = caller.origin
    run_detail = {"run": origin.run_id, "node": origin.node_id} if origin.run_id else {}
    audit.record(
        team_id=caller.team_id,
        actor=caller.principal.actor,
        actor_kind=caller.principal.kind,
        action=action,
        subject=subject,
        detail={**run_detail, **detail},
        success=success,
        is_hidden=is_hidden,
    )


def record_refusal(
    caller: MemoryCaller, action: str, subject: str, fault: Exception, detail: Detail = NO_DETAIL
) -> None:
    """Record that ``action`` was refused with ``fault``. The entry stays, even if the transaction is rolled back."""
    refusal = {**detail, "error": type(fault).__name__, "why": str(fault), "op": action}
    record(caller, "memory.refused", subject, refusal, success=False)
