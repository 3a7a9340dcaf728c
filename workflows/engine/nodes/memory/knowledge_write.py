"""Write knowledge: merges new content into the page on its subject, so that there is one page for each subject."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template
from workflows.engine.language.untrusted import WEB, has_untrusted_source, needs_scope_review
from workflows.engine.memory_ports import StoredPage
from workflows.engine.nodes.memory.memory_access import (
    PAGE_SCOPES,
    TRUSTS_OUTSIDE_FIELD,
    build_quarantined_event,
    build_rejected_event,
    build_written_event,
    get_knowledge,
    get_objects,
)
from workflows.engine.runtime.events import Event
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


Mode = Literal["merge", "replace"]
MERGE: Mode = "merge"
REPLACE: Mode = "replace"


class WriteConfig(NodeConfig):
    """The settings of the node. The page's title is ``page_title``, because ``title`` is the title of the node."""

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

    @property
    def selectors(self) -> list[Selector]:
        """Return the variables from which the texts of the page come."""
        return [selector for text in self.texts.values() for selector in text.references]


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
        Field("scope", gettext_noop("Scope"), Widget.CHOICE, required=True, default="global",
              choices=PAGE_SCOPES),
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
        TRUSTS_OUTSIDE_FIELD,
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        page = as_text(data.get("page_title")) or get_variable_name(data.get("pages_selector"))
        return [get_scope_label(data.get("scope") or self.default_scope), page]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        names = ("id", "title", "summary", "content")
        return Prepared(config, {n: Template.of(getattr(config, f"page_{n}")) for n in names})

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
        selectors = [*prepared.selectors, config.pages_selector]
        return has_untrusted_source(selectors, untrusted) and needs_scope_review(
            config.scope, trusted=config.trusts_outside
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        drafts = _collect_drafts(prepared, ctx)
        ctx.record_inputs({"scope": config.scope, "mode": config.mode, "pages": drafts})
        knowledge = get_knowledge(ctx, config.scope)
        results: Sequence[StoredPage] = ()
        events: list[Event] = []
        try:
            if drafts:
                results = await knowledge.write_pages(
                    scope=config.scope,
                    identity=ctx.identity,
                    origin=ctx.origin,
                    pages=drafts,
                    mode=config.mode,
                )
        except Exception as fault:
            title = str(drafts[0].get("title", ""))
            rejection = build_rejected_event(fault, ctx, config.scope, title)
            if rejection is None:
                raise
            events.append(rejection)
        events += [_build_event(result, ctx.node_id, config.scope) for result in results]
        return NodeResult(_build_outputs(results), events=tuple(events))


def _collect_drafts(prepared: Prepared, ctx: NodeContext) -> list[dict[str, Json]]:
    """Return the page configured in the node, then those of the variable, which may be an empty list."""
    config = prepared.config
    drafts = get_objects(config.pages_selector, ctx, "InvalidPages", "pages_selector")
    drafts = [_add_origin(draft, [config.pages_selector], prepared, ctx) for draft in drafts]
    if config.page_title:
        texts = {name: text.render_text(ctx.pool) for name, text in prepared.texts.items()}
        page = {**texts, "tags": list(config.tags), "references": list(config.references)}
        drafts.insert(0, _add_origin(page, prepared.selectors, prepared, ctx))
    return drafts


def _add_origin(
    draft: Mapping[str, Json],
    selectors: Sequence[Selector | None],
    prepared: Prepared,
    ctx: NodeContext,
) -> dict[str, Json]:
    """Replace the origin that a draft states, because a model may have written it."""
    content = {name: value for name, value in draft.items() if name not in ("origin", "hold")}
    if not has_untrusted_source(selectors, ctx.untrusted):
        return content
    hold = needs_scope_review(prepared.config.scope, trusted=prepared.config.trusts_outside)
    return content | {"origin": WEB, "hold": hold}


def _build_event(result: StoredPage, node_id: str, scope: str) -> Event:
    if not result.held:
        return build_written_event(result.entry, node_id, scope)
    return build_quarantined_event(result.entry, node_id, scope, str(result.page["title"]))


def _build_outputs(results: Sequence[StoredPage]) -> dict[str, Json]:
    stored = [result for result in results if not result.held]
    pages = [{**result.page, "merged_for": result.merged_for} for result in stored]
    return {
        "pages": pages,
        "count": len(pages),
        "merged": sum(bool(result.merged_for) for result in stored),
        "id": pages[0]["id"] if pages else "",
    }
