"""The configuration of a team's model providers as plain data, without the database rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.ports import Usage


OPENAI_COMPATIBLE: Final = "openai_compatible"
OFFLINE: Final = "offline"

# The addresses of well-known providers; any other provider needs a configured address.
BASE_URLS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.xyz/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
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

    def find_price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is not known."""
        return self.prices.get(model or self.default_model) or self.prices.get(ANY_MODEL)

    @property
    def address(self) -> str:
        return (self.base_url or BASE_URLS.get(normalize_name(self.name), "")).strip().rstrip("/")


def normalize_name(name: str) -> str:
    """Return the last part of a provider's name in lower case: ``openai`` for ``langgenius/openai/openai``."""
    return name.strip().rstrip("/").rpartition("/")[2].lower()
