"""Scope words and the namespaces they stand for.

A workflow's author chooses a word; the namespace string is built here, from what the server knows,
and nowhere else. The grammar is strict because two spellings of one person would be two memories,
and one spelling of two people would be a leak.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json


class Scope(StrEnum):
    CONVERSATION = "conversation"  # across the runs of one conversation
    USER = "user"  # across the conversations of one person
    GLOBAL = "global"  # the application's own
    WORKFLOW = "workflow"  # one workflow's own, per group
    RUN = "run"  # notes, cleared when the run ends


@dataclass(frozen=True, slots=True)
class ParsedNamespace:
    """A namespace taken apart; ``ids`` holds one id, or stream and group for a workflow's own."""

    scope: Scope
    ids: tuple[str, ...]

    @property
    def text(self) -> str:
        return ":".join((_PREFIXES[self.scope], *self.ids))

    def __str__(self) -> str:
        return self.text


def resolve_namespace(scope: str, identity: Mapping[str, Json]) -> str:
    """The namespace a scope word means for someone; a missing identity names the variable."""
    try:
        word = Scope(scope)
    except ValueError:
        known = ", ".join(Scope)
        raise InvalidInput(f"Unknown memory scope {scope!r}; use one of: {known}.") from None
    return ParsedNamespace(word, _IDS[word](identity)).text


def parse_namespace(text: str) -> ParsedNamespace:
    for scope, prefix in _PREFIXES.items():
        if text.startswith(f"{prefix}:"):
            ids = tuple(text[len(prefix) + 1 :].split(":"))
            if len(ids) != _ARITY[scope]:
                break
            return ParsedNamespace(scope, tuple(_checked(one, text) for one in ids))
    raise InvalidInput(f"{text!r} is not a namespace.")


# Visible ASCII without the colon: look-alikes of other scripts can't be told apart by a reader.
_ID = re.compile(r"[!-9;-~]{1,80}")

_PREFIXES = {
    Scope.CONVERSATION: "conv",
    Scope.USER: "user",
    Scope.GLOBAL: "global",
    Scope.WORKFLOW: "ai:memory",
    Scope.RUN: "ai:notes",
}
_ARITY = dict.fromkeys(Scope, 1) | {Scope.WORKFLOW: 2}


def _checked(one: str, where: str) -> str:
    if _ID.fullmatch(one):
        return one
    raise InvalidInput(
        f"{where}: {one[:100]!r} can't name a memory; "
        "use 1 to 80 visible ASCII characters without a colon."
    )


def _text(value: Json) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def _needed(scope: Scope, variable: str, identity: Mapping[str, Json]) -> str:
    found = _text(identity.get(variable))
    if not found:
        raise InvalidInput(f"sys.{variable} is not set; the {scope} scope needs it.")
    return _checked(found, f"sys.{variable}")


def _conversation(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_needed(Scope.CONVERSATION, "conversation_id", identity),)


def _user(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_needed(Scope.USER, "user_id", identity),)


def _global(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_checked(_text(identity.get("app_id")) or "default", "sys.app_id"),)


def _workflow(identity: Mapping[str, Json]) -> tuple[str, ...]:
    """Merged workflows share a stream of their own: chat + desktop is ``chat-desktop``."""
    names = identity.get("workflow_names")
    if isinstance(names, list | tuple) and names:
        stream = _checked("-".join(_text(name) for name in names), "sys.workflow_names")
    else:
        stream = _needed(Scope.WORKFLOW, "workflow_id", identity)
    return (stream, _needed(Scope.WORKFLOW, "group_id", identity))


def _run(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_needed(Scope.RUN, "run_id", identity),)


_IDS: dict[Scope, Callable[[Mapping[str, Json]], tuple[str, ...]]] = {
    Scope.CONVERSATION: _conversation,
    Scope.USER: _user,
    Scope.GLOBAL: _global,
    Scope.WORKFLOW: _workflow,
    Scope.RUN: _run,
}
