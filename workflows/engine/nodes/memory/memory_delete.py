"""Forget: soft-deletes the entry of a key or all entries that match a filter; this can be undone.

If text from outside names the key, or decided that the node runs, a person is asked first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import model_validator

from workflows.engine.appearance import Data, join_names
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.templating import Template
from workflows.engine.nodes.memory.consent import (
    build_digest,
    describe_meant,
    find_meant,
    may_forget,
    needs_consent,
)
from workflows.engine.nodes.memory.memory_access import SCOPE_FIELD, get_memory
from workflows.engine.ports import Origin
from workflows.engine.runtime.events import MemoryForgotten
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


class DeleteConfig(NodeConfig):
    scope: str
    key: str | None = None
    filter: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_selection(self) -> "DeleteConfig":
        """Reject empty settings, because an empty field must not delete a whole memory."""
        if not self.key and not self.filter:
            raise ValueError("Set a key or a metadata filter to select what to forget")
        return self


@dataclass(frozen=True, slots=True)
class Prepared:
    config: DeleteConfig
    key_template: Template | None


class MemoryDelete(NodeKind[DeleteConfig, Prepared]):
    name = "memory-delete"
    title = gettext_noop("Forget")
    description = gettext_noop("Forgets memories by key or metadata; can be undone")
    group = "memory"
    palette_order = 40
    icon = "forget"
    family = "memory"
    config_model = DeleteConfig
    has_effect = True
    leak_check_settings = ({"scope": "user", "key": "tried"},)
    needs_memory = True
    memory_preview = "forget"
    fields = (
        SCOPE_FIELD,
        Field("key", gettext_noop("Key"), Widget.TEMPLATE, example="name",
              help=gettext_noop("Forgets the entry with this key. If empty, all entries that match the metadata filter.")),
        Field("filter", gettext_noop("Metadata filter"), Widget.METADATA_FILTER,
              help=gettext_noop("Without a key, all matching entries are forgotten.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        metadata = data.get("filter")
        parts = metadata.items() if isinstance(metadata, Mapping) else ()
        filters = join_names(f"{name}: {as_text(value)}" for name, value in parts)
        return [get_scope_label(data.get("scope")), as_text(data.get("key")) or filters]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(config, Template.of(config.key) if config.key else None)

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (Output("deleted", "number", gettext_noop("Number of forgotten entries")),)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config, key = prepared.config, _render_key(prepared.key_template, ctx)
        selection = {"scope": config.scope, "key": key, "filter": config.filter}
        ctx.record_inputs(selection)
        selectors = prepared.key_template.references if prepared.key_template else ()
        if needs_consent(ctx, selectors):
            deleted = await _forget_allowed(config, key, selection, ctx)
        else:
            deleted = await _delete(ctx, config.scope, ctx.origin, key=key, filter=config.filter)
        forgotten = MemoryForgotten(ctx.node_id, config.scope, deleted, key, config.filter)
        return NodeResult({"deleted": deleted}, events=(forgotten,))


async def _forget_allowed(
    config: DeleteConfig, key: str | None, selection: Mapping[str, Json], ctx: NodeContext
) -> int:
    """Forget the memories that a person has seen and allowed, one by one, and return their number."""
    hits = await find_meant(ctx, config.scope, ctx.origin, key=key, filter=config.filter or None)
    if not hits or not may_forget(ctx, selection, describe_meant(hits), build_digest(hits)):
        return 0
    count = 0
    for hit in hits:
        # Memory answers a repeated call of a step with its first answer, so that each has a key of its own.
        origin = replace(ctx.origin, idempotency_key=f"{ctx.origin.idempotency_key}:{hit.id}")
        count += await _delete(ctx, config.scope, origin, key=hit.key)
    return count


async def _delete(
    ctx: NodeContext,
    scope: str,
    origin: Origin,
    *,
    key: str | None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 -- the word of the nodes
) -> int:
    return await get_memory(ctx, scope).delete(
        scope=scope, identity=ctx.identity, origin=origin, key=key, filter=filter or None
    )


def _render_key(template: Template | None, ctx: NodeContext) -> str | None:
    """Return the key. Raises EngineFault for a missing variable or an empty key, which would select other entries."""
    if template is None:
        return None
    for selector in template.references:
        ctx.pool.require(selector)
    key = template.render_text(ctx.pool)
    if not key:
        raise NodeFailed("MemoryKeyEmpty", "The key is empty; nothing was forgotten")
    return key
