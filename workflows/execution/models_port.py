"""The team's models as the engine's port; resolved when a run first asks for one."""

from uuid import UUID

from workflows.engine.ports import ModelPort
from workflows.execution.adapters import LateModels


def models_for(team_id: UUID, offline: bool) -> ModelPort:
    # Placeholder until the resolver is there.
    from workflows.llm import resolver

    return LateModels(lambda: resolver.models_for(team_id, offline=offline))
