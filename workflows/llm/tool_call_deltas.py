"""Assembles the pieces of tool calls in a stream, which each provider cuts in its own way."""

import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from workflows.engine.errors import ModelFailed
from workflows.engine.tool_calls import ToolCall


MAX_CALLS: Final = 64  # in one answer
MAX_ARGUMENTS: Final = 200_000  # characters, of all calls of one answer together
_MAX_NAME: Final = 200

_TOO_MANY: Final = "{provider} wrote more than {limit} tool calls at once."
_TOO_LONG: Final = "{provider} wrote tool calls of more than {limit} characters."
_NAMELESS: Final = "{provider} wrote a tool call without the name of a tool."


@dataclass(slots=True)
class _PartialCall:
    """A tool call of which more pieces may follow."""

    index: int | None
    call_id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class ToolCallAssembler:
    """Puts the pieces of one answer's tool calls together. Any field of a piece may be missing or of a wrong type."""

    def __init__(self, provider: str, earlier_calls: int = 0) -> None:
        self._provider = provider
        self._earlier_calls = earlier_calls  # of the conversation; for ids of calls that have none
        self._calls: list[_PartialCall] = []
        self._length = 0

    def add(self, pieces: Any) -> None:
        """Add the ``tool_calls`` of one event. Raises ModelFailed if there are too many or too long calls."""
        for piece in pieces if isinstance(pieces, list | tuple) else ():
            function = _read(piece, "function")
            self._add_piece(
                index=_to_index(_read(piece, "index")),
                call_id=_to_text(_read(piece, "id"))[:_MAX_NAME],
                name=_to_text(_read(function, "name")),
                arguments=_to_text(_read(function, "arguments")),
            )

    def add_function_call(self, function: Any) -> None:
        """Add the ``function_call`` of one event, the protocol's older form with a single call."""
        name, arguments = _to_text(_read(function, "name")), _to_text(_read(function, "arguments"))
        self._add_piece(index=0, call_id="", name=name, arguments=arguments)

    def build(self) -> tuple[ToolCall, ...]:
        """Return the complete calls, each with an id of its own. Raises ModelFailed if one has no name."""
        calls: list[ToolCall] = []
        used_ids: set[str] = set()
        for partial in self._calls:
            arguments = partial.arguments.strip()
            if not partial.name and not arguments:
                continue  # an empty piece, with which some servers end a list
            if not partial.name:
                raise ModelFailed(_NAMELESS.format(provider=self._provider), retryable=True)
            call_id = partial.call_id
            if not call_id or call_id in used_ids:
                call_id = self._create_id(used_ids)
            used_ids.add(call_id)
            calls.append(ToolCall(call_id, partial.name, arguments or "{}"))
        return tuple(calls)

    def _create_id(self, used_ids: set[str]) -> str:
        """Return an id that no call of the conversation has, the same one each time."""
        taken = used_ids | {call.call_id for call in self._calls}
        return next(
            candidate
            for number in count(self._earlier_calls + 1)
            if (candidate := f"call_{number}") not in taken
        )

    def _add_piece(self, *, index: int | None, call_id: str, name: str, arguments: str) -> None:
        call = self._find_call(index, call_id, name)
        if call is None:
            call = self._open_call(index, call_id)
        call.call_id = call.call_id or call_id
        if name != call.name and not call.pieces:  # some servers repeat the name in every piece
            call.name = (call.name + name)[:_MAX_NAME]
        if arguments:
            self._length += len(arguments)
            if self._length > MAX_ARGUMENTS:
                raise self._build_failure(_TOO_LONG, MAX_ARGUMENTS)
            call.pieces.append(arguments)

    def _open_call(self, index: int | None, call_id: str) -> _PartialCall:
        if len(self._calls) >= MAX_CALLS:
            raise self._build_failure(_TOO_MANY, MAX_CALLS)
        self._calls.append(_PartialCall(index, call_id))
        return self._calls[-1]

    def _find_call(self, index: int | None, call_id: str, name: str) -> _PartialCall | None:
        """Return the call that a piece continues, or None if the piece begins a call."""
        if index is None:
            return self._find_call_without_index(call_id, name)
        call = next((call for call in reversed(self._calls) if call.index == index), None)
        if call is None or not name or not call.name:
            return call
        # Some servers give several calls the same index: another id, or a name after whole arguments, begins a call.
        is_other = call_id != call.call_id if call_id and call.call_id else _is_json(call.arguments)
        return None if is_other else call

    def _find_call_without_index(self, call_id: str, name: str) -> _PartialCall | None:
        if call_id:
            same = (call for call in reversed(self._calls) if call.call_id == call_id)
            call = next(same, None)
            if call is not None or name:
                return call
        return self._calls[-1] if self._calls and not name else None

    def _build_failure(self, message: str, limit: int) -> ModelFailed:
        return ModelFailed(message.format(provider=self._provider, limit=limit))


def _read(value: Any, name: str) -> Any:
    """Return a field of an object of the openai package, or of a mapping that it didn't recognize."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _to_index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _to_text(value: Any) -> str:
    """Return a text; arguments are JSON already in some servers' answers."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
