"""Workflows we ship, as documents beside this file, and what the gallery says about each."""

from dataclasses import dataclass
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sample:
    """``lines`` explain it in four: what it does, what to try, what to look at, what to change."""

    slug: str
    title: Promise
    lines: tuple[Promise, ...]
    is_chat: bool = False

    @property
    def explanation(self) -> str:
        return "\n".join(str(line) for line in self.lines)

    @property
    def source(self) -> str:
        return (FOLDER / f"{self.slug}.yml").read_text(encoding="utf-8")


# In the order of the gallery; the first one is where a newcomer should begin.
SAMPLES = (
    Sample(
        "chatbot",
        _("A chatbot that remembers"),
        (
            _("It remembers what each person tells it, across conversations, and for nobody else."),
            _("Tell it something about yourself, open a new conversation, and ask for it."),
            _("Watch the run: what was recalled, with its score, and what was written."),
            _("Forget the memory on its page and ask again; undo, and it is known once more."),
        ),
        is_chat=True,
    ),
    Sample(
        "exchange",
        _("A workflow with a conversation's memory"),
        (
            _(
                "Recall what fits the query, answer with it, and keep the exchange for the next run."
            ),
            _("Run it twice in one conversation: tell it a fact, then ask for the fact."),
            _("Look at the two memory nodes: what one run stores, the next one recalls."),
            _(
                "Change the scope of both from conversation to user, and it holds in every conversation."
            ),
        ),
    ),
    Sample(
        "scopes",
        _("Three memories, one router"),
        (
            _("One form, three memories: this conversation's, this person's, and everyone's."),
            _("Tell it something for one of them, then ask in another: it isn't known there."),
            _("Look at the taken branch: a question is looked up, a statement is kept."),
            _("Put a node before the router that chooses the memory instead of the person."),
        ),
    ),
)

BY_SLUG = {sample.slug: sample for sample in SAMPLES}
