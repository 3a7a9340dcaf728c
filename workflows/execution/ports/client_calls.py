"""What a run knows of the call of a client that keeps its conversations itself, or that names no person (``Run.client_call``).

The memory of what the call leaves out is neither read nor written. Sub-workflows leave out the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from workflows import memory_app
from workflows.engine.language.document import Json


PERSON: Final = "user"
CONVERSATION: Final = "conversation"


@dataclass(frozen=True, slots=True)
class ClientCall:
    """``messages`` are the earlier ones of the conversation, each with role and content; None if the server has them.

    ``left_out`` are the scopes of memory that the call leaves out: PERSON, CONVERSATION or both.
    """

    messages: Sequence[Mapping[str, str]] | None = None
    left_out: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, value: Json) -> Self:
        if not value:
            return cls()
        return cls(value.get("messages"), frozenset(value.get("left_out") or ()))

    def dump(self) -> Json:
        """Return the value of the run's column, which is None for an ordinary call."""
        value: dict[str, Json] = {}
        if self.messages is not None:
            value["messages"] = [dict(message) for message in self.messages]
        if self.left_out:
            value["left_out"] = sorted(self.left_out)
        return value or None

    def build_for_child(self) -> "ClientCall":
        """Return what holds for a sub-workflow, which isn't told the conversation of its parent."""
        return ClientCall(None, self.left_out)

    def list_turns(self) -> list[tuple[str, str]]:
        """Return the messages as turns of a query and its answer. Messages of one side in a row are joined."""
        turns: list[tuple[list[str], list[str]]] = []
        for message in self.messages or ():
            is_answer = message["role"] == "assistant"
            if not turns or (turns[-1][1] and not is_answer):
                turns.append(([], []))
            turns[-1][is_answer].append(message["content"])
        return [("\n\n".join(queries), "\n\n".join(answers)) for queries, answers in turns]

    def list_left_out_scopes(self) -> frozenset[str]:
        """Return the scopes of memory that the call leaves out, with those of plug-ins that the same people see."""
        if not self.left_out or not memory_app.is_on():
            return frozenset()
        return memory_app.list_scopes_like(self.left_out)


ORDINARY_CALL: Final = ClientCall()
