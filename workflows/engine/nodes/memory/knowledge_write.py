"""Write pages: new content is merged into the page on the same subject, so that there is one page for each subject."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import MemoryUnavailable, NodeFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template
from workflows.engine.language.untrusted import WEB, has_untrusted_source, needs_review
from workflows.engine.memory_ports import KnowledgePort, StoredPage
from workflows.engine.nodes.memory.memory_access import (
    build_held_event,
    build_rejected_event,
    get_memory,
)
from workflows.engine.runtime.events import Event, MemoryWritten
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


TEXTS = ("id", "title", "summary", "content")
Mode = Literal["merge", "replace"]
MERGE: Mode = "merge"
REPLACE: Mode = "replace"


class WriteConfig(NodeConfig):
    """The settings; the page's title is ``page_title``, because ``title`` is the node's."""

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
    title = gettext_noop("Write knowledge")
    description = gettext_noop(
        "Writes pages to the knowledge base and merges them with existing pages"
    )
    group = "memory"
    palette_order = 70
    icon = "edit"
    family = "memory"
    config_model = WriteConfig
    has_effect = True
    leak_check_settings = ({"scope": "user", "page_title": "Tried", "page_content": "Tried."},)
    needs_memory = True
    default_scope = "global"
    fields = (
        Field("scope", gettext_noop("Scope"), Widget.CHOICE, required=True,
              default="global", choices=(
                  ("global", gettext_noop("Global")),
                  ("user", gettext_noop("User")),
                  ("conversation", gettext_noop("Conversation")),
              )),
        Field("mode", gettext_noop("If the page exists"), Widget.CHOICE, default=MERGE,
              choices=(
                  (MERGE, gettext_noop("Merge")),
                  (REPLACE, gettext_noop("Replace")),
              ),
              help=gettext_noop("The previous content is kept as a revision.")),
        Field("page_title", gettext_noop("Page title"), Widget.TEMPLATE,
              example="{{#start.topic#}}"),
        Field("page_summary", gettext_noop("Summary"), Widget.TEMPLATE),
        Field("page_content", gettext_noop("Content (Markdown)"), Widget.TEMPLATE,
              help=gettext_noop("Use [[Title]] to link to another page.")),
        Field("tags", gettext_noop("Tags"), Widget.STRINGS, example=["release"]),
        Field("references", gettext_noop("References (page IDs)"), Widget.STRINGS),
        Field("page_id", gettext_noop("Page ID"), Widget.TEMPLATE,
              help=gettext_noop("Leave empty to create it from the title.")),
        Field("pages_selector", gettext_noop("Pages variable"), Widget.SELECTOR,
              help=gettext_noop("For several pages: a list of objects with title, summary, content, tags and references.")),
        Field("trusts_outside", gettext_noop("Skip quarantine for external content"),
              Widget.SWITCH, help=gettext_noop(
                  "By default, text from the web or a tool in user or global scope stays in quarantine until it is approved. Turn this on to store it directly.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        page = as_text(data.get("page_title")) or get_variable_name(data.get("pages_selector"))
        return [get_scope_label(data.get("scope") or self.default_scope), page]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        texts = {name: Template.of(getattr(config, f"page_{name}")) for name in TEXTS}
        return Prepared(config, texts)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems or spec.data.get("page_title") or spec.data.get("pages_selector"):
            return problems
        message = gettext_noop("Enter a title or select a pages variable")
        return [Problem(code="config.missing", message=message, node=spec.id, field="page_title")]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("pages", "array[object]", gettext_noop("Pages after writing")),
            Output("count", "number", gettext_noop("Number of pages written")),
            Output("merged", "number", gettext_noop("Number of pages merged")),
            Output("id", "string", gettext_noop("ID of the first page")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).pages_selector
        return (selector,) if selector else ()

    def needs_review(self, spec: NodeSpec, untrusted: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        selectors = [*_list_selectors(prepared), config.pages_selector]
        return has_untrusted_source(selectors, untrusted) and needs_review(
            config.scope, trusted=config.trusts_outside
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        drafts = _collect_drafts(prepared, ctx)
        ctx.record_inputs({"scope": config.scope, "mode": config.mode, "pages": drafts})
        memory = get_memory(ctx, config.scope)
        if not isinstance(memory, KnowledgePort):
            raise MemoryUnavailable("This memory provider doesn't support knowledge pages")
        try:
            results = (
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
            rejection = build_rejected_event(
                fault, ctx, config.scope, str(drafts[0].get("title", ""))
            )
            if rejection is None:
                raise
            empty_outputs: dict[str, Json] = {"pages": [], "count": 0, "merged": 0, "id": ""}
            return NodeResult(empty_outputs, events=(rejection,))
        stored = [result for result in results if not result.held]
        pages = [{**result.page, "merged_for": result.merged_for} for result in stored]
        outputs: dict[str, Json] = {
            "pages": pages,
            "count": len(pages),
            "merged": sum(bool(result.merged_for) for result in stored),
            "id": pages[0]["id"] if pages else "",
        }
        events: tuple[Event, ...] = tuple(
            build_held_event(result.entry, ctx.node_id, config.scope, str(result.page["title"]))
            if result.held
            else _build_event(ctx.node_id, config.scope, result)
            for result in results
        )
        return NodeResult(outputs, events=events)


def _collect_drafts(prepared: Prepared, ctx: NodeContext) -> list[dict[str, Json]]:
    """Return the page configured in the node, then those of the variable, which may be an empty list."""
    config = prepared.config
    texts: dict[str, Json] = {
        name: template.render_text(ctx.pool) for name, template in prepared.texts.items()
    }
    lists: dict[str, Json] = {"tags": list(config.tags), "references": list(config.references)}
    drafts = (
        [_add_origin({**texts, **lists}, _list_selectors(prepared), prepared, ctx)]
        if config.page_title
        else []
    )
    selector = config.pages_selector
    value = ctx.pool.get_or_none(selector) if selector else None
    if value is None:
        return drafts
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items):
        raise NodeFailed("InvalidPages", "pages_selector: a list of objects was expected")
    return [*drafts, *(_add_origin(item, [selector], prepared, ctx) for item in items)]


def _list_selectors(prepared: Prepared) -> list[Selector]:
    return [selector for template in prepared.texts.values() for selector in template.references]


def _add_origin(
    draft: Mapping[str, Json],
    selectors: Sequence[Selector | None],
    prepared: Prepared,
    ctx: NodeContext,
) -> dict[str, Json]:
    """Replace the origin that a draft states, because a model may have written it."""
    plain = {name: value for name, value in draft.items() if name not in ("origin", "hold")}
    if not has_untrusted_source(selectors, ctx.untrusted):
        return plain
    config = prepared.config
    return plain | {
        "origin": WEB,
        "hold": needs_review(config.scope, trusted=config.trusts_outside),
    }


def _build_event(node: str, scope: str, result: StoredPage) -> MemoryWritten:
    entry = result.entry
    values = {"id": entry.id, "key": entry.key, "value": entry.value}
    return MemoryWritten(node, scope, entry.namespace, values)
