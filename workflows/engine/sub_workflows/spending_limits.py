"""How many tokens and how much money a run may spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.ports import Usage


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The limits of a run with everything below it. None is no limit."""

    max_tokens: int | None = None
    max_cost: float | None = None  # USD

    def __bool__(self) -> bool:
        return self.max_tokens is not None or self.max_cost is not None

    def choose_lower(self, other: "SpendingLimits") -> "SpendingLimits":
        tokens = [each for each in (self.max_tokens, other.max_tokens) if each is not None]
        costs = [each for each in (self.max_cost, other.max_cost) if each is not None]
        return SpendingLimits(min(tokens, default=None), min(costs, default=None))

    def subtract(self, usage: Usage) -> "SpendingLimits":
        """Return what is left of the limits."""
        tokens, cost = self.max_tokens, self.max_cost
        return SpendingLimits(
            None if tokens is None else max(tokens - usage.total_tokens, 0),
            None if cost is None else max(cost - (usage.cost or 0.0), 0.0),
        )

    def find_reached(self, usage: Usage) -> str | None:
        """Return the name of the limit that the usage has reached, if any."""
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and (usage.cost or 0.0) >= self.max_cost:
            return "max_cost"
        return None

    def to_json(self) -> dict[str, Json]:
        return {"max_tokens": self.max_tokens, "max_cost": self.max_cost}

    @classmethod
    def from_json(cls, value: Mapping[str, Json] | None) -> "SpendingLimits":
        return cls(value["max_tokens"], value["max_cost"]) if value else NO_LIMITS


NO_LIMITS: Final = SpendingLimits()
