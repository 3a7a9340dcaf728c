"""The facts about the call of a trigger, which a run has among its system variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.language.document import Json


# The names of the system variables. They are no part of the form, because only a trigger sets them.
TRIGGER_NODE: Final = "trigger_node"
WEBHOOK_CALL: Final = "webhook_call"
SCHEDULED_AT: Final = "scheduled_at"


@dataclass(frozen=True, slots=True)
class TriggerCall:
    """The call that starts a run at a trigger node."""

    node_id: str
    webhook_call: Mapping[str, Json] = field(default_factory=dict)
    scheduled_at: str = ""  # ISO 8601, in the schedule's time zone

    def to_system_variables(self) -> dict[str, Json]:
        variables: dict[str, Json] = {TRIGGER_NODE: self.node_id}
        if self.webhook_call:
            variables[WEBHOOK_CALL] = dict(self.webhook_call)
        if self.scheduled_at:
            variables[SCHEDULED_AT] = self.scheduled_at
        return variables

    @classmethod
    def from_system_variables(cls, system: Mapping[str, Json]) -> "TriggerCall | None":
        """Return the call that started a run, or None for a run that no trigger started."""
        node_id = get_trigger_node(system)
        if node_id is None:
            return None
        call = system.get(WEBHOOK_CALL)
        return cls(
            node_id,
            call if isinstance(call, Mapping) else {},
            str(system.get(SCHEDULED_AT) or ""),
        )


def get_trigger_node(system: Mapping[str, Json]) -> str | None:
    """Return the id of the node at which a trigger started a run, or None for the workflow's first start."""
    node_id = system.get(TRIGGER_NODE)
    return node_id if isinstance(node_id, str) and node_id else None
