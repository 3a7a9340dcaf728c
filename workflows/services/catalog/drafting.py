"""Drafts a workflow from a description: a model answers with a small plan, which is checked and repaired once."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from pydantic import BaseModel, Field, ValidationError

from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.problems import select_errors
from workflows.engine.language.validation import validate
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.errors import DraftingFailed, NoModelConnected
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.models import load_configs
from workflows.llm.config import OFFLINE, ProviderConfig, normalize_name
from workflows.llm.registry import TeamModels
from workflows.services.catalog.workflow_plan import (
    MAX_STEPS,
    PlannedInput,
    PlannedStep,
    WorkflowPlan,
    build_document,
)


MAX_DESCRIPTION: Final = 2_000  # characters
TIMEOUT: Final = 60.0  # seconds for one answer
_ATTEMPTS: Final = 2  # the second one repairs the first
_LANGUAGES: Final = {"zh-hans": "Simplified Chinese"}

_INSTRUCTIONS: Final = """\
You plan small workflows for an editor. Answer with one JSON object and nothing else:
{{"name": "up to five words", "description": "one sentence", "kind": "chat" or "form",
"inputs": [{{"name": "lower_case_name", "label": "Label"}}], "remembers": true or false,
"steps": [{{"title": "two or three words", "instructions": "the system prompt of this step"}}],
"opening": "first message of a chat", "questions": ["a question to try"]}}
A chat answers messages and has no inputs. A form takes inputs and returns one text. Each step asks a language model; it gets the
person's text and, after the first, the text of the step before. Use one step unless the task needs more, {most} at most.
"remembers" is true if what a person says should be known in later conversations. Write all texts in {language}."""


class _Input(BaseModel):
    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$")
    label: str = Field(default="", max_length=80)


class _Step(BaseModel):
    title: str = Field(default="", max_length=80)
    instructions: str = Field(min_length=1, max_length=8_000)


class _Answer(BaseModel):
    """The plan as the model writes it."""

    name: str = Field(min_length=1, max_length=120)
    description: str = Field(default="", max_length=500)
    kind: str = Field(pattern="^(chat|form)$")
    inputs: list[_Input] = Field(default_factory=list, max_length=8)
    remembers: bool = True
    steps: list[_Step] = Field(min_length=1, max_length=MAX_STEPS)
    opening: str = Field(default="", max_length=500)
    questions: list[str] = Field(default_factory=list, max_length=4)


def find_drafting_model(team_id: UUID) -> ProviderConfig | None:
    """Return the provider that drafts workflows: the first one that is connected and has a default model."""
    configs = [config for config in load_configs(team_id) if normalize_name(config.name) != OFFLINE]
    return next((config for config in configs if config.default_model), None)


def draft_plan(team_id: UUID, description: str, *, name: str = "") -> Document:
    """Return a document that can be run. Raises NoModelConnected, or DraftingFailed after one repair."""
    config = find_drafting_model(team_id)
    if config is None:
        raise NoModelConnected
    models = TeamModels(load_configs(team_id), fallback="error")
    messages = [Message("system", _build_instructions()), Message("user", description)]
    for _attempt in range(_ATTEMPTS):
        answer = _ask(models, config, messages)
        document, complaint = _read(answer, name)
        if document is not None:
            return document
        messages += [Message("assistant", answer), Message("user", f"Repair this: {complaint}")]
    raise DraftingFailed(
        _("The model's answer could not be turned into a workflow. Try other words.")
    )


def _build_instructions() -> str:
    language = _LANGUAGES.get((get_language() or "").lower(), "English")
    return _INSTRUCTIONS.format(most=MAX_STEPS, language=language)


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


def _read(answer: str, name: str) -> tuple[Document | None, str]:
    """Return the document of an answer, or what is wrong with the answer."""
    try:
        plan = _Answer.model_validate(json.loads(_cut_object(answer)))
    except ValidationError as invalid:
        return None, str([error["msg"] for error in invalid.errors(include_url=False)][:5])
    except ValueError:
        return None, "The answer is not one JSON object."
    document = build_document(_build_plan(plan, name))
    errors = select_errors(validate(document, load_kinds()))
    return (None, "; ".join(map(str, errors[:5]))) if errors else (document, "")


def _cut_object(answer: str) -> str:
    """Return the JSON object in the answer, without a code fence or words around it."""
    return answer[answer.find("{") : answer.rfind("}") + 1]


def _build_plan(answer: _Answer, name: str) -> WorkflowPlan:
    is_chat = answer.kind == "chat"
    plan = WorkflowPlan(
        mode=Mode.CHAT if is_chat else Mode.WORKFLOW,
        name=name or answer.name,
        description=answer.description,
        steps=tuple(PlannedStep(step.title, _quote(step.instructions)) for step in answer.steps),
        inputs=tuple(PlannedInput(item.name, item.label or item.name) for item in answer.inputs),
        remembers=answer.remembers,
    )
    if not is_chat:
        return plan
    return replace(plan, inputs=(), opening=answer.opening, questions=tuple(answer.questions))


def _quote(text: str) -> Any:
    """Return the text without references: what the model wrote must not name variables that don't exist."""
    return text.replace("{{", "{ {").replace("}}", "} }")
