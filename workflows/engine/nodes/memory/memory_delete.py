"""Forget: softly, so that it can be undone; what a key names, or what a filter finds."""

from dataclasses import dataclass
from typing import Any

from pydantic import model_validator

from workflows.engine.document import NodeSpec
from workflows.engine.errors import NodeFailed
from workflows.engine.events import MemoryForgotten
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
from workflows.engine.recalling import memory_of
from workflows.engine.remembering import DEFAULT_SCOPE, SCOPES
from workflows.engine.templating import Template


class DeleteConfig(NodeConfig):
    scope: str
    key: str | None = None
    filter: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _says_which(self) -> "DeleteConfig":
        """All of a memory isn't forgotten by leaving a field empty."""
        if not self.key and not self.filter:
            raise ValueError("Say which memory to forget: a key, or metadata it must have")
        return self


@dataclass(frozen=True, slots=True)
class Prepared:
    config: DeleteConfig
    key: Template | None


class MemoryDelete(NodeKind[DeleteConfig, Prepared]):
    name = "memory-delete"
    title = gettext_noop("Forget")
    description = gettext_noop("Forgets what a key names or a filter finds; it can be undone.")
    group = "memory"
    config_model = DeleteConfig
    has_effect = True
    needs_memory = True
    fields = (
        Field("scope", gettext_noop("Whose memory"), Widget.CHOICE, required=True,
              default=DEFAULT_SCOPE, choices=SCOPES),
        Field("key", gettext_noop("Key"), Widget.TEMPLATE, example="name",
              help=gettext_noop("The entry under this key. Empty: everything with the metadata below.")),
        Field("filter", gettext_noop("Only with this metadata"), Widget.OBJECT,
              help=gettext_noop("Without a key, all that has it is forgotten.")),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(config, Template.of(config.key) if config.key else None)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (Output("deleted", "number", gettext_noop("How many were forgotten")),)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config, key = prepared.config, _filled(prepared.key, ctx)
        ctx.give({"scope": config.scope, "key": key, "filter": config.filter})
        deleted = await memory_of(ctx, config.scope).delete(
            scope=config.scope,
            identity=ctx.identity,
            origin=ctx.origin,
            key=key,
            filter=config.filter or None,
        )
        forgotten = MemoryForgotten(ctx.node_id, config.scope, deleted, key, config.filter)
        return NodeResult({"deleted": deleted}, events=(forgotten,))


def _filled(template: Template | None, ctx: NodeContext) -> str | None:
    """A variable that isn't there must not become a key of its name, nor an empty one no key at all."""
    if template is None:
        return None
    for selector in template.references:
        ctx.pool.require(selector)
    key = template.text(ctx.pool)
    if not key:
        raise NodeFailed("MemoryKeyEmpty", "The key is empty; nothing was forgotten")
    return key
