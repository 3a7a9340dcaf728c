"""Write knowledge: merges new content into the page on its subject, so that there is one page for each subject."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.initial_values import Surroundings
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.content_marks.untrusted import WEB, is_influenced, needs_scope_review
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.memory_usage import get_scope_label
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template, format_reference
from workflows.engine.memory_ports import StoredPage
from workflows.engine.nodes.memory.memory_access import (
    PAGE_SCOPES,
    TRUSTS_OUTSIDE_FIELD,
    build_quarantined_event,
    build_rejected_event,
    build_written_event,
    find_field_with_secret,
    get_knowledge,
    get_objects,
    get_wiki,
    refuse_secret,
)
from workflows.engine.ports import MemoryHit
from workflows.engine.runtime.events import Event, MemoryKeptOut
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


Mode = Literal["merge", "replace"]
SourceKind = Literal["", "conversation", "text", "url", "run"]
MERGE: Mode = "merge"
REPLACE: Mode = "replace"
# No model may set these of a draft.
_MARKS: Final = frozenset({"origin", "hold", "spares_trusted"})
# The settings whose names don't begin with ``page_``, by what they are in a draft.
_PAGE_FIELDS: Final = {"tags": "tags", "references": "references"}
NEW_PAGE_TITLE: Final = gettext_noop("Notes")


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
    source_text: str = ""
    source_title: str = ""
    source_url: str = ""
    source_kind: SourceKind = ""
    compile_stale: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """The settings with the parsed texts of the page and of the source."""

    config: WriteConfig
    texts: dict[str, Template]
    source_texts: dict[str, Template]

    @property
    def selectors(self) -> list[Selector]:
        """Return the variables from which the texts of the page come."""
        return [selector for text in self.texts.values() for selector in text.references]

    @property
    def source_selectors(self) -> list[Selector]:
        return [selector for text in self.source_texts.values() for selector in text.references]


class KnowledgeWrite(NodeKind[WriteConfig, Prepared]):
    name = "knowledge-write"
    title = gettext_noop("Write knowledge")
    description = gettext_noop(
        "Writes pages to the knowledge base and merges them with existing pages"
    )
    group = "memory"
    palette_order = 70
    icon = "book-edit"
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
        Field("references", gettext_noop("References (page IDs)"), Widget.STRINGS,
              is_advanced=True),
        Field("page_id", gettext_noop("Page ID"), Widget.TEMPLATE, is_advanced=True,
              help=gettext_noop("Leave empty to create it from the title.")),
        Field("pages_selector", gettext_noop("Pages variable"), Widget.SELECTOR,
              help=gettext_noop("For several pages: a list of objects with title, summary, content, tags and references.")),
        Field("source_text", gettext_noop("Source"), Widget.TEMPLATE,
              help=gettext_noop("The text from which the pages come. It is kept, and a text that was added before changes nothing.")),
        Field("source_title", gettext_noop("Title of the source"), Widget.TEMPLATE,
              is_advanced=True),
        Field("source_url", gettext_noop("Web address of the source"), Widget.TEMPLATE,
              is_advanced=True),
        Field("source_kind", gettext_noop("Kind of source"), Widget.CHOICE, default="", is_advanced=True,
              choices=(
                  ("", gettext_noop("Automatic")),
                  ("conversation", gettext_noop("Conversation")),
                  ("text", gettext_noop("Text")),
                  ("url", gettext_noop("Web page")),
                  ("run", gettext_noop("Run")),
              )),
        Field("compile_stale", gettext_noop("Compile stale pages anew"), Widget.SWITCH, is_advanced=True,
              help=gettext_noop("By rules, after writing: pages with a source that changed or was forgotten.")),
        TRUSTS_OUTSIDE_FIELD,
    )  # fmt: skip

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Return the settings that add the text to one page, whose title is there to be changed."""
        text = surroundings.text or surroundings.message
        if text is None:
            return {}
        title = surroundings.translate(NEW_PAGE_TITLE)
        return {"page_title": title, "page_content": format_reference(text)}

    def summarize(self, data: Data) -> Iterable[Text]:
        page = as_text(data.get("page_title")) or get_variable_name(data.get("pages_selector"))
        return [get_scope_label(data.get("scope") or self.default_scope), page]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        names = ("id", "title", "summary", "content")
        texts = {n: Template.of(getattr(config, f"page_{n}")) for n in names}
        source_names = ("text", "title", "url")
        source = {n: Template.of(getattr(config, f"source_{n}")) for n in source_names}
        return Prepared(config, texts, source)

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        names = ("page_title", "pages_selector", "source_text", "compile_stale")
        if problems or any(spec.data.get(name) for name in names):
            return problems
        message = gettext_noop("Enter a title or select a pages variable")
        return [Problem(code="config.missing", message=message, node=spec.id, field="page_title")]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("pages", "array[object]", gettext_noop("Pages after writing")),
            Output("count", "number", gettext_noop("Number of pages written")),
            Output("merged", "number", gettext_noop("Number of pages merged")),
            Output("id", "string", gettext_noop("ID of the first page")),
            Output("source", "string", gettext_noop("ID of the source")),
            Output("compiled", "number", gettext_noop("Number of pages compiled anew")),
            Output("reason", "string", gettext_noop("Reason if not stored")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).pages_selector
        return (selector,) if selector else ()

    def needs_review(self, spec: NodeSpec, untrusted: frozenset[str]) -> bool:
        prepared = self.prepare(spec)
        config = prepared.config
        selectors = [*prepared.selectors, *prepared.source_selectors, config.pages_selector]
        return is_influenced(spec.id, selectors, untrusted) and needs_scope_review(
            config.scope, trusted=config.trusts_outside
        )

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        config = prepared.config
        drafts = _collect_drafts(prepared, ctx)
        ctx.record_inputs({"scope": config.scope, "mode": config.mode, "pages": drafts})
        source = _build_source(prepared, ctx)
        drafts, source, refusals = await _refuse_secrets(prepared, drafts, source, ctx)
        title = str((drafts[0] if drafts else source or {}).get("title", ""))
        written = Written()
        events: list[Event] = [refusal for refusal, _reason in refusals]
        try:
            written = await _write(drafts, source, config, ctx)
        except Exception as fault:
            rejection = build_rejected_event(fault, ctx, config.scope, title)
            if rejection is None:
                raise
            events.append(rejection)
        events += [
            build_written_event(entry, ctx.node_id, config.scope) for entry in written.entries
        ]
        events += [
            build_quarantined_event(entry, ctx.node_id, config.scope, name)
            for entry, name in written.quarantined
        ]
        outputs = written.build_outputs()
        if refusals:
            outputs["reason"] = "; ".join(dict.fromkeys(reason for _refusal, reason in refusals))
        return NodeResult(outputs, events=tuple(events))


@dataclass(frozen=True, slots=True)
class Written:
    """A step wrote these: the pages as values, their entries, and what is in quarantine, with its title."""

    pages: Sequence[Mapping[str, Json]] = ()
    entries: Sequence[MemoryHit] = ()
    quarantined: Sequence[tuple[MemoryHit, str]] = ()
    source: str = ""
    compiled: int = 0

    def build_outputs(self) -> dict[str, Json]:
        pages = [dict(page) for page in self.pages]
        return {
            "pages": pages,
            "count": len(pages),
            "merged": sum(bool(page["merged_for"]) for page in pages),
            "id": pages[0]["id"] if pages else "",
            "source": self.source,
            "compiled": self.compiled,
        }


async def _write(
    drafts: Sequence[Mapping[str, Json]],
    source: Mapping[str, Json] | None,
    config: WriteConfig,
    ctx: NodeContext,
) -> Written:
    address: dict[str, Any] = {
        "scope": config.scope,
        "identity": ctx.identity,
        "origin": ctx.origin,
    }
    if source is not None:
        written = await _ingest(drafts, source, config, ctx, address)
    else:
        knowledge = get_knowledge(ctx, config.scope)  # an error without memory, also without drafts
        results: Sequence[StoredPage] = ()
        if drafts:
            results = await knowledge.write_pages(**address, pages=drafts, mode=config.mode)
        written = _collect_results(results)
    if not config.compile_stale:
        return written
    wiki = get_wiki(ctx, config.scope)
    compiled = await wiki.maintain_wiki(**address, action="compile", arguments={})
    entries = (*written.entries, *compiled.entries)
    return replace(written, entries=entries, compiled=len(compiled.entries))


async def _ingest(
    drafts: Sequence[Mapping[str, Json]],
    source: Mapping[str, Json],
    config: WriteConfig,
    ctx: NodeContext,
    address: Mapping[str, Any],
) -> Written:
    """Record the source, and write the drafts with it."""
    arguments = {"source": source, "pages": list(drafts), "mode": config.mode}
    wiki = get_wiki(ctx, config.scope)
    result = await wiki.maintain_wiki(**address, action="ingest", arguments=arguments)
    data: Mapping[str, Any] = result.data  # as ``maintain_wiki`` describes it
    title = str(data["source"]["title"])
    quarantined = [(entry, title) for entry in result.held]
    return Written(data["pages"], result.entries, quarantined, str(data["source"]["id"]))


def _collect_results(results: Sequence[StoredPage]) -> Written:
    stored = [result for result in results if not result.held_for]
    return Written(
        [{**result.page, "merged_for": result.merged_for} for result in stored],
        [result.entry for result in stored],
        [(result.entry, str(result.page["title"])) for result in results if result.held_for],
    )


async def _refuse_secrets(
    prepared: Prepared,
    drafts: Sequence[dict[str, Json]],
    source: dict[str, Json] | None,
    ctx: NodeContext,
) -> tuple[list[dict[str, Json]], dict[str, Json] | None, list[tuple[MemoryKeptOut, str]]]:
    """Return the drafts and the source without those that have a stored secret in them, and what tells of these.

    Pages of a source that may not be kept are not written either.
    """
    config = prepared.config
    source_fields = {f"source_{name}": value for name, value in (source or {}).items()}
    if field := await find_field_with_secret(ctx, source_fields):
        return [], None, [refuse_secret(ctx, config.scope, field)]
    accepted: list[dict[str, Json]] = []
    refusals: list[tuple[MemoryKeptOut, str]] = []
    for index, draft in enumerate(drafts):
        is_configured = bool(config.page_title) and index == 0
        fields: dict[str, Json] = (
            {_PAGE_FIELDS.get(name, f"page_{name}"): value for name, value in draft.items()}
            if is_configured
            else {"pages_selector": draft}
        )
        if field := await find_field_with_secret(ctx, fields):
            refusals.append(refuse_secret(ctx, config.scope, field))
        else:
            accepted.append(draft)
    return accepted, source, refusals


def _build_source(prepared: Prepared, ctx: NodeContext) -> dict[str, Json] | None:
    """Return the source, or None without a text."""
    texts = {name: text.render_text(ctx.pool) for name, text in prepared.source_texts.items()}
    if not texts["text"].strip():
        return None
    source = {**texts, "kind": prepared.config.source_kind}
    return _add_origin(source, prepared.source_selectors, prepared, ctx)


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
    content = {name: value for name, value in draft.items() if name not in _MARKS}
    if not is_influenced(ctx.node_id, selectors, ctx.untrusted):
        return content
    is_trusted = prepared.config.trusts_outside
    hold = needs_scope_review(prepared.config.scope, trusted=is_trusted)
    return content | {"origin": WEB, "hold": hold, "spares_trusted": not is_trusted}
