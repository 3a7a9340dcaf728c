"""Drafts a workflow from a description: a model answers with a small plan, which is checked and repaired once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document
from workflows.engine.language.problems import select_errors
from workflows.engine.language.validation import validate
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.errors import DraftingFailed, NoModelConnected
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.models import load_configs, load_directory
from workflows.llm.config import OFFLINE, ProviderConfig
from workflows.llm.registry import TeamModels
from workflows.services.catalog.plan_answer import (
    build_instructions,
    keep_model_steps,
    read_plan,
)
from workflows.services.catalog.workflow_plan import build_document
from workflows.services.outside_calls import call_outside


MAX_DESCRIPTION: Final = 2_000  # characters
TIMEOUT: Final = 60.0  # seconds for one answer
_ATTEMPTS: Final = 2  # the second one repairs the first


def find_drafting_model(team_id: UUID) -> ProviderConfig | None:
    """Return the provider that drafts workflows, with its model as the default one.

    It is the team's default model, or else that of the first connected provider that has one.
    """
    directory = load_directory(team_id)
    default = directory.default
    if default and default.config and default.model and not default.is_offline:
        return replace(default.config, default_model=default.model)
    configs = [config for config in directory.configs.values() if config.kind != OFFLINE]
    return next((config for config in configs if config.default_model), None)


def draft_plan(
    principal: Principal, team_id: UUID, description: str, *, name: str = ""
) -> Document:
    """Return a document that can be run. Raises NoModelConnected, or DraftingFailed after one repair."""
    config = find_drafting_model(team_id)
    if config is None:
        raise NoModelConnected
    models = TeamModels(load_configs(team_id), fallback="error")
    messages = [Message("system", build_instructions()), Message("user", description)]
    for attempt in range(1, _ATTEMPTS + 1):
        with call_outside(principal, team_id):
            answer = _ask(models, config, messages)
        document, complaint = _read(answer, name, is_last=attempt == _ATTEMPTS)
        if document is not None:
            return document
        messages += [Message("assistant", answer), Message("user", f"Repair this: {complaint}")]
    raise DraftingFailed(
        _("The model's answer could not be turned into a workflow. Try other words.")
    )


def _ask(models: TeamModels, config: ProviderConfig, messages: Sequence[Message]) -> str:
    request = ModelRequest(
        provider=config.name,
        model=config.default_model,
        messages=tuple(messages),
        origin=Origin("", "draft", "draft"),
        params={"temperature": 0.2},
    )
    try:
        return str(async_to_sync(_collect)(models, request))
    except EngineFault as fault:
        raise DraftingFailed(fault.message) from None
    except TimeoutError:
        raise DraftingFailed(_("The model did not answer in time.")) from None


async def _collect(models: TeamModels, request: ModelRequest) -> str:
    async with asyncio.timeout(TIMEOUT):
        return "".join([chunk.text async for chunk in models.stream(request)])


def _read(answer: str, name: str, *, is_last: bool) -> tuple[Document | None, str]:
    """Return the document of an answer, or what is wrong with the answer.

    Of the last answer, steps are left out that can't be used, as long as others remain.
    """
    try:
        plan = read_plan(answer, name, drops_invalid_steps=is_last)
    except ValueError as invalid:
        return None, str(invalid)
    document = build_document(plan)
    problems = validate(document, load_kinds())
    if problems and is_last:
        document = build_document(replace(plan, steps=keep_model_steps(plan.steps)))
        problems = select_errors(validate(document, load_kinds()))
    return (None, "; ".join(map(str, problems[:5]))) if problems else (document, "")
