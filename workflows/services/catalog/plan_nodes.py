"""The nodes and edges of a plan, as operations of the editor."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.utils.translation import gettext as _

from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.records import EdgeRecord, Item
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json, Mode, Position, Selector
from workflows.engine.language.memory_usage import PROFILE_FIELD, RECALL_FIELD
from workflows.services.catalog.plan import (
    MAX_BRANCHES,
    MAX_STEPS,
    PlannedBranch,
    PlannedStep,
    StepKind,
    WorkflowPlan,
)


START: Final = Position(80.0, 160.0)
COLUMN: Final = 304.0  # between nodes
ROW: Final = 140.0
REMEMBER: Final = "memory-store"
MEMORY_SCOPE: Final = "user"  # what a person says is remembered for that person
# The branches of a condition: its case, and the texts that it doesn't match.
CONDITION_HANDLES: Final = ("true", "false")
_IDS: Final[Mapping[str, str]] = {
    StepKind.KNOWLEDGE: "knowledge",
    StepKind.HTTP: "http",
    StepKind.CLASSIFIER: "classify",
    StepKind.CONDITION: "condition",
}


@dataclass(frozen=True, slots=True)
class _Tail:
    """The end of the steps so far: where the next node is attached, and what it reads."""

    source: str
    value: Selector  # the newest text
    text: str  # what a prompt contains: the newest text, after the pages of a knowledge base
    handle: str = "source"
    column: int = 0
    row: int = 0
    has_asked: bool = False  # whether a model was asked already


class PlanNodes:
    """Builds the operations that add the nodes of a plan to a document with a start node."""

    def __init__(self, plan: WorkflowPlan, kinds: Mapping[str, AnyKind]) -> None:
        self._plan, self._kinds = plan, kinds
        self._message = _get_message(plan)
        self._can_remember = plan.remembers and REMEMBER in kinds
        self._ids: Counter[str] = Counter()
        self._ops: list[Op] = []
        self._rows = 0

    def build_ops(self) -> list[Op]:
        start = _Tail("start", self._message, _format_inputs(self._plan))
        end = self._add_steps(start, self._plan.steps[:MAX_STEPS])
        if self._can_remember:
            tail = replace(end, row=self._rows + 1)
            self._add(tail, REMEMBER, id_="remember", data=_build_remember(self._message))
        return self._ops

    def _add_steps(self, tail: _Tail, steps: Sequence[PlannedStep]) -> _Tail:
        """Add the steps and what ends them; return the place before the end, or before the branches."""
        for step in steps:
            if step.branches:
                return self._add_branches(tail, step)
            tail = self._add_step(tail, step)
        if not steps or steps[-1].kind is not StepKind.LLM:
            tail = self._add_step(tail, PlannedStep())
        is_chat = self._plan.mode is Mode.CHAT
        outputs: Json = [{"variable": tail.value[-1], "value_selector": [*tail.value]}]
        data = {"answer": _refer_to(tail.value)} if is_chat else {"outputs": outputs}
        self._add(tail, "answer" if is_chat else "end", data=data)
        return tail

    def _add_branches(self, tail: _Tail, step: PlannedStep) -> _Tail:
        branches = step.branches[:MAX_BRANCHES]
        is_condition = step.kind is StepKind.CONDITION
        handles = CONDITION_HANDLES if is_condition else [str(n + 1) for n in range(len(branches))]
        data = _build_condition(tail, step) if is_condition else _build_classes(tail, branches)
        end = self._add(tail, step.kind, step.title, data=data)
        for number, (handle, branch) in enumerate(zip(handles, branches, strict=False)):
            self._rows = row = self._rows + (number > 0)
            first = replace(tail, source=end.source, column=end.column, handle=handle, row=row)
            self._add_steps(first, branch.steps)
        return tail

    def _add_step(self, tail: _Tail, step: PlannedStep) -> _Tail:
        if step.kind is StepKind.LLM:
            return self._add_question(tail, step)
        if step.kind is StepKind.KNOWLEDGE:
            data: dict[str, Json] = {"query_variable_selector": [*tail.value]}
            end = self._add(tail, step.kind, step.title, data=data)
            pages = _("Knowledge pages:") + "\n" + _refer_to((end.source, "result"))
            return replace(end, text=f"{pages}\n\n{tail.text}")
        if step.kind is StepKind.HTTP:
            end = self._add(tail, step.kind, step.title, data={"method": "GET", "url": step.url})
            answer = _("Response:") + "\n" + _refer_to((end.source, "body"))
            return replace(end, value=(end.source, "body"), text=f"{answer}\n\n{tail.text}")
        variables: Json = [{"variable": "text", "value_selector": [*tail.value]}]
        data = {
            "code": step.code,
            "variables": variables,
            "outputs": {"result": {"type": "string"}},
        }
        end = self._add(tail, step.kind, step.title, data=data)
        value = (end.source, "result")
        return replace(end, value=value, text=_refer_to(value))

    def _add_question(self, tail: _Tail, step: PlannedStep) -> _Tail:
        instructions = step.instructions or _get_default_instructions()
        data: dict[str, Json] = {"prompt_template": _build_prompt(instructions, tail.text)}
        if self._can_remember and not tail.has_asked:
            data[RECALL_FIELD] = _build_recall(self._message)
        if self._plan.mode is Mode.CHAT and tail.text == _refer_to(self._message):
            data["memory"] = {"enabled": True}  # the earlier messages of the conversation
        end = self._add(tail, step.kind, step.title, data=data)
        value = (end.source, "text")
        return replace(end, value=value, text=_refer_to(value), has_asked=True)

    def _add(
        self,
        tail: _Tail,
        kind: str,
        title: str = "",
        *,
        id_: str = "",
        data: Mapping[str, Json] | None = None,
    ) -> _Tail:
        """Add a node behind the place; return the tail behind the node."""
        stem = id_ or _IDS.get(kind, str(kind))
        self._ids[stem] += 1
        id_ = stem if self._ids[stem] == 1 else f"{stem}{self._ids[stem]}"
        column = tail.column + 1
        x, y = START.x + column * COLUMN, START.y + tail.row * ROW
        title = title or _(self._kinds[kind].title)
        self._ops.append(Add(Item(id=id_, kind=str(kind), title=title, x=x, y=y, data=data or {})))
        edge = EdgeRecord(
            id=f"{tail.source}-{id_}", source=tail.source, target=id_, handle=tail.handle
        )
        self._ops.append(Connect(edge))
        return replace(tail, source=id_, handle="source", column=column)


def _build_prompt(instructions: str, text: str) -> list[Json]:
    return [{"role": "system", "text": instructions}, {"role": "user", "text": text}]


def _build_classes(tail: _Tail, branches: Sequence[PlannedBranch]) -> dict[str, Json]:
    classes: list[Json] = [
        {"id": str(number), "name": branch.name} for number, branch in enumerate(branches, 1)
    ]
    return {"query_variable_selector": [*tail.value], "classes": classes}


def _build_condition(tail: _Tail, step: PlannedStep) -> dict[str, Json]:
    condition: Json = {
        "variable_selector": [*tail.value],
        "comparison_operator": "contains",
        "value": step.word,
        "varType": "string",
    }
    case: Json = {
        "case_id": CONDITION_HANDLES[0],
        "logical_operator": "and",
        "conditions": [condition],
    }
    return {"cases": [case]}


def _format_inputs(plan: WorkflowPlan) -> str:
    """Return the text of the person: the message of a chat, or the fields of the form."""
    if plan.mode is Mode.CHAT:
        return _refer_to(("sys", "query"))
    if len(plan.inputs) < 2:
        name = plan.inputs[0].name if plan.inputs else "text"
        return _refer_to(("start", name))
    return "\n\n".join(f"{item.label}:\n{_refer_to(('start', item.name))}" for item in plan.inputs)


def _get_message(plan: WorkflowPlan) -> Selector:
    """Return the variable with what the person said: the message of a chat, or the first field of the form."""
    if plan.mode is Mode.CHAT:
        return ("sys", "query")
    return ("start", plan.inputs[0].name if plan.inputs else "text")


def _get_default_instructions() -> str:
    return _(
        "You are a friendly assistant. Use what you remember about this person where it helps."
    )


def _build_recall(message: Selector) -> Json:
    """Return the section of the LLM node that recalls memories, as its switch turns it on: what is related, or nothing."""
    section: dict[str, Json] = {"enabled": True, "scope": MEMORY_SCOPE}
    return {**section, "query_selector": [*message], PROFILE_FIELD: True}


def _build_remember(message: Selector) -> dict[str, Json]:
    return {"scope": MEMORY_SCOPE, "value_selector": [*message]}


def _refer_to(selector: Selector) -> str:
    """Return the text that stands for the variable in a prompt."""
    return f"{{{{#{'.'.join(selector)}#}}}}"
