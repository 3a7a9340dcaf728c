"""The model that a node wants to be asked if its own one fails."""

from dataclasses import dataclass
from typing import Final


# In a document: the model of this node has no fallback model, not even the team's.
NO_FALLBACK: Final = "none"


@dataclass(frozen=True, slots=True)
class FallbackModel:
    """``provider`` is ``NO_FALLBACK`` to ask none."""

    provider: str
    model: str = ""
