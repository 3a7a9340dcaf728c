"""Calls that a small model writes as text, ``<tool_call>{"name": …, "arguments": …}</tool_call>``, instead of real ones.

They are read as calls if the request offered tools, if they end the text, and if the model does not repeat them from
what it was given: a page from the web that contains a call must not get it made by being quoted. Users never see them,
also not while they are written.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import to_json
from workflows.engine.nodes.agent.answer_stream import AnswerStream
from workflows.engine.nodes.agent.model_answer import ModelAnswer
from workflows.engine.nodes.http.json_repair import NotJson, read_json
from workflows.engine.ports import Message
from workflows.engine.tool_calls import ToolCall


_TAGS: Final = (("<tool_call>", "</tool_call>"), ("<function_call>", "</function_call>"))
_CLOSINGS: Final = dict(_TAGS)
_OPENING: Final = re.compile("|".join(_CLOSINGS))
_SPACING: Final = re.compile(r"[\s>|`]+")
_MAX_CALLS: Final = 16
_MAX_BLOCK: Final = 100_000  # characters
_ARGUMENTS: Final = ("arguments", "parameters", "args")


def read_text_calls(answer: ModelAnswer, messages: Sequence[Message]) -> ModelAnswer:
    """Return the answer with the calls in its text as calls, and with the rest of the text."""
    if "_call>" not in answer.text:
        return answer
    text, blocks = split_blocks(answer.text)
    blocks = blocks[:_MAX_CALLS]
    if not blocks or answer.tool_calls or not _are_own_calls(answer.text, blocks, messages):
        return replace(answer, text=text)
    calls = tuple(
        _read_call(block, f"text_call_{number}") for number, block in enumerate(blocks, start=1)
    )
    return replace(answer, text=text, tool_calls=calls, finish_reason="tool_calls")


def _are_own_calls(text: str, blocks: Sequence[str], messages: Sequence[Message]) -> bool:
    """Return whether nothing follows the blocks, and none of them is in the messages that the model was given."""
    closings = tuple(closing for _opening, closing in _TAGS)
    if not text.rstrip().endswith((*closings, "}")):
        return False
    given = [_condense(message.text) for message in messages]
    return not any(_condense(block) in each for block in blocks for each in given)


def _condense(text: str) -> str:
    """Return the text without the spaces and the marks of a quotation, which a repetition may change."""
    return _SPACING.sub("", text)


def split_blocks(text: str) -> tuple[str, list[str]]:
    """Return the text without its blocks, and what is in them. A block without an end reaches to the end of the text."""
    pieces, blocks = [], []
    position = 0
    for start, end, inside in _iter_blocks(text):
        pieces.append(text[position:start])
        blocks.append(inside)
        position = end
    pieces.append(text[position:])
    return "".join(pieces).strip() if blocks else text, blocks


class CallHidingStream:
    """Passes the text of a message on without its blocks. It holds back what may be the start of one."""

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._held = ""
        self._closing = ""  # the end of the block that is being written

    def add(self, piece: str) -> None:
        text, position = self._held + piece, 0
        while True:
            if self._closing:
                end = text.find(self._closing, position)
                if end < 0:
                    self._held = text[max(position, len(text) - len(self._closing)) :]
                    return
                position, self._closing = end + len(self._closing), ""
            found = _find_opening(text, position)
            if found is None:
                rest = text[position:]
                shown = len(rest) - _count_held(rest)
                self._pass_on(rest[:shown])
                self._held = rest[shown:]
                return
            start, opening, self._closing = found
            self._pass_on(text[position:start])
            position = start + len(opening)

    def end(self, *, is_answer: bool) -> None:
        if not self._closing:
            self._pass_on(self._held)
        self._held = ""
        self._stream.end(is_answer=is_answer)

    def _pass_on(self, text: str) -> None:
        if text:
            self._stream.add(text)


def _iter_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    position = 0
    while (found := _find_opening(text, position)) is not None:
        start, opening, closing = found
        inside = start + len(opening)
        end = text.find(closing, inside)
        if end < 0:
            yield start, len(text), text[inside:]
            return
        position = end + len(closing)
        yield start, position, text[inside:end]


def _find_opening(text: str, position: int) -> tuple[int, str, str] | None:
    """Return the place of the first block, and the tags around it."""
    found = _OPENING.search(text, position)
    return (found.start(), found[0], _CLOSINGS[found[0]]) if found else None


def _count_held(text: str) -> int:
    """Return how many characters at the end of the text may be the start of a tag."""
    longest = max(len(opening) for opening, _closing in _TAGS) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(opening.startswith(text[-length:]) for opening, _closing in _TAGS):
            return length
    return 0


def _read_call(block: str, call_id: str) -> ToolCall:
    """Return the call in a block. One that can't be read has no name, so that the model is told which tools there are."""
    try:
        value = read_json(block.strip()[:_MAX_BLOCK])
    except (NotJson, RecursionError):
        return ToolCall(call_id, "", to_json(block.strip()[:200]))
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ToolCall(call_id, "", to_json(block.strip()[:200]))
    arguments: Json = next((value[key] for key in _ARGUMENTS if key in value), {})
    text = arguments if isinstance(arguments, str) else to_json(arguments)
    return ToolCall(call_id, value["name"][:100], text)
