"""Write pages: into the page that is about the same, so that no two are about one thing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import MemoryUnavailable, NodeFailed
from workflows.engine.events import Event, MemoryWritten
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
from workflows.engine.memory_ports import KeptPage, KnowledgePort
from workflows.engine.outside import WEB, has_to_wait, is_from_outside
from workflows.engine.problems import Problem
from workflows.engine.recalling import held_back, kept_out, memory_of
from workflows.engine.templating import Template


TEXTS = ("id", "title", "summary", "content")
Mode = Literal["merge", "replace"]
MERGE: Mode = "merge"
REPLACE: Mode = "replace"


class WriteConfig(NodeConfig):
    """``page_title``, because every node has a title of its own."""

    scope: str = "global"
    mode: Mode = MERGE
    page_id: str = ""
    page_title: str = ""
    page_summary: str = ""
    page_content: str = ""
    tags: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    pages_selector: tuple[str, ...] | None = None
    trusts_outside: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    config: WriteConfig
    texts: dict[str, Template]


class KnowledgeWrite(NodeKind[WriteConfig, Prepared]):
    name = "knowledge-write"
    title = gettext_noop("Write pages")
    description = gettext_noop("Writes knowledge pages, merging into those that are there.")
    group = "memory"
    config_model = WriteConfig
    has_effect = True
    needs_memory = True
    fields = (
        Field("scope", gettext_noop("Whose pages"), Widget.CHOICE, required=True,
              default="global", choices=(
                  ("global", gettext_noop("Everyone")),
                  ("user", gettext_noop("This person")),
                  ("conversation", gettext_noop("This conversation")),
              )),
        Field("mode", gettext_noop("A page about it is there"), Widget.CHOICE, default=MERGE,
              choices=(
                  (MERGE, gettext_noop("Add what is new to it")),
                  (REPLACE, gettext_noop("Put this in its place")),
              ),
              help=gettext_noop("Either way what it said before stays as a revision.")),
        Field("page_title", gettext_noop("Title of the page"), Widget.TEMPLATE,
              example="{{#start.topic#}}"),
        Field("page_summary", gettext_noop("Summary"), Widget.TEMPLATE),
        Field("page_content", gettext_noop("Content (Markdown)"), Widget.TEMPLATE,
              help=gettext_noop("[[Title]] refers to another page.")),
        Field("tags", gettext_noop("Tags"), Widget.STRINGS, example=["release"]),
        Field("references", gettext_noop("Refers to (ids of pages)"), Widget.STRINGS),
        Field("page_id", gettext_noop("Id of the page"), Widget.TEMPLATE,
              help=gettext_noop("Empty: made from the title.")),
        Field("pages_selector", gettext_noop("Pages from"), Widget.SELECTOR,
              help=gettext_noop("Many at once: a list of objects with title, summary, content, tags, references.")),
        Field("trusts_outside", gettext_noop("Remember what comes from outside at once"),
              Widget.SWITCH, help=gettext_noop(
                  "Text from the web or a tool, meant for this person or everyone, waits in quarantine until somebody approves it. On: it doesn't wait.")),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        texts = {name: Template.of(getattr(config, f"page_{name}")) for name in TEXTS}
        return Prepared(config, texts)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems or spec.data.get("page_title") or spec.data.get("pages_selector"):
            return problems
        message = gettext_noop("A page needs a title, or pages come from a variable")
        return [Problem(code="config.missing", message=message, node=spec.id, field="page_title")]

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("pages", "array[object]", gettext_noop("The pages as they are now")),
            Output("count", "number", gettext_noop("How many were written")),
            Output("merged", "number", gettext_noop("How many of these were there already")),
            Output("id", "string", gettext_noop("The id of the first")),
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).pages_selector
        return (selector,) if selector else ()

    def waits(self, spec: NodeSpec, outside: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        read = [*_read(prepared), config.pages_selector]
        return is_from_outside(read, outside) and has_to_wait(
            config.scope, trusted=config.trusts_outside
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        drafts = _drafts(prepared, ctx)
        ctx.give({"scope": config.scope, "mode": config.mode, "pages": drafts})
        memory = memory_of(ctx, config.scope)
        if not isinstance(memory, KnowledgePort):
            raise MemoryUnavailable("This memory keeps no knowledge pages")
        try:
            kept = (
                await memory.write_pages(
                    scope=config.scope,
                    identity=ctx.identity,
                    origin=ctx.origin,
                    pages=drafts,
                    mode=config.mode,
                )
                if drafts
                else ()
            )
        except Exception as fault:
            refused = kept_out(fault, ctx, config.scope, str(drafts[0].get("title", "")))
            if refused is None:
                raise
            nothing: dict[str, Json] = {"pages": [], "count": 0, "merged": 0, "id": ""}
            return NodeResult(nothing, events=(refused,))
        written = [one for one in kept if not one.held]
        pages = [{**one.page, "merged_for": one.merged_for} for one in written]
        outputs: dict[str, Json] = {
            "pages": pages,
            "count": len(pages),
            "merged": sum(bool(one.merged_for) for one in written),
            "id": pages[0]["id"] if pages else "",
        }
        events: tuple[Event, ...] = tuple(
            held_back(one.entry, ctx.node_id, config.scope, str(one.page["title"]))
            if one.held
            else _written(ctx.node_id, config.scope, one)
            for one in kept
        )
        return NodeResult(outputs, events=events)


def _drafts(prepared: Prepared, ctx: NodeContext) -> list[dict[str, Json]]:
    """The page written in the node, then those of the variable; a list may well be empty."""
    config = prepared.config
    texts: dict[str, Json] = {
        name: template.text(ctx.pool) for name, template in prepared.texts.items()
    }
    lists: dict[str, Json] = {"tags": list(config.tags), "references": list(config.references)}
    own = [_whose({**texts, **lists}, _read(prepared), prepared, ctx)] if config.page_title else []
    selector = config.pages_selector
    found = ctx.pool.get_or_none(selector) if selector else None
    if found is None:
        return own
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in listed):
        raise NodeFailed("InvalidPages", "pages_selector: a list of objects was expected")
    return [*own, *(_whose(one, [selector], prepared, ctx) for one in listed)]


def _read(prepared: Prepared) -> list[Selector]:
    return [one for template in prepared.texts.values() for one in template.references]


def _whose(
    draft: Mapping[str, Json],
    read: Sequence[Selector | None],
    prepared: Prepared,
    ctx: NodeContext,
) -> dict[str, Json]:
    """What a draft says about itself isn't asked: a model may have written it."""
    plain = {name: value for name, value in draft.items() if name not in ("origin", "hold")}
    if not is_from_outside(read, ctx.outside):
        return plain
    config = prepared.config
    return plain | {
        "origin": WEB,
        "hold": has_to_wait(config.scope, trusted=config.trusts_outside),
    }


def _written(node: str, scope: str, kept: KeptPage) -> MemoryWritten:
    entry = kept.entry
    said = {"id": entry.id, "key": entry.key, "value": entry.value}
    return MemoryWritten(node, scope, entry.namespace, said)
