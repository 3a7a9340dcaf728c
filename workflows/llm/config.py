"""The configuration of a team's model providers as plain data, without the database rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from workflows.engine.ports import Usage
from workflows.llm.presets import ALIASES, PRESETS, find_preset


OPENAI_COMPATIBLE: Final = "openai_compatible"
OFFLINE: Final = "offline"
# The type of models that write texts; those of other types are the rows of ``ProviderModel``.
CHAT: Final = "chat"
# In a document: the team's default model.
DEFAULT: Final = "default"
# Among the mappings of a team: the model that is asked if another one fails.
FALLBACK: Final = "fallback"

TOTAL_SECONDS: Final = 600.0
IDLE_SECONDS: Final = 90.0  # the time that a model may take before its first word
MAX_RETRIES: Final = 2

# The addresses of well-known providers; any other provider needs a configured address.
BASE_URLS: Final[Mapping[str, str]] = {
    **{preset.name: preset.base_url for preset in PRESETS if preset.base_url},
    **{
        alias: preset.base_url
        for alias in ALIASES
        if (preset := find_preset(alias)) is not None and preset.base_url
    },
    "together": "https://api.together.xyz/v1",
}


# In the prices of a provider: all its models that have no price of their own.
ANY_MODEL: Final = "*"


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in USD per million tokens."""

    input: float
    output: float

    def compute_cost(self, usage: Usage) -> float:
        tokens_cost = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return tokens_cost / 1_000_000


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One model provider of a team. ``kind`` names the client for it, such as ``openai_compatible``."""

    name: str
    kind: str = OPENAI_COMPATIBLE
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    default_model: str = ""
    prices: Mapping[str, Price] = field(default_factory=dict)
    id: str = ""
    is_unreachable: bool = False  # at its last call or test
    checked_at: datetime | None = None  # the time of that
    total_seconds: float = TOTAL_SECONDS
    idle_seconds: float = IDLE_SECONDS
    # How often a request is repeated that failed before its first word, for a reason that may pass.
    max_retries: int = 0
    max_concurrency: int | None = None
    max_tokens: int | None = None  # for requests that name no limit

    def find_price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is not known."""
        return self.prices.get(model or self.default_model) or self.prices.get(ANY_MODEL)

    @property
    def address(self) -> str:
        return (self.base_url or BASE_URLS.get(normalize_name(self.name), "")).strip().rstrip("/")


def normalize_name(name: str) -> str:
    """Return the last part of a provider's name in lower case: ``openai`` for ``langgenius/openai/openai``."""
    return name.strip().rstrip("/").rpartition("/")[2].lower()
