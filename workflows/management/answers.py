"""Answers to what a run from the shell asks: from the option ``--answers``, or from the person at the terminal."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from workflows.engine.errors import InputRejected, NodeFailed
from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import (
    Answer,
    check_answer,
    find_reply_field,
    list_actions,
    list_input_fields,
)


ANSWERED_BY = "shell"


class ShellAnswers:
    """Answers by node: ``{"node": {"values": {…}, "action": "…"}}``, a text for the only field, or a list of such answers.

    The answers of a list are used one after the other. What they don't answer is asked in the terminal.
    """

    def __init__(self, answers: Mapping[str, Json], terminal: TextIO | None = None) -> None:
        self._answers = {
            node: list(value) if isinstance(value, list) else [value]
            for node, value in answers.items()
        }
        self._terminal = terminal

    async def answer(self, node: str, form: Mapping[str, Json]) -> Answer:
        """Return a checked answer. Raises NodeFailed if there is none, or if it doesn't fit the form."""
        if self._answers.get(node):
            return _read_answer(node, form, self._answers[node].pop(0))
        if self._terminal is None:
            raise NodeFailed(
                "AnswerMissing",
                f"The run waits for an answer at {node}: give it with --answers, or run it in a terminal",
            )
        return await asyncio.to_thread(_ask, node, form, self._terminal)


def open_terminal() -> TextIO | None:
    """Return the stream on which a person at the terminal is asked, or None without a terminal."""
    return sys.stderr if sys.stdin is not None and sys.stdin.isatty() else None


def _read_answer(node: str, form: Mapping[str, Json], given: Json) -> Answer:
    if isinstance(given, str):
        name = find_reply_field(form)
        given = {"values": {name: given}} if name is not None else {"action": given}
    if not isinstance(given, Mapping) or set(given) - {"values", "action"}:
        raise NodeFailed(
            "AnswerInvalid", f"The answer to {node} has other keys than values and action"
        )
    try:
        values, action = check_answer(
            form, given.get("values") or {}, str(given.get("action") or "")
        )
    except InputRejected as rejected:
        raise NodeFailed(
            "AnswerInvalid", f"The answer to {node} doesn't fit: {rejected.message}"
        ) from rejected
    return Answer(values, action, ANSWERED_BY, state=form.get("state"))


def _ask(node: str, form: Mapping[str, Json], terminal: TextIO) -> Answer:
    """Print the form and read an answer, again until it fits."""
    terminal.write(f"\n{node}: {form.get('content', '')}\n")
    if form.get("tool"):
        terminal.write(f"{form['tool']} {form.get('arguments')}\n")
    while True:
        values = {field.name: text for field in list_input_fields(form) if (text := _read(field))}
        action = _read_action(list_actions(form), terminal)
        try:
            checked = check_answer(form, values, action)
            return Answer(*checked, ANSWERED_BY, state=form.get("state"))
        except InputRejected as rejected:
            terminal.write(f"{rejected.message}\n")


def _read(field: Any) -> str:  # Any: a field of the form
    options = f" ({', '.join(field.options)})" if field.options else ""
    default = f" [{field.default}]" if field.default is not None else ""
    return input(f"{field.name}{options}{default}: ")


def _read_action(actions: Mapping[str, str], terminal: TextIO) -> str:
    if len(actions) < 2:
        return ""
    for number, title in enumerate(actions.values(), start=1):
        terminal.write(f"  {number}) {title}\n")
    terminal.flush()
    text = input("> ").strip()
    ids = list(actions)
    return ids[int(text) - 1] if text.isdigit() and 0 < int(text) <= len(ids) else text
