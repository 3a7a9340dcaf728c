"""Remember: stores the facts of a message, or a value, in memory.

Later nodes and runs can read it there unless it is quarantined.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from pydantic import AliasChoices
from pydantic import Field as Bounded

from workflows.engine.appearance import Data, get_model_name, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.content_marks.untrusted import (
    WEB,
    has_untrusted_source,
    is_influenced,
    is_untrusted_memory,
    needs_scope_review,
)
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.templating import Template
from workflows.engine.memory_ports import FactOperation, LearnedFact
from workflows.engine.model_records import USAGE, describe_usage
from workflows.engine.nodes.memory.entry_keys import build_key
from workflows.engine.nodes.memory.fact_operations import ADD, ASK, END, FORGET
from workflows.engine.nodes.memory.facts import (
    Decision,
    accept_proposal,
    decide_facts,
    list_readable_turns,
)
from workflows.engine.nodes.memory.memory_access import (
    QUARANTINE,
    SCOPE_FIELD,
    TRUSTS_OUTSIDE_FIELD,
    build_quarantined_event,
    build_rejected_event,
    build_written_event,
    find_field_with_secret,
    get_learning,
    get_memory,
    hold_for_review,
    refuse_secret,
    to_event_entry,
    would_replace_trusted,
)
from workflows.engine.nodes.memory.model_text import HelperModel, has_model
from workflows.engine.ports import MemoryHit
from workflows.engine.runtime.events import (
    Event,
    MemoryEnded,
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryKeptOut,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


FACTS: Final = "facts"
BY_RULES: Final = "rules"  # of a proposal, whose words for forgetting may mean something else
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
class Outcome:
    """It has the entry if one was stored, and otherwise the reason, unless it was known before."""

    key: str
    entry: MemoryHit | None = None
    events: tuple[Event, ...] = ()
    reason: str = ""
    ended: tuple[MemoryHit, ...] = ()
    forgotten: tuple[MemoryHit, ...] = ()
    choices: tuple[MemoryHit, ...] = ()


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
        ), help=gettext_noop("What the message says about the person is stored, a fact that has changed takes the place of the old one, and what the person asks to forget is forgotten; if several entries could be meant, the chat asks which. The model decides, or without a connected model the language encoder that comes with Mnemoflow."),
              choice_hints=(
            (FACTS, gettext_noop("Facts about the person; new ones replace old ones.")),
            (VARIABLE, gettext_noop("The value as it is.")),
        )),
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
            Output("ended", "array[object]", gettext_noop("What no longer holds: id, key, value")),
            Output(
                "forgotten",
                "array[object]",
                gettext_noop("What the person asked to forget: id, key, value"),
            ),
            Output(
                "choices",
                "array[object]",
                gettext_noop(
                    "What the person may have asked to forget, if several entries could be meant: id, key, value"
                ),
            ),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return self.configure(spec).selectors

    def needs_review(self, spec: NodeSpec, untrusted: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        return (
            config.tier != QUARANTINE
            and is_influenced(spec.id, prepared.selectors, untrusted)
            and needs_scope_review(config.scope, trusted=config.trusts_outside)
        )

    async def run(self, prepared: PreparedStore, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        metadata = dict(config.metadata or {})
        for name, selector in (config.metadata_selectors or {}).items():
            metadata[name] = ctx.pool.get_or_none(selector) if selector else None
        tier = _apply_trust(prepared, ctx, metadata)
        if config.takes_facts:
            return await _store_facts(config, metadata, tier, ctx)
        value = ctx.pool.get_or_none(config.value_selector)
        key = (
            prepared.key_template.render_text(ctx.pool) if config.key.strip() else build_key(value)
        )
        ctx.record_inputs({"scope": config.scope, "key": key, "metadata": metadata, "value": value})
        ctx.pool.require(config.value_selector)
        step: dict[str, Any] = {
            "scope": config.scope, "identity": ctx.identity, "origin": ctx.origin
        }  # fmt: skip
        is_outside = is_untrusted_memory(metadata) and not config.trusts_outside
        if is_outside and tier != QUARANTINE and await would_replace_trusted(ctx, step, key, value):
            tier = hold_for_review(metadata)
        content = {"key": key, "value": value, "metadata": metadata, "tier": tier}
        outcome = await _store({**step, **content}, config, ctx)
        outputs = _build_outputs([outcome])
        # Memory may have normalized the key or removed a secret from it; the entry's own key can be recalled.
        outputs["key"] = outcome.key
        return NodeResult(outputs, events=outcome.events)


async def _store_facts(
    config: StoreConfig, metadata: dict[str, Json], tier: str, ctx: NodeContext
) -> NodeResult:
    """Do to memory what the message says: store its facts, end what no longer holds, forget what it asks to forget."""
    message = as_text(ctx.pool.require(config.value_selector))
    selector = config.answer_selector
    # An untrusted answer is left out: a model that reads it writes facts in its own words, which could be those.
    is_readable = selector and not has_untrusted_source([selector], ctx.untrusted)
    answer = as_text(ctx.pool.get_or_none(selector)) if selector and is_readable else ""
    ctx.record_inputs({"scope": config.scope, "metadata": metadata, "message": message})
    memory = get_learning(ctx, config.scope)  # before the model is paid for
    step: dict[str, Any] = {"scope": config.scope, "identity": ctx.identity, "origin": ctx.origin}
    content: dict[str, Any] = {
        "metadata": metadata, "tier": tier, "ttl_seconds": config.ttl_seconds
    }  # fmt: skip
    asks = is_influenced(ctx.node_id, config.selectors, ctx.untrusted)
    limit = partial(_limit_operations, tier=tier, asks_to_forget=asks)
    model = config.model or HelperModel()
    decider = model if await has_model(model, ctx) else None
    refused: list[Outcome] = []
    turns = await list_readable_turns(ctx)
    if decider is None and not await _find_secret(message, metadata, ctx):
        proposal, changes = await memory.learn_message(
            **step,
            **content,
            message=message,
            turns=turns,
            decide=lambda each: [asdict(o) for o in limit(accept_proposal(each).operations)],
        )
        decision = accept_proposal(proposal)
    else:
        proposal = await memory.propose_facts(**step, message=message, turns=turns)
        decision = await decide_facts(message, answer, proposal, decider, turns, ctx)
        operations, refused = await _refuse_secrets(
            limit(decision.operations), metadata, config, ctx
        )
        changes = await memory.learn(**step, **content, operations=operations)
    ctx.recorded_inputs.update(_describe_decision(decision))
    outcomes = [each for change in changes for each in _list_outcomes(change, config, ctx)]
    outcomes += refused
    outputs = _build_outputs(outcomes)
    if decision.usage and decision.usage.total_tokens:
        outputs[USAGE] = describe_usage(decision.usage)
    events = tuple(event for outcome in outcomes for event in outcome.events)
    if proposal.asks_to_forget and proposal.method != BY_RULES and not _has_met_wish(outcomes):
        events += (MemoryForgotten(ctx.node_id, config.scope, 0),)
    return NodeResult(outputs, events=events, usage=decision.usage)


async def _refuse_secrets(
    operations: Sequence[FactOperation],
    metadata: Mapping[str, Json],
    config: StoreConfig,
    ctx: NodeContext,
) -> tuple[list[dict[str, Json]], list[Outcome]]:
    """Return the operations without those that would write a stored secret, and what tells of these."""
    allowed: list[dict[str, Json]] = []
    refused: list[Outcome] = []
    for operation in operations:
        values = asdict(operation)
        if operation.text and (field := await _find_secret(values, metadata, ctx)):
            refusal, reason = refuse_secret(ctx, config.scope, field)
            refused.append(Outcome("", events=(refusal,), reason=reason))
        else:
            allowed.append(values)
    return allowed, refused


async def _find_secret(value: Json, metadata: Mapping[str, Json], ctx: NodeContext) -> str:
    """Return the name of the field that has a stored secret in it, or an empty string."""
    fields = {"value_selector": value, "metadata": dict(metadata)}
    return await find_field_with_secret(ctx, fields)


def _has_met_wish(outcomes: Sequence[Outcome]) -> bool:
    return any(each.forgotten or each.choices or each.ended for each in outcomes)


def _limit_operations(
    operations: Sequence[FactOperation], tier: str, *, asks_to_forget: bool
) -> list[FactOperation]:
    """Return the operations with keys. What is quarantined ends and forgets nothing until somebody approves it.

    If untrusted content may have said what to forget, or what no longer holds, the person is asked, also where the author
    trusts it. Memory sees to it that such content replaces nothing that is trusted.
    """
    if asks_to_forget:
        operations = [
            replace(o, action=ASK) if o.action in (FORGET, END) else o for o in operations
        ]
    if tier == QUARANTINE:
        questions = [o for o in operations if asks_to_forget and o.action == ASK]
        added = [replace(o, action=ADD, targets=()) for o in operations if o.text]
        operations = [*questions, *added]
    return [replace(o, key=build_key(o.text)) if o.text else o for o in operations]


def _describe_decision(decision: Decision) -> dict[str, Json]:
    facts = [operation.text for operation in decision.operations if operation.text]
    described: dict[str, Json] = {"facts": facts, "facts_by": decision.method}
    if decision.dropped:
        described["dropped"] = [
            {"operation": dict(dropped.operation), "reason": dropped.reason}
            for dropped in decision.dropped
        ]
    return described


def _list_outcomes(change: LearnedFact, config: StoreConfig, ctx: NodeContext) -> list[Outcome]:
    """Return what became of an operation, and of what was kept of the entries that it forgot."""
    remaining = [_report_entry(entry, entry.key, config, ctx) for entry in change.remaining]
    return [_build_outcome(change, config, ctx), *remaining]


def _build_outcome(change: LearnedFact, config: StoreConfig, ctx: NodeContext) -> Outcome:
    """Return what became of an operation, with the events that report it."""
    node, scope = ctx.node_id, config.scope
    ended = [to_event_entry(entry) for entry in change.ended]
    event: Event
    if change.forgotten:
        forgotten = [to_event_entry(entry) for entry in change.forgotten]
        event = MemoryForgotten(node, scope, len(forgotten), entries=forgotten)
        return Outcome("", events=(event,), forgotten=tuple(change.forgotten))
    if change.choices:
        event = MemoryForgetAsked(node, scope, [to_event_entry(entry) for entry in change.choices])
        return Outcome("", events=(event,), choices=tuple(change.choices))
    if change.reasons:
        event = MemoryKeptOut(node, scope, "", list(change.reasons))
        return Outcome("", events=(event,), reason=change.message)
    if change.entry is None or not change.is_new:
        events = (MemoryEnded(node, scope, ended),) if ended else ()
        key = change.entry.key if change.entry else ""
        return Outcome(key, events=events, ended=tuple(change.ended))
    outcome = _report_entry(change.entry, change.entry.key, config, ctx)
    if outcome.entry is None:
        return outcome
    event = replace(build_written_event(change.entry, node, scope), replaced=ended)
    return replace(outcome, events=(event,), ended=tuple(change.ended))


async def _store(arguments: dict[str, Any], config: StoreConfig, ctx: NodeContext) -> Outcome:
    """Store an entry. Raises the errors of memory, except its refusals, which are results."""
    memory, key = get_memory(ctx, config.scope), arguments["key"]
    fields = {name: arguments[name] for name in ("value", "metadata", "key")}
    if field := await find_field_with_secret(ctx, fields):
        refusal, reason = refuse_secret(ctx, config.scope, field)
        return Outcome("", events=(refusal,), reason=reason)
    try:
        entry = await memory.store(**arguments, ttl_seconds=config.ttl_seconds)
    except Exception as fault:
        rejection = build_rejected_event(fault, ctx, config.scope, key)
        if rejection is None:
            raise
        return Outcome(key, events=(rejection,), reason=str(fault))
    return _report_entry(entry, key, config, ctx)


def _report_entry(entry: MemoryHit, key: str, config: StoreConfig, ctx: NodeContext) -> Outcome:
    """Return the outcome of an entry that memory has stored, or holds in quarantine although the node didn't ask for it."""
    if config.tier != QUARANTINE and getattr(entry, "tier", config.tier) == QUARANTINE:
        quarantined = build_quarantined_event(entry, ctx.node_id, config.scope, key)
        return Outcome(key, events=(quarantined,), reason=", ".join(quarantined.reasons))
    return Outcome(entry.key, entry, (build_written_event(entry, ctx.node_id, config.scope),))


def _build_outputs(results: Sequence[Outcome]) -> dict[str, Json]:
    entries = [_describe(result.entry) for result in results if result.entry is not None]
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    outputs: dict[str, Json] = {
        "stored": bool(entries),
        "key": entries[0]["key"] if entries else "",
        "entries": entries,
    }
    for name in ("ended", "forgotten", "choices"):
        if hits := [hit for result in results for hit in getattr(result, name)]:
            outputs[name] = [_describe(hit) for hit in hits]
    return {**outputs, "reason": "; ".join(reasons)} if reasons else outputs


def _describe(hit: MemoryHit) -> dict[str, Json]:
    return {"id": hit.id, "key": hit.key, "value": hit.value}


def _apply_trust(prepared: PreparedStore, ctx: NodeContext, metadata: dict[str, Any]) -> str:
    """Return the tier, and mark untrusted content in ``metadata``, except where the author has set a value."""
    config = prepared.config
    if not is_influenced(ctx.node_id, prepared.selectors, ctx.untrusted):
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
    return hold_for_review(metadata)
