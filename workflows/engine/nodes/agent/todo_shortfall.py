"""The todos of an agent, and what is said about those that it has not done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.todo_prompts import Texts
from workflows.engine.ports import MemoryHit
from workflows.engine.runtime.step_records import StepError


MAX_NAMED: Final = 5
_MAX_NAME: Final = 100  # characters


@dataclass(slots=True)
class Todo:
    """``status``: pending, running, completed, failed or skipped. ``failures`` counts the steps with a failed action.

    ``reason`` says why a todo was skipped: a limit ended the agent before the todo was done.
    """

    number: int
    content: str
    status: str = "pending"
    completion: float = 0.0
    step: str = ""  # what the next step is to do
    steps: list[dict[str, Json]] = field(default_factory=list)
    failures: int = 0
    reason: str = ""
    memories: list[MemoryHit] = field(default_factory=list)  # that are relevant to it

    @property
    def id(self) -> str:
        return f"todo_{self.number - 1}"

    @property
    def name(self) -> str:
        """Return the content in one line, shortened."""
        line = " ".join(self.content.split())
        return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…"

    def describe(self) -> dict[str, Json]:
        names = ("id", "content", "status", "completion")
        reason = {"reason": self.reason} if self.reason else {}
        values = {name: getattr(self, name) for name in names}
        return {**values, **reason, "steps": list(self.steps)}


def describe_undone(todos: Sequence[Todo], texts: Texts) -> str:
    """Return the end of the answer to the person, which names the todos that were not done; empty if all were.

    It has no errors of tools, which may say more than the person is to read.
    """
    undone = _list_undone(todos)
    if not undone:
        return ""
    lines = [texts.undone.format(count=len(undone), total=len(todos))]
    lines += [f"- {todo.name}{texts.ends[todo.status]}" for todo in undone[:MAX_NAMED]]
    if len(undone) > MAX_NAMED:
        lines.append(texts.more_undone.format(count=len(undone) - MAX_NAMED))
    return "\n".join(lines)


def build_shortfall(todos: Sequence[Todo]) -> StepError | None:
    """Return why the agent's run is only partially succeeded, or None if all todos were done."""
    undone = _list_undone(todos)
    if not undone:
        return None
    names = ", ".join(f"“{todo.name}”" for todo in undone[:MAX_NAMED])
    message = f"{len(undone)} of {len(todos)} to-dos were not done: {names}"
    if len(undone) > MAX_NAMED:
        message += ", …"
    error = _find_last_error(undone)
    return StepError("TodosNotDone", f"{message}. Last error: {error}" if error else f"{message}.")


def _list_undone(todos: Sequence[Todo]) -> list[Todo]:
    return [todo for todo in todos if todo.status != "completed"]


def _find_last_error(todos: Sequence[Todo]) -> str:
    errors = [str(error) for todo in todos for step in todo.steps for error in step["errors"]]
    return " ".join(errors[-1].split()) if errors else ""
