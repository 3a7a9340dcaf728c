"""Finds the model that answers for a provider and a model that a document names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from workflows.engine.fallback_model import NO_FALLBACK, FallbackModel
from workflows.llm.config import DEFAULT, FALLBACK, OFFLINE, ProviderConfig, normalize_name


ANY_MODEL: Final = ""  # in a mapping: all models of the provider


@dataclass(frozen=True, slots=True)
class Mapping:
    """A team's decision that a model of its own answers for one that documents name."""

    provider: str  # as documents name it, or ``default``
    model: str  # or ``ANY_MODEL``
    target_provider: str
    target_model: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The model that answers. Without a ``config`` it is the offline demo model."""

    config: ProviderConfig | None
    model: str
    # Another model than the document names: it is mapped, or the team's default stands in for it.
    is_mapped: bool = False

    @property
    def provider(self) -> str:
        return normalize_name(self.config.name) if self.config else OFFLINE

    def is_same_as(self, other: "Resolution") -> bool:
        return (self.provider, self.model) == (other.provider, other.model)

    @property
    def is_offline(self) -> bool:
        return self.config is None or self.config.kind == OFFLINE


NO_MODEL: Final = Resolution(None, OFFLINE)


class ModelDirectory:
    """The providers of a team, and which of their models answers for a model that the team lacks.

    A mapping of the named model comes first, then the provider of that name, then the team's default model. A node that
    names no provider asks for the default model.
    """

    def __init__(
        self,
        configs: Iterable[ProviderConfig] = (),
        mappings: Iterable[Mapping] = (),
        reranker: tuple[str, str] | None = None,
    ) -> None:
        self.configs = {normalize_name(config.name): config for config in configs}
        self._reranker = reranker  # provider and name of the team's default reranking model
        self._mappings = {
            (normalize_name(mapping.provider), mapping.model): mapping for mapping in mappings
        }

    @property
    def is_empty(self) -> bool:
        """Return whether the offline demo model answers every request."""
        return all(config.kind == OFFLINE for config in self.configs.values())

    @property
    def default(self) -> Resolution | None:
        """Return the team's default model."""
        return self._apply(self._mappings.get((DEFAULT, ANY_MODEL)))

    def has_mapping(self, provider: str, model: str) -> bool:
        """Return whether the team chose the model that answers for this one."""
        name = normalize_name(provider)
        mapping = self._mappings.get((name, model)) or self._mappings.get((name, ANY_MODEL))
        return self._apply(mapping) is not None

    def resolve(self, provider: str, model: str) -> Resolution:
        name = normalize_name(provider) or DEFAULT
        if name == OFFLINE and name not in self.configs:
            return NO_MODEL
        if name == DEFAULT and name not in self.configs:
            return self.default or NO_MODEL
        mapping = self._mappings.get((name, model)) or self._mappings.get((name, ANY_MODEL))
        if mapped := self._apply(mapping):
            return Resolution(mapped.config, mapped.model, is_mapped=True)
        if config := self.configs.get(name):
            return Resolution(config, model or config.default_model)
        if default := self.default:
            return Resolution(default.config, default.model, is_mapped=True)
        return NO_MODEL

    def find_fallback(self, wanted: FallbackModel | None = None) -> Resolution | None:
        """Return the model to ask if another one fails: the wanted one, or else the team's. None if there is none.

        The offline demo model is none, because its answers are not those that people wait for.
        """
        if wanted is None:
            found = self._apply(self._mappings.get((FALLBACK, ANY_MODEL)))
        elif normalize_name(wanted.provider) == NO_FALLBACK:
            return None
        else:
            found = self.resolve(wanted.provider, wanted.model)
        return None if found is None or found.is_offline else found

    def list_candidates(
        self, provider: str, model: str, wanted: FallbackModel | None = None
    ) -> list[Resolution]:
        """Return the model that answers for the named one, and the one to ask if it fails, if there is one.

        The offline demo model has no fallback where a document or the team chose it.
        """
        first, second = self.resolve(provider, model), self.find_fallback(wanted)
        is_chosen = first.is_offline and (normalize_name(provider) or DEFAULT) in (OFFLINE, DEFAULT)
        if second is None or is_chosen or first.is_same_as(second):
            return [first]
        return [first, second]

    def find_reranker(self, provider: str, model: str) -> Resolution | None:
        """Return the model that ranks documents for the named one, or None if the team has none.

        The team's default reranking model stands in for one that is not connected, and for none. Models that write texts
        can't: neither the team's default model, nor one that answers for all models of a provider.
        """
        name = normalize_name(provider)
        if mapped := self._apply(self._mappings.get((name, model))):
            return Resolution(mapped.config, mapped.model, is_mapped=True)
        config = self.configs.get(name)
        if config is not None and config.kind != OFFLINE and model:
            return Resolution(config, model)
        default = self._reranker and self.configs.get(normalize_name(self._reranker[0]))
        if not self._reranker or not default:
            return None
        return Resolution(default, self._reranker[1], is_mapped=True)

    def _apply(self, mapping: Mapping | None) -> Resolution | None:
        config = self.configs.get(normalize_name(mapping.target_provider)) if mapping else None
        if mapping is None or config is None:
            return None
        return Resolution(config, mapping.target_model or config.default_model)
