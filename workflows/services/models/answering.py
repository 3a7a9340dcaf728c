"""The model that answered in a step, as its record has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from workflows.engine.language.document import Json
from workflows.llm.config import OFFLINE
from workflows.services.models.mappings import join_name


# The kinds whose steps ask a model.
MODEL_KINDS = ("llm", "agent", "question-classifier", "parameter-extractor")


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    """The model that a step asked. ``requested`` is the one that the document names, if it is another."""

    provider: str
    name: str
    requested: str = ""
    version: str = ""

    @property
    def is_offline(self) -> bool:
        return self.provider == OFFLINE

    @property
    def full_name(self) -> str:
        return join_name(self.provider, self.name)


def read_answering_model(inputs: Json) -> AnsweringModel | None:
    """Return the model that a step with these inputs asked."""
    model = inputs.get("model") if isinstance(inputs, Mapping) else None
    if not isinstance(model, Mapping) or not model.get("provider"):
        return None
    requested = model.get("requested")
    return AnsweringModel(
        str(model["provider"]),
        str(model.get("name") or ""),
        join_name(str(requested.get("provider") or ""), str(requested.get("name") or ""))
        if isinstance(requested, Mapping)
        else "",
        str(model.get("version") or ""),
    )
