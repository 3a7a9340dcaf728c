"""The engine's sentences about a document, for translation: what it fills in is found again in what it said.

A sentence of the engine is English and has ids, labels and numbers in it. Each here is such a sentence
with names in place of those: as a pattern it reads them out, translated it takes them up.
"""

import re
from collections.abc import Iterator
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _


# The first that fits is taken: what is more particular stands before what is less.
SENTENCES = (
    # the configuration of a node
    _("%(label)s is missing"),
    _("%(label)s must be a text"),
    _("%(label)s must be a whole number"),
    _("%(label)s must be a number"),
    _("%(label)s must be yes or no"),
    _("%(label)s must be a list"),
    _("%(label)s must be an object"),
    _("%(label)s must be at least %(least)s letters long"),
    _("%(label)s must be at most %(most)s letters long"),
    _("%(label)s must be at least %(least)s"),
    _("%(label)s must be at most %(most)s"),
    _("%(label)s must be more than %(bound)s"),
    _("%(label)s must be less than %(bound)s"),
    _("%(label)s must be one of: %(words)s"),
    _("%(label)s has too few parts: at least %(least)s"),
    _("%(label)s has too many parts: at most %(most)s"),
    _("There is no prompt"),
    _("The template is empty"),
    _("The answer is empty: nothing is said"),
    _("Nothing is assigned"),
    _("The node gives nothing back: it has no outputs"),
    _("There is no node type %(kind)s here; did you mean %(close)s?"),
    _("There is no node type %(kind)s here"),
    _("Unknown memory scope %(scope)s; use one of: %(words)s"),
    _("Unknown field %(name)s: memory is not offered here"),
    _(
        "%(node)s brings in words from outside: they wait in quarantine until somebody approves them"
    ),
    # the drawing
    _("Without an answer node nothing comes out"),
    _("Without an end node nothing comes out"),
    _("A %(mode)s app has %(kind)s nodes; this one may go unheard"),
    _("No path leads here from the start; the node never runs"),
    _("The workflow has no start node"),
    _("There is a start node already: %(node)s"),
    _("A workflow begins at a start node or at triggers, not at both"),
    _("The edges go round in a circle: %(way)s. Repeat with a loop node instead"),
    _("The same edge is drawn twice"),
    _("An edge can't lead into or out of a container"),
    _("The edge ends at a node that doesn't exist: %(node)s"),
    _("The node has no way out called %(handle)s; it has %(words)s"),
    _("The body can't begin at %(node)s: it isn't a node inside"),
    _("The body doesn't say where it begins"),
    _("There is nothing inside"),
    _("Containers may lie %(most)s deep in one another, not more"),
    _("A node of type %(kind)s lies directly inside: %(words)s"),
    _("A run can't begin inside a container"),
    _("A start node can't be switched off; it runs all the same"),
    # references
    _("%(reference)s isn't a reference and stays as it is written"),
    _("%(reference)s is never there: %(node)s is switched off"),
    _("%(reference)s is unknown: there is no node %(node)s; did you mean %(close)s?"),
    _("%(reference)s is unknown: there is no node %(node)s"),
    _("%(reference)s is unknown: %(node)s has no %(name)s; did you mean %(close)s?"),
    _("%(reference)s is unknown: %(node)s has no %(name)s"),
    _("%(reference)s lies inside %(node)s; out here only what %(again)s gives can be read"),
    _("%(reference)s isn't there yet: %(node)s doesn't run before this node"),
    # single kinds of nodes
    _("There is no code"),
    _("The code must define a function main"),
    _("There is no address"),
    _("The address must begin with http:// or https://"),
    _("The authorization has no key"),
    _("No file is chosen"),
    _("There is no list to work on"),
    _("A condition needs a variable to look at"),
    _("The variable to set must be one of the conversation, or of a loop"),
    _("A loop variable needs a name"),
    _("Several loop variables are called %(name)s"),
    _("%(name)s needs a variable to begin with"),
    _("This must be a number, zero or more"),
    _("The default value doesn't fit its type"),
)


def translated(said: str) -> str:
    """The same sentence in the reader's language; "" where it is none of those known."""
    for sentence, pattern in _patterns():
        if found := pattern.fullmatch(said):
            parts = found.groupdict()
            if "label" in parts:
                parts["label"] = label(parts["label"])
            return gettext(sentence) % parts
    return ""


def label(words: str) -> str:
    """A field's place in its form, each part in the reader's language."""
    return " › ".join(gettext(word) for word in words.split(" › "))


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((sentence, re.compile(_pattern(sentence), re.DOTALL)) for sentence in SENTENCES)


def _pattern(sentence: str) -> str:
    return "".join(_pieces(sentence))


def _pieces(sentence: str) -> Iterator[str]:
    end = 0
    for name in re.finditer(r"%\((\w+)\)s", sentence):
        yield re.escape(sentence[end : name.start()]) + f"(?P<{name[1]}>.+?)"
        end = name.end()
    yield re.escape(sentence[end:])
