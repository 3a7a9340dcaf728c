"""The audit line of a change to something of this app: ids and counts, never a value."""

from typing import Any

from accounts import audit
from accounts.access import Principal
from accounts.tenancy import TenantModel


def note(principal: Principal, row: TenantModel, action: str, **detail: Any) -> None:  # Any: JSON
    """In the caller's transaction: no change without its line, no line without its change.

    Last in a service: the line locks the team's chain until the commit, and whoever then waits for
    a row that another holds, who waits for the chain, waits for ever.
    """
    audit.record(
        team_id=row.team_id,
        actor=principal.actor,
        actor_kind=principal.kind,
        action=action,
        subject=f"{row._meta.model_name}:{row.pk}",
        detail=detail,
    )
