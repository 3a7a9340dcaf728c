"""Remember: stores the facts of a message, or a value, in memory.

Later nodes and runs can read it there unless it is quarantined.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import AliasChoices
from pydantic import Field as Bounded

from workflows.engine.appearance import Data, get_model_name, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.templating import Template
from workflows.engine.language.untrusted import WEB, has_untrusted_source, needs_scope_review
from workflows.engine.model_records import USAGE, describe_usage
from workflows.engine.nodes.memory.entry_keys import build_key
from workflows.engine.nodes.memory.facts import Extraction, extract_facts
from workflows.engine.nodes.memory.memory_access import (
    SCOPE_FIELD,
    TRUSTS_OUTSIDE_FIELD,
    build_quarantined_event,
    build_rejected_event,
    build_written_event,
    get_memory,
)
from workflows.engine.nodes.memory.model_text import HelperModel
from workflows.engine.ports import FactPort, MemoryHit
from workflows.engine.runtime.events import Event
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


QUARANTINE: Final = "quarantine"
FROM_OUTSIDE: Final = "from_outside"
FACTS: Final = "facts"
VARIABLE: Final = "variable"  # the source of documents that name none


class StoreConfig(NodeConfig):
    scope: str
    source: Literal["facts", "variable"] = VARIABLE
    key: str = ""
    value_selector: tuple[str, ...] = Bounded(min_length=2)
    answer_selector: tuple[str, ...] | None = None
    model: HelperModel | None = None
    metadata: dict[str, Any] | None = None
    metadata_selectors: dict[str, tuple[str, ...]] | None = None
    tier: str = "long_term"
    trusts_outside: bool = False
    ttl_seconds: float | None = Bounded(
        default=None, gt=0, validation_alias=AliasChoices("ttl", "ttl_seconds")
    )

    @property
    def takes_facts(self) -> bool:
        return self.source == FACTS

    @property
    def selectors(self) -> tuple[Selector, ...]:
        answer = (self.answer_selector,) if self.takes_facts and self.answer_selector else ()
        return (self.value_selector, *answer, *(self.metadata_selectors or {}).values())


@dataclass(frozen=True, slots=True)
class PreparedStore:
    config: StoreConfig
    key_template: Template

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """Return the variables from which the entries come."""
        return (*self.config.selectors, *self.key_template.references)


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to store."""

    key: str
    value: Json


@dataclass(frozen=True, slots=True)
class Stored:
    """This is what became of a draft: the entry if it was stored, and otherwise the reason, unless it was known before."""

    key: str
    entry: MemoryHit | None = None
    event: Event | None = None
    reason: str = ""


class MemoryStore(NodeKind[StoreConfig, PreparedStore]):
    name = "memory-store"
    title = gettext_noop("Remember")
    description = gettext_noop("Stores facts from the message, or a value")
    group = "memory"
    palette_order = 20
    icon = "store"
    family = "memory"
    dialects = ("xworkflow",)
    config_model = StoreConfig
    has_effect = True
    leak_check_settings = (
        {"scope": "user", "key": "tried", "value_selector": ["start", "text"]},
        {"scope": "user", "source": FACTS, "value_selector": ["start", "text"]},
    )
    needs_memory = True
    fields = (
        SCOPE_FIELD,
        Field("source", gettext_noop("What to remember"), Widget.CHOICE, default=VARIABLE,
              initial=FACTS, choices=(
            (FACTS, gettext_noop("Facts from this turn")),
            (VARIABLE, gettext_noop("Value of a variable")),
        ), help=gettext_noop("Facts are taken from the message by the model, or without a connected model by rules that leave out questions. Known facts are not stored again.")),
        Field("value_selector", gettext_noop("Variable"), Widget.SELECTOR, required=True,
              presets_message=True,
              help=gettext_noop("The message with the facts, or the value to store."),
              example=["sys", "query"]),
        Field("answer_selector", gettext_noop("Answer"), Widget.SELECTOR,
              help=gettext_noop("Optional. Helps the model to understand the message; no facts are taken from it."),
              is_advanced=True, shown_when=("source", (FACTS,))),
        Field("model", gettext_noop("Model for facts"), Widget.MODEL,
              help=gettext_noop("Leave empty for the default model of the team."),
              is_advanced=True, shown_when=("source", (FACTS,))),
        Field("key", gettext_noop("Key"), Widget.TEMPLATE,
              help=gettext_noop("Optional. Without a key, each different value gets an entry of its own. Storing the same key again overwrites the value; the old value is kept as a revision."),
              example="name", shown_when=("source", (None, VARIABLE))),
        Field("metadata", gettext_noop("Metadata"), Widget.METADATA,
              is_advanced=True, example={"category": "fact"}),
        Field("metadata_selectors", gettext_noop("Metadata from variables"), Widget.SELECTOR_MAP,
              is_advanced=True),
        Field("tier", gettext_noop("Tier"), Widget.CHOICE, default="long_term", is_advanced=True,
              choices=(
            ("long_term", gettext_noop("Long-term")),
            ("working", gettext_noop("Working")),
            ("quarantine", gettext_noop("Quarantine")),
        )),
        TRUSTS_OUTSIDE_FIELD,
        Field("ttl", gettext_noop("Expires after"), Widget.DURATION, low=1, is_advanced=True,
              help=gettext_noop("Leave empty to keep it until it is forgotten.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        scope = get_scope_label(data.get("scope"))
        if data.get("source") == FACTS:
            model = get_model_name(data.get("model"))
            words = (
                gettext_noop("facts by %(model)s")
                if model
                else gettext_noop("facts from this turn")
            )
            return [scope, Phrase(words, {"model": model} if model else {})]
        return [scope, as_text(data.get("key")) or get_variable_name(data.get("value_selector"))]

    def prepare(self, spec: NodeSpec) -> PreparedStore:
        config = self.configure(spec)
        return PreparedStore(config, Template.of("" if config.takes_facts else config.key))

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("stored", "boolean", gettext_noop("True if something was stored")),
            Output("key", "string", gettext_noop("Key of the stored entry, or of the first one")),
            Output("reason", "string", gettext_noop("Reason if not stored")),
            Output("entries", "array[object]", gettext_noop("What was stored: id, key, value")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return self.configure(spec).selectors

    def needs_review(self, spec: NodeSpec, untrusted: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        return (
            config.tier != QUARANTINE
            and has_untrusted_source(prepared.selectors, untrusted)
            and needs_scope_review(config.scope, trusted=config.trusts_outside)
        )

    async def run(self, prepared: PreparedStore, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        metadata = dict(config.metadata or {})
        for name, selector in (config.metadata_selectors or {}).items():
            metadata[name] = ctx.pool.get_or_none(selector)
        tier = _apply_trust(prepared, ctx, metadata)
        if config.takes_facts:
            return await _store_facts(config, metadata, tier, ctx)
        value = ctx.pool.get_or_none(config.value_selector)
        key = (
            prepared.key_template.render_text(ctx.pool) if config.key.strip() else build_key(value)
        )
        ctx.record_inputs({"scope": config.scope, "key": key, "metadata": metadata, "value": value})
        draft = Draft(key, ctx.pool.require(config.value_selector))
        stored = await _store(draft, config, metadata, tier, ctx)
        outputs = _build_outputs([stored])
        # Memory may have normalized the key or removed a secret from it; the entry's own key can be recalled.
        outputs["key"] = stored.key
        return NodeResult(outputs, events=(stored.event,) if stored.event else ())


async def _store_facts(
    config: StoreConfig, metadata: dict[str, Json], tier: str, ctx: NodeContext
) -> NodeResult:
    """Store the facts of the message, each as one entry."""
    message = as_text(ctx.pool.require(config.value_selector))
    selector = config.answer_selector
    answer = as_text(ctx.pool.get_or_none(selector)) if selector else ""
    ctx.record_inputs({"scope": config.scope, "metadata": metadata, "message": message})
    get_memory(ctx, config.scope)  # before the model is paid for
    extraction = await extract_facts(message, answer, config.model or HelperModel(), ctx)
    ctx.recorded_inputs.update(_describe_extraction(extraction))
    results = [
        await _store(Draft(build_key(fact), fact), config, metadata, tier, ctx)
        for fact in extraction.facts
    ]
    events = tuple(result.event for result in results if result.event)
    outputs = _build_outputs(results)
    if extraction.usage and extraction.usage.total_tokens:
        outputs[USAGE] = describe_usage(extraction.usage)
    return NodeResult(outputs, events=events, usage=extraction.usage)


def _describe_extraction(extraction: Extraction) -> dict[str, Json]:
    return {"facts": [*extraction.facts], "facts_by": extraction.method}


async def _store(
    draft: Draft, config: StoreConfig, metadata: dict[str, Json], tier: str, ctx: NodeContext
) -> Stored:
    """Store an entry. Raises the errors of memory, except its refusals, which are results."""
    memory = get_memory(ctx, config.scope)
    arguments: dict[str, Any] = {  # of the port
        "scope": config.scope,
        "identity": ctx.identity,
        "origin": ctx.origin,
        "key": draft.key,
        "value": draft.value,
        "metadata": metadata,
        "tier": tier,
        "ttl_seconds": config.ttl_seconds,
    }
    is_new = True
    try:
        if config.takes_facts and isinstance(memory, FactPort):
            entry, is_new = await memory.store_fact(**arguments)
        else:
            entry = await memory.store(**arguments)
    except Exception as fault:
        rejection = build_rejected_event(fault, ctx, config.scope, draft.key)
        if rejection is None:
            raise
        return Stored(draft.key, event=rejection, reason=str(fault))
    if not is_new:
        return Stored(entry.key)
    if config.tier != QUARANTINE and getattr(entry, "tier", config.tier) == QUARANTINE:
        held = build_quarantined_event(entry, ctx.node_id, config.scope, draft.key)
        return Stored(draft.key, event=held, reason=", ".join(held.reasons))
    return Stored(entry.key, entry, build_written_event(entry, ctx.node_id, config.scope))


def _build_outputs(results: list[Stored]) -> dict[str, Json]:
    entries = [
        {"id": result.entry.id, "key": result.entry.key, "value": result.entry.value}
        for result in results
        if result.entry is not None
    ]
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    outputs: dict[str, Json] = {
        "stored": bool(entries),
        "key": entries[0]["key"] if entries else "",
        "entries": entries,
    }
    return {**outputs, "reason": "; ".join(reasons)} if reasons else outputs


def _apply_trust(prepared: PreparedStore, ctx: NodeContext, metadata: dict[str, Any]) -> str:
    """Return the tier, and mark untrusted content in ``metadata``, except where the author has set a value."""
    config = prepared.config
    if not has_untrusted_source(prepared.selectors, ctx.untrusted):
        return config.tier
    author_metadata = config.metadata or {}
    if "origin" not in author_metadata:
        metadata["origin"] = WEB
    if "review" not in author_metadata:
        metadata.pop("review", None)  # untrusted content must not state that it was reviewed
    if config.tier == QUARANTINE or not needs_scope_review(
        config.scope, trusted=config.trusts_outside
    ):
        return config.tier
    metadata["quarantined_for"] = [{"reason": FROM_OUTSIDE, "detail": ""}]
    return QUARANTINE
