"""The forms of the knowledge pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.core.records import Json
from memory.forms.browsing import FilterForm
from memory.logic.entries.duplicates import normalize
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.knowledge.wiki_sources import MAX_SOURCE_LENGTH
from memory.services.knowledge.naming import MAX_DESCRIPTION, MAX_NAME


FIELDS = ("title", "summary", "content", "tags", "references", "aliases")


class PageForm(forms.Form):
    """The form of a page; ``references`` are entered as titles, one a line, and stored as ids."""

    title = forms.CharField(label=_("Title"), max_length=500)
    summary = forms.CharField(
        label=_("Summary"),
        max_length=5_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One or two sentences, shown in search results."),
    )
    content = forms.CharField(
        label=_("Content"),
        required=False,
        strip=False,
        max_length=500_000,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "true"}),
        help_text=_("Markdown. [[Title]] links to another page."),
    )
    tags = forms.CharField(
        label=_("Tags"), required=False, max_length=2_000, help_text=_("Separated by commas.")
    )
    references = forms.CharField(
        label=_("References"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Titles of other pages, one per line."),
    )
    aliases = forms.CharField(
        label=_("Aliases"),
        required=False,
        max_length=2_000,
        help_text=_("Separated by commas. Links and search find the page by its aliases, too."),
    )
    reason = forms.CharField(label=_("Reason (optional)"), required=False, max_length=500)
    revision = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)

    @classmethod
    def from_page(cls, page: KnowledgePage, other_pages: Sequence[KnowledgePage]) -> "PageForm":
        titles = {item.id: item.title for item in other_pages}
        return cls(
            initial={
                "title": page.title,
                "summary": page.summary,
                "content": page.content,
                "tags": ", ".join(page.tags),
                "references": "\n".join(titles.get(item, item) for item in page.references),
                "aliases": ", ".join(page.aliases),
                "revision": page.revision,
            }
        )

    def build_draft(self, other_pages: Sequence[KnowledgePage]) -> Mapping[str, Json]:
        """Return the draft of the page for the service, with LF as line ends, because browsers send CR LF."""
        data, names = self.cleaned_data, index_names(other_pages)
        references = [line.strip() for line in data["references"].splitlines() if line.strip()]
        return {
            "title": data["title"],
            "summary": _normalize_lines(data["summary"]),
            "content": _normalize_lines(data["content"]),
            "tags": data["tags"],
            "references": [names.get(normalize(reference), reference) for reference in references],
            "aliases": data["aliases"],
        }

    def build_changes(
        self, page: KnowledgePage, other_pages: Sequence[KnowledgePage]
    ) -> dict[str, Any]:
        """Return only the changed fields, so that the other ones keep the line ends of an imported file."""
        draft = self.build_draft(other_pages)
        before = PageForm.from_page(page, other_pages).initial
        values = {name: _normalize_lines(str(self.cleaned_data[name])) for name in FIELDS}
        return {
            name: draft[name] for name in FIELDS if values[name] != _normalize_lines(before[name])
        }


def index_names(pages: Sequence[KnowledgePage]) -> dict[str, str]:
    """Return page ids by id, title and alias; an id takes precedence over a title, and a title over an alias."""
    pairs = [(page.id, page.id) for page in pages] + [(page.title, page.id) for page in pages]
    pairs += [(alias, page.id) for page in pages for alias in page.aliases]
    return {normalize(name): page_id for name, page_id in reversed(pairs)}


def _normalize_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


class NameForm(forms.Form):
    """The form of a knowledge base's name and description."""

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME)
    description = forms.CharField(
        label=_("Description"),
        max_length=MAX_DESCRIPTION,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("What is in it, for whoever chooses it in a workflow."),
    )


class PageSearchForm(FilterForm):
    """The search in a knowledge base; invalid values in the URL are ignored."""

    q = forms.CharField(max_length=500, required=False, label=_("Search"))
    tag = forms.CharField(max_length=200, required=False, label=_("Tag"))
    stale = forms.BooleanField(required=False)

    def get_search(self) -> dict[str, Any]:
        return {
            "text": self.get_text("q"),
            "tag": self.get_text("tag"),
            "outdated": bool(self.get_value("stale")),
        }


class SourceForm(forms.Form):
    """The form of a source: a pasted text, its title, and the page that is written from it."""

    title = forms.CharField(
        label=_("Title"),
        max_length=500,
        required=False,
        widget=forms.TextInput(attrs={"class": "input"}),
    )
    url = forms.CharField(
        label=_("Web address"),
        max_length=2_000,
        required=False,
        widget=forms.TextInput(attrs={"class": "input"}),
    )
    text = forms.CharField(
        label=_("Text"),
        max_length=MAX_SOURCE_LENGTH,
        widget=forms.Textarea(attrs={"class": "input", "rows": 6}),
    )
    page = forms.CharField(
        label=_("Page"),
        max_length=500,
        required=False,
        help_text=_(
            "The title of a page to write the text into. Leave empty to add the source only."
        ),
    )

    def build_source(self) -> dict[str, Json]:
        return {name: self.cleaned_data[name] for name in ("title", "url", "text")}

    def build_pages(self) -> list[dict[str, Json]]:
        title = self.cleaned_data["page"].strip()
        return [{"title": title, "content": self.cleaned_data["text"]}] if title else []
