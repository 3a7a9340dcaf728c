"""The built-in node kinds: a file each, and a row in this table."""

from collections.abc import Iterable

from workflows.engine.kinds import AnyKind, Kinds
from workflows.engine.nodes.answer import Answer
from workflows.engine.nodes.assigner import Assigner
from workflows.engine.nodes.end import End
from workflows.engine.nodes.if_else import IfElse
from workflows.engine.nodes.llm import Llm
from workflows.engine.nodes.memory_recall import MemoryRecall
from workflows.engine.nodes.memory_store import MemoryStore
from workflows.engine.nodes.start import Start
from workflows.engine.nodes.template_transform import TemplateTransform
from workflows.engine.nodes.variable_aggregator import VariableAggregator


NODE_KINDS: tuple[AnyKind, ...] = (
    Start(),
    End(),
    Answer(),
    Llm(),
    IfElse(),
    TemplateTransform(),
    VariableAggregator(),
    Assigner(),
    MemoryRecall(),
    MemoryStore(),
)


def builtin_kinds(*, memory: bool = True, plugins: Iterable[AnyKind] = ()) -> Kinds:
    """``memory=False`` leaves out the kinds that need a memory: the validator then names them unknown."""
    offered = [kind for kind in NODE_KINDS if memory or not kind.needs_memory]
    return Kinds([*offered, *plugins])
