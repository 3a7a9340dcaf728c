"""The built-in node kinds: a file each, and a row in this table."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace

from workflows.engine.kinds import AnyKind, Field, Kinds, Widget
from workflows.engine.nodes.answer import Answer
from workflows.engine.nodes.assigner import Assigner
from workflows.engine.nodes.code import Code
from workflows.engine.nodes.container_start import IterationStart, LoopStart
from workflows.engine.nodes.conversation_memory import ConversationMemory
from workflows.engine.nodes.end import End
from workflows.engine.nodes.http_request import HttpRequestNode
from workflows.engine.nodes.if_else import IfElse
from workflows.engine.nodes.iteration import Iteration
from workflows.engine.nodes.knowledge_retrieval import KnowledgeRetrieval
from workflows.engine.nodes.knowledge_write import KnowledgeWrite
from workflows.engine.nodes.list_operator import ListOperator
from workflows.engine.nodes.llm import Llm
from workflows.engine.nodes.loop import Loop
from workflows.engine.nodes.loop_end import LoopEnd
from workflows.engine.nodes.memory_delete import MemoryDelete
from workflows.engine.nodes.memory_recall import MemoryRecall
from workflows.engine.nodes.memory_retrieval import MemoryRetrieval
from workflows.engine.nodes.memory_store import MemoryStore
from workflows.engine.nodes.start import Start
from workflows.engine.nodes.template_transform import TemplateTransform
from workflows.engine.nodes.variable_aggregator import VariableAggregator
from workflows.engine.remembering import RECALLING


NODE_KINDS: tuple[AnyKind, ...] = (
    Start(),
    End(),
    Answer(),
    Llm(),
    IfElse(),
    Iteration(),
    IterationStart(),
    Loop(),
    LoopStart(),
    LoopEnd(),
    TemplateTransform(),
    VariableAggregator(),
    Assigner(),
    Code(),
    HttpRequestNode(),
    ListOperator(),
    MemoryRecall(),
    MemoryStore(),
    MemoryRetrieval(),
    MemoryDelete(),
    ConversationMemory(),
    KnowledgeRetrieval(),
    KnowledgeWrite(),
)


Choices = Sequence[tuple[str, str]]  # value, label


def builtin_kinds(
    *,
    memory: bool = True,
    remembers: bool | None = None,
    plugins: Iterable[AnyKind] = (),
    scopes: Choices = (),
    languages: Choices = (),
) -> Kinds:
    """``memory=False`` leaves out the kinds that need a memory: the validator then names them unknown.

    ``remembers`` is whether nodes of other kinds may recall into their prompts; as ``memory`` if not said.
    ``scopes`` are words that plug-ins add to those a memory field offers, ``languages`` those of code
    that this installation can run besides.
    """
    more = {"scope": scopes, "code_language": languages}
    offered = [kind for kind in NODE_KINDS if memory or not kind.needs_memory]
    wider = [_offering(kind, more) for kind in offered]
    if not (memory if remembers is None else remembers):
        wider = [_forgetting(kind) for kind in wider]
    return Kinds([*wider, *plugins])


def _forgetting(kind: AnyKind) -> AnyKind:
    """Without memory the language has no such field; the validator finds that out from here."""
    kept = tuple(field for field in kind.fields if field.name != RECALLING)
    return kind if kept == kind.fields else _with_fields(kind, kept)


def _offering(kind: AnyKind, more: Mapping[str, Choices]) -> AnyKind:
    if not any(more.values()):
        return kind
    return _with_fields(kind, _widened(kind.fields, more))


def _with_fields(kind: AnyKind, fields: tuple[Field, ...]) -> AnyKind:
    other = copy(kind)
    vars(other)["fields"] = fields
    return other


def _widened(fields: tuple[Field, ...], more: Mapping[str, Choices]) -> tuple[Field, ...]:
    return tuple(
        replace(field, choices=(*field.choices, *more[field.name]))
        if field.name in more and field.widget is Widget.CHOICE
        else replace(field, fields=_widened(field.fields, more))
        for field in fields
    )
