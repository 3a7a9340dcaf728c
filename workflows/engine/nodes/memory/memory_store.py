"""Remember: stores a value in memory, where later nodes and runs can read it unless it is quarantined."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices
from pydantic import Field as Bounded

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.templating import Template
from workflows.engine.language.untrusted import WEB, has_untrusted_source, needs_scope_review
from workflows.engine.nodes.memory.memory_access import (
    SCOPE_FIELD,
    TRUSTS_OUTSIDE_FIELD,
    build_quarantined_event,
    build_rejected_event,
    build_written_event,
    get_memory,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


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

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.value_selector, *(self.metadata_selectors or {}).values())


@dataclass(frozen=True, slots=True)
class PreparedStore:
    config: StoreConfig
    key_template: Template

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """Return the variables from which the entry comes."""
        return (*self.config.selectors, *self.key_template.references)


class MemoryStore(NodeKind[StoreConfig, PreparedStore]):
    name = "memory-store"
    title = gettext_noop("Remember")
    description = gettext_noop("Stores a memory")
    group = "memory"
    palette_order = 20
    icon = "store"
    family = "memory"
    dialects = ("xworkflow",)
    config_model = StoreConfig
    has_effect = True
    leak_check_settings = ({"scope": "user", "key": "tried", "value_selector": ["start", "text"]},)
    needs_memory = True
    fields = (
        SCOPE_FIELD,
        Field("key", gettext_noop("Key"), Widget.TEMPLATE, required=True,
              help=gettext_noop("Storing the same key again overwrites the value. The old value is kept as a revision."),
              example="name"),
        Field("value_selector", gettext_noop("Value"), Widget.SELECTOR, required=True),
        Field("metadata", gettext_noop("Metadata"), Widget.OBJECT, example={"category": "fact"}),
        Field("metadata_selectors", gettext_noop("Metadata from variables"), Widget.SELECTOR_MAP),
        Field("tier", gettext_noop("Tier"), Widget.CHOICE, default="long_term", choices=(
            ("long_term", gettext_noop("Long-term")),
            ("working", gettext_noop("Working")),
            ("quarantine", gettext_noop("Quarantine")),
        )),
        TRUSTS_OUTSIDE_FIELD,
        Field("ttl", gettext_noop("Expires after (seconds)"), Widget.NUMBER, low=1,
              help=gettext_noop("Leave empty to keep it until it is forgotten.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_scope_label(data.get("scope")), as_text(data.get("key"))]

    def prepare(self, spec: NodeSpec) -> PreparedStore:
        config = self.configure(spec)
        return PreparedStore(config, Template.of(config.key))

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("stored", "boolean", gettext_noop("True if stored")),
            Output("key", "string", gettext_noop("Resolved key")),
            Output("reason", "string", gettext_noop("Reason if not stored")),
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
        key = prepared.key_template.render_text(ctx.pool)
        metadata = dict(config.metadata or {})
        for name, selector in (config.metadata_selectors or {}).items():
            metadata[name] = ctx.pool.get_or_none(selector)
        value = ctx.pool.get_or_none(config.value_selector)
        tier = _apply_trust(prepared, ctx, metadata)
        ctx.record_inputs({"scope": config.scope, "key": key, "metadata": metadata, "value": value})
        try:
            entry = await get_memory(ctx, config.scope).store(
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
            rejection = build_rejected_event(fault, ctx, config.scope, key)
            if rejection is None:
                raise
            outputs = {"stored": False, "key": key, "reason": str(fault)}
            return NodeResult(outputs, events=(rejection,))
        if config.tier != QUARANTINE and getattr(entry, "tier", config.tier) == QUARANTINE:
            quarantine_event = build_quarantined_event(entry, ctx.node_id, config.scope, key)
            outputs = {"stored": False, "key": key, "reason": ", ".join(quarantine_event.reasons)}
            return NodeResult(outputs, events=(quarantine_event,))
        event = build_written_event(entry, ctx.node_id, config.scope)
        # Memory may have normalized the key or removed a secret from it; the entry's own key can be recalled.
        return NodeResult({"stored": True, "key": entry.key}, events=(event,))


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
