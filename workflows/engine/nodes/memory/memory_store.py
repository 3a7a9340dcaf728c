"""Remember: puts a value into memory, seen at once by every node after it and by later runs."""

from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices
from pydantic import Field as Bounded

from workflows.engine.document import NodeSpec, Selector
from workflows.engine.events import MemoryWritten
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.outside import WEB, has_to_wait, is_from_outside
from workflows.engine.recalling import held_back, kept_out, memory_of
from workflows.engine.remembering import DEFAULT_SCOPE, SCOPES
from workflows.engine.templating import Template


QUARANTINE = "quarantine"
FROM_OUTSIDE = "from_outside"


class StoreConfig(NodeConfig):
    scope: str
    key: str = Bounded(min_length=1)
    value_selector: tuple[str, ...] = Bounded(min_length=2)
    metadata: dict[str, Any] | None = None
    metadata_selectors: dict[str, tuple[str, ...]] | None = None
    tier: str = "long_term"
    trusts_outside: bool = False
    ttl_seconds: float | None = Bounded(
        default=None, gt=0, validation_alias=AliasChoices("ttl", "ttl_seconds")
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    config: StoreConfig
    key: Template


class MemoryStore(NodeKind[StoreConfig, Prepared]):
    name = "memory-store"
    title = gettext_noop("Remember")
    description = gettext_noop("Puts something into memory.")
    group = "memory"
    config_model = StoreConfig
    has_effect = True
    needs_memory = True
    fields = (
        Field("scope", gettext_noop("Whose memory"), Widget.CHOICE, required=True,
              default=DEFAULT_SCOPE, choices=SCOPES),
        Field("key", gettext_noop("Key"), Widget.TEMPLATE, required=True,
              help=gettext_noop("The same key again overwrites; the old value stays as a revision."),
              example="name"),
        Field("value_selector", gettext_noop("Value"), Widget.SELECTOR, required=True),
        Field("metadata", gettext_noop("Metadata"), Widget.OBJECT, example={"category": "fact"}),
        Field("metadata_selectors", gettext_noop("Metadata from variables"), Widget.SELECTOR_MAP),
        Field("tier", gettext_noop("Tier"), Widget.CHOICE, default="long_term", choices=(
            ("long_term", gettext_noop("Long-term")),
            ("working", gettext_noop("Working")),
            ("quarantine", gettext_noop("Quarantine")),
        )),
        Field("trusts_outside", gettext_noop("Remember what comes from outside at once"),
              Widget.SWITCH, help=gettext_noop(
                  "Text from the web or a tool, meant for this person or everyone, waits in quarantine until somebody approves it. On: it doesn't wait.")),
        Field("ttl", gettext_noop("Forget after (seconds)"), Widget.NUMBER, low=1,
              help=gettext_noop("Empty: kept until somebody forgets it.")),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(config, Template.of(config.key))

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("stored", "boolean", gettext_noop("True once it is remembered")),
            Output("key", "string", gettext_noop("The key as it was filled in")),
            Output("reason", "string", gettext_noop("Why not, where it was not let in")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return (config.value_selector, *(config.metadata_selectors or {}).values())

    def waits(self, spec: NodeSpec, outside: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        return (
            config.tier != QUARANTINE
            and is_from_outside(_read(prepared), outside)
            and has_to_wait(config.scope, trusted=config.trusts_outside)
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        key = prepared.key.text(ctx.pool)
        metadata = dict(config.metadata or {})
        for name, selector in (config.metadata_selectors or {}).items():
            metadata[name] = ctx.pool.get_or_none(selector)
        value = ctx.pool.get_or_none(config.value_selector)
        tier = _careful(prepared, ctx, metadata)
        ctx.give({"scope": config.scope, "key": key, "metadata": metadata, "value": value})
        try:
            entry = await memory_of(ctx, config.scope).store(
                scope=config.scope,
                identity=ctx.identity,
                origin=ctx.origin,
                key=key,
                value=ctx.pool.require(config.value_selector),
                metadata=metadata,
                tier=tier,
                ttl_seconds=config.ttl_seconds,
            )
        except Exception as fault:
            refused = kept_out(fault, ctx, config.scope, key)
            if refused is None:
                raise
            outputs = {"stored": False, "key": key, "reason": str(fault)}
            return NodeResult(outputs, events=(refused,))
        if config.tier != QUARANTINE and getattr(entry, "tier", config.tier) == QUARANTINE:
            held = held_back(entry, ctx.node_id, config.scope, key)
            outputs = {"stored": False, "key": key, "reason": ", ".join(held.reasons)}
            return NodeResult(outputs, events=(held,))
        written = {"id": entry.id, "key": entry.key, "value": entry.value}
        event = MemoryWritten(ctx.node_id, config.scope, entry.namespace, written)
        return NodeResult({"stored": True, "key": key}, events=(event,))


def _read(prepared: Prepared) -> tuple[Selector, ...]:
    config = prepared.config
    return (
        config.value_selector,
        *(config.metadata_selectors or {}).values(),
        *prepared.key.references,
    )


def _careful(prepared: Prepared, ctx: NodeContext, metadata: dict[str, Any]) -> str:
    """The tier, once it is known whose words these are; an author who says so in the node is believed."""
    config = prepared.config
    if not is_from_outside(_read(prepared), ctx.outside):
        return config.tier
    said = config.metadata or {}
    if "origin" not in said:
        metadata["origin"] = WEB
    if "review" not in said:
        metadata.pop("review", None)  # whether a person has looked at it isn't for strangers to say
    if config.tier == QUARANTINE or not has_to_wait(config.scope, trusted=config.trusts_outside):
        return config.tier
    metadata["quarantined_for"] = [{"reason": FROM_OUTSIDE, "detail": ""}]
    return QUARANTINE
