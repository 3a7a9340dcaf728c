"""The memories that a question before they are forgotten means, apart from the other arguments of its call."""

from collections.abc import Mapping, Sequence
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import FORGETS_FOR_OUTSIDE
from workflows.views.value_text import format_arguments


_MEMORIES: Final = "memories"  # as ``consent.may_forget`` and calls of memory name them


def format_meant(form: Mapping[str, Json]) -> Sequence[str]:
    """Return the values of the memories that are meant, as text for people."""
    return [format_arguments(memory["value"]) for memory in _list_meant(form)]


def format_other_arguments(form: Mapping[str, Json]) -> str:
    """Return the other arguments of the call that a question is about, or an empty text if it is about none."""
    arguments = form.get("arguments")
    if isinstance(arguments, dict) and _list_meant(form):
        arguments = {name: value for name, value in arguments.items() if name != _MEMORIES}
    return "" if arguments is None else format_arguments(arguments)


def _list_meant(form: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    """Return the memories, or nothing if the arguments have any that can't be shown."""
    arguments = form.get("arguments")
    if form.get("cause") != FORGETS_FOR_OUTSIDE or not isinstance(arguments, dict):
        return ()
    memories = arguments.get(_MEMORIES)
    if not isinstance(memories, list):
        return ()
    is_readable = all(
        isinstance(memory, dict) and set(memory) == {"key", "value"} for memory in memories
    )
    return memories if is_readable else ()
