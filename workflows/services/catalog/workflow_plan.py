"""A short plan of a workflow, and the document made from it: steps that ask a model one after the other.

The nodes are added by the editor's own operations, so that everything else has the defaults of new nodes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from workflows.engine.editing import InMemoryStore, perform
from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.records import EdgeRecord, Item
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, Json, Mode, NodeSpec, Position, Selector
from workflows.engine.language.dsl.versions import DIFY
from workflows.engine.language.memory_usage import RECALL_FIELD
from workflows.services.editing.operation_context import build_context


START: Final = Position(80.0, 160.0)
COLUMN: Final = 304.0  # between nodes
ROW: Final = 140.0
MAX_STEPS: Final = 6
REMEMBER: Final = "memory-store"
MEMORY_SCOPE: Final = "user"  # what a person says is remembered for that person
# A key for each run, so that a later message doesn't overwrite an earlier one.
MEMORY_KEY: Final = "said_{{#sys.workflow_run_id#}}"


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """A field of the form that starts a workflow; a chat has none."""

    name: str
    label: str
    is_long: bool = True


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step that asks the model. Without instructions it answers the message with the default prompt."""

    title: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """This says what a workflow does. A workflow that remembers recalls memories for its first step and stores facts at its end."""

    mode: Mode = Mode.CHAT
    name: str = ""
    description: str = ""
    steps: tuple[PlannedStep, ...] = (PlannedStep(),)
    inputs: tuple[PlannedInput, ...] = ()
    remembers: bool = True
    opening: str = ""
    questions: tuple[str, ...] = ()


def build_document(plan: WorkflowPlan) -> Document:
    """Return the document of the plan, which can be run."""
    blank = build_blank_document(plan.mode, plan.name, _list_variables(plan))
    store, context = InMemoryStore(blank), build_context()
    perform(store, [*_iter_ops(plan, context.kinds)], context)
    document = store.build_document()
    return Document(
        mode=document.mode,
        nodes=document.nodes,
        edges=document.edges,
        name=plan.name,
        description=plan.description,
        features=_build_features(plan),
        version=DIFY,
    )


def build_blank_document(mode: Mode, name: str, variables: list[Json] | None = None) -> Document:
    """Return a document that has only a start node."""
    data: dict[str, Json] = {"type": "start", "title": _("Start"), "variables": variables or []}
    start = NodeSpec(id="start", kind="start", title=_("Start"), data=data, position=START)
    return Document(mode=mode, nodes=(start,), edges=(), name=name, version=DIFY)


def _list_variables(plan: WorkflowPlan) -> list[Json]:
    if plan.mode is Mode.CHAT:
        return []
    inputs = plan.inputs or (PlannedInput("text", _("Text")),)
    return [
        {
            "variable": item.name,
            "label": item.label,
            "type": "paragraph" if item.is_long else "text-input",
            "required": True,
        }
        for item in inputs
    ]


def _iter_ops(plan: WorkflowPlan, kinds: Mapping[str, AnyKind]) -> Iterator[Op]:
    message = _get_message(plan)
    can_remember = plan.remembers and REMEMBER in kinds
    previous, inputs = "start", _format_inputs(plan)
    for number, step in enumerate(plan.steps[:MAX_STEPS], 1):
        id_ = "llm" if number == 1 else f"llm{number}"
        text = inputs if number == 1 else _refer_to((previous, "text"))
        instructions = step.instructions or _get_default_instructions()
        data: dict[str, Json] = {"prompt_template": _build_prompt(instructions, text)}
        if can_remember and number == 1:
            data[RECALL_FIELD] = _build_recall(message)
        title = step.title or _(kinds["llm"].title)
        yield from _add_after(previous, id_, "llm", title, number, data=data)
        previous = id_
    column = len(plan.steps[:MAX_STEPS]) + 1
    last = "answer" if plan.mode is Mode.CHAT else "end"
    yield from _add_after(previous, last, last, _(kinds[last].title), column)
    if can_remember:
        title, data = _(kinds[REMEMBER].title), _build_remember(message)
        yield from _add_after(previous, "remember", REMEMBER, title, column, row=1, data=data)


def _add_after(
    source: str,
    id_: str,
    kind: str,
    title: str,
    column: int,
    *,
    row: int = 0,
    data: Mapping[str, Json] | None = None,
) -> Iterator[Op]:
    x, y = START.x + column * COLUMN, START.y + row * ROW
    yield Add(Item(id=id_, kind=kind, title=title, x=x, y=y, data=data or {}))
    yield Connect(EdgeRecord(id=f"{source}-{id_}", source=source, target=id_))


def _build_prompt(instructions: str, text: str) -> list[Json]:
    return [{"role": "system", "text": instructions}, {"role": "user", "text": text}]


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
    """Return the section of the LLM node that recalls memories."""
    return {"enabled": True, "scope": MEMORY_SCOPE, "query_selector": [*message]}


def _build_remember(message: Selector) -> dict[str, Json]:
    return {"scope": MEMORY_SCOPE, "key": MEMORY_KEY, "value_selector": [*message]}


def _refer_to(selector: Selector) -> str:
    """Return the text that stands for the variable in a prompt."""
    return f"{{{{#{'.'.join(selector)}#}}}}"


def _build_features(plan: WorkflowPlan) -> dict[str, Json]:
    features: dict[str, Json] = {}
    if plan.opening:
        features["opening_statement"] = plan.opening
    if plan.questions:
        features["suggested_questions"] = [*plan.questions]
    return features
