"""What people type on knowledge pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memory.core.records import Json
from memory.logic.entries.duplicates import normalize
from memory.logic.knowledge.pages import KnowledgePage


FIELDS = ("title", "summary", "content", "tags", "references", "aliases")


class PageForm(forms.Form):
    """``references`` are typed as titles, one a line, and kept as ids."""

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
    def of(cls, page: KnowledgePage, beside: Sequence[KnowledgePage]) -> "PageForm":
        titles = {one.id: one.title for one in beside}
        return cls(
            initial={
                "title": page.title,
                "summary": page.summary,
                "content": page.content,
                "tags": ", ".join(page.tags),
                "references": "\n".join(titles.get(one, one) for one in page.references),
                "aliases": ", ".join(page.aliases),
                "revision": page.revision,
            }
        )

    def draft(self, beside: Sequence[KnowledgePage]) -> Mapping[str, Json]:
        """As the service wants it. A browser sends lines with CR LF; the page is kept with LF."""
        found = self.cleaned_data
        names = names_of(beside)
        references = [one.strip() for one in found["references"].splitlines() if one.strip()]
        return {
            "title": found["title"],
            "summary": _lines(found["summary"]),
            "content": _lines(found["content"]),
            "tags": found["tags"],
            "references": [names.get(normalize(one), one) for one in references],
            "aliases": found["aliases"],
        }

    def changes(self, page: KnowledgePage, beside: Sequence[KnowledgePage]) -> dict[str, Any]:
        """Only what was touched: a page whose lines end otherwise stays as its file had it."""
        made = self.draft(beside)
        before = PageForm.of(page, beside).initial
        typed = {name: _lines(str(self.cleaned_data[name])) for name in FIELDS}
        return {name: made[name] for name in FIELDS if typed[name] != _lines(before[name])}


def names_of(pages: Sequence[KnowledgePage]) -> dict[str, str]:
    """Ids by what people call a page: id before title, title before alias."""
    names: dict[str, str] = {}
    for name_of in (
        lambda page: (page.id,),
        lambda page: (page.title,),
        lambda page: page.aliases,
    ):
        for page in pages:
            for name in name_of(page):
                names.setdefault(normalize(name), page.id)
    return names


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


class SeekForm(forms.Form):
    """What is looked for on a shelf; nonsense in the address is nothing chosen."""

    q = forms.CharField(max_length=500, required=False, label=_("Search"))
    tag = forms.CharField(max_length=200, required=False, label=_("Tag"))
    stale = forms.BooleanField(required=False)
    offset = forms.IntegerField(min_value=0, max_value=1_000_000, required=False)

    def chosen(self) -> dict[str, Any]:
        self.is_valid()
        found = self.cleaned_data
        return {
            "text": found.get("q") or "",
            "tag": found.get("tag") or "",
            "stale": bool(found.get("stale")),
            "offset": found.get("offset") or 0,
        }
