"""The model that answered in a step, as its record has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from workflows.engine.language.document import Json
from workflows.execution.usage.numbers import (
    AGENT_STEP_KIND,
    HELPED_STEP_KINDS,
    MODEL_STEP_KINDS,
)
from workflows.llm.config import DEFAULT, OFFLINE, normalize_name
from workflows.services.models.mappings import join_name


# The kinds whose steps ask a model.
MODEL_KINDS = (*MODEL_STEP_KINDS, AGENT_STEP_KIND)
# Those, and the kinds that may ask one for themselves.
ASKING_KINDS = (*MODEL_KINDS, *HELPED_STEP_KINDS)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A model that was asked first, and why it gave no answer."""

    name: str
    error: str


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    """The model that a step asked. ``requested`` is the one that the document names, if it is another.

    If other models ``failed`` before, it is a fallback model.
    """

    provider: str
    name: str
    requested: str = ""
    version: str = ""
    failed: tuple[FailedCall, ...] = ()

    @property
    def is_offline(self) -> bool:
        return self.provider == OFFLINE

    @property
    def is_team_default(self) -> bool:
        """Return whether the document names the team's default model, which answered."""
        is_default_requested = normalize_name(self.requested.partition("/")[0]) == DEFAULT
        return is_default_requested and not self.failed

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
        _read_failed(model.get("failed")),
    )


def _read_failed(rows: Json) -> tuple[FailedCall, ...]:
    return tuple(
        FailedCall(
            join_name(str(row.get("provider") or ""), str(row.get("name") or "")),
            str(row.get("error") or ""),
        )
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping)
    )
