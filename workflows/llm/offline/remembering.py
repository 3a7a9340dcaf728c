"""What the offline provider can do when it is asked to remember something: store the words, and say so."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.ports import Message, ModelRequest
from workflows.llm.offline.sentences import is_question


TOOL: Final = "remember"  # the memory tool of agents
_ANSWER: Final = " was stored."  # how its result begins, after the key
_MAX_FACT: Final = 400  # characters
_MAX_KEY: Final = 40
_WISH: Final = re.compile(
    r"(?:\b(?:please\s+)?(?:remember|keep in mind)(?!\s+to\b)(?:\s+that\b|\s*:)?\s+|(?:请)?(?:帮我)?记住[：:，,]?\s*)"
    r"(?P<fact>[^.!?。！？\n]+)",
    re.IGNORECASE,
)
_JOINING: Final = re.compile(
    r"^[\s,，.。!！]*|(?:[\s,，]|\band\b|\bplease\b|并且?|，)*$", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Wish:
    """The fact that is to be remembered, and whether something else was asked for besides."""

    fact: str
    asks_more: bool


def find_wish(question: str) -> Wish | None:
    """Return what the question asks to remember, in so many words, or None."""
    match = None if is_question(question) else _WISH.search(question)
    if match is None:
        return None
    fact = match["fact"].strip()[:_MAX_FACT]
    rest = (question[: match.start()], question[match.end() :])
    return Wish(fact[:1].upper() + fact[1:], any(_JOINING.sub("", part) for part in rest))


def build_arguments(wish: Wish) -> dict[str, str]:
    """Return the arguments with which the memory tool stores the fact, under a key that says what it is about."""
    key = "-".join(_WORD.findall(wish.fact.lower()))[:_MAX_KEY].strip("-")
    return {"key": key, "value": wish.fact}


def list_stored(request: ModelRequest) -> list[str]:
    """Return the facts that the memory tool has stored since the person's last message."""
    values = dict(_iterate_calls(request))
    results = {m.tool_call_id: m.text for m in request.messages if m.role == "tool"}
    return [value for call_id, value in values.items() if _ANSWER in results.get(call_id, "")]


def _iterate_calls(request: ModelRequest) -> Iterator[tuple[str, str]]:
    for message in _list_since_question(request):
        for call in message.tool_calls:
            arguments = _read_arguments(call.arguments)
            if call.name == TOOL and isinstance(arguments.get("value"), str):
                yield call.id, arguments["value"]


def _list_since_question(request: ModelRequest) -> list[Message]:
    messages = list(request.messages)
    indexes = [index for index, message in enumerate(messages) if message.role == "user"]
    return messages[indexes[-1] :] if indexes else messages


def _read_arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
