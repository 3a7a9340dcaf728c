"""Reads the object that a model was asked for, and asks once more if the answer is not one of the schema."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import list_schema_errors, unwrap_schema
from workflows.engine.nodes.llm.json_answers import find_json_object, strip_reasoning
from workflows.engine.nodes.llm.model_calls import ModelAnswer, call_model
from workflows.engine.ports import Message, ModelRequest


ERROR_TYPE: Final = "StructuredOutputInvalid"
_MAX_QUOTED: Final = 20_000  # characters of the invalid answer in the request for a better one
# Characters of each violation, which may contain names that the model invented.
_MAX_ERROR: Final = 200
_REPAIR: Final = (
    "Your answer is not valid:\n{violations}\n"
    "Answer again with one whole JSON object that fits the schema, and with nothing else."
)
_NO_OBJECT: Final = "the answer is not a JSON object"


class AnswerInvalid(NodeFailed):
    """The model's answer is not an object of the schema. ``violations`` say why."""

    def __init__(self, violations: Sequence[str], *, was_cut_off: bool = False) -> None:
        self.violations = tuple(violation[:_MAX_ERROR] for violation in violations)
        self.was_cut_off = was_cut_off
        message = "The model's answer does not fit the schema: " + "; ".join(self.violations)
        if was_cut_off:
            message = "The model's answer reached its length limit before the object was complete. Raise max_tokens."
        super().__init__(ERROR_TYPE, message, retryable=not was_cut_off)


async def call_for_object(
    request: ModelRequest, ctx: NodeContext, *, has_tagged_reasoning: bool = False
) -> tuple[ModelAnswer, Json]:
    """Return the answer and the object in it. An answer that doesn't fit the schema is repaired once by the model.

    Nothing is streamed, because the pieces of an invalid answer couldn't be taken back. Raises AnswerInvalid.
    """
    schema = request.json_schema or {}
    answer = await call_model(request, ctx, has_tagged_reasoning=has_tagged_reasoning)
    try:
        return answer, parse_answer(answer.text, schema, answer.finish_reason)
    except AnswerInvalid as invalid:
        if invalid.was_cut_off:
            raise  # the next answer would be, too
        repair = build_repair_request(request, answer.text, invalid)
    # Another request than the first one, so it has another idempotency key.
    key = f"{request.origin.idempotency_key}:repair"
    repair = replace(repair, origin=replace(repair.origin, idempotency_key=key))
    repaired = await call_model(repair, ctx, has_tagged_reasoning=has_tagged_reasoning)
    repaired = replace(repaired, usage=answer.usage + repaired.usage)
    return repaired, parse_answer(repaired.text, schema, repaired.finish_reason)


def parse_answer(text: str, schema: Mapping[str, Json], finish_reason: str | None = None) -> Json:
    """Return the object in an answer. Raises AnswerInvalid if there is none, or it does not fit the schema."""
    was_cut_off = finish_reason == "length"
    value = find_json_object(text)
    if value is None:
        raise AnswerInvalid([_NO_OBJECT], was_cut_off=was_cut_off)
    if violations := list_schema_errors(value, unwrap_schema(schema)):
        raise AnswerInvalid(violations, was_cut_off=was_cut_off)
    return value


def build_repair_request(request: ModelRequest, text: str, invalid: AnswerInvalid) -> ModelRequest:
    """Return the request that shows the model its answer and what is wrong with it."""
    violations = "\n".join(f"- {violation}" for violation in invalid.violations)
    messages = (
        *request.messages,
        Message("assistant", strip_reasoning(text)[:_MAX_QUOTED]),
        Message("user", _REPAIR.format(violations=violations)),
    )
    return replace(request, messages=messages)
