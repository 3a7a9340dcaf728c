"""The line on a node's card and the labels of its handles, in the reader's language.

A line is for orientation; the inspector shows the whole. A variable is shown by its name without the id of its node,
because the id means nothing to people, and the node's title may change without an update of this card.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

from django.utils.translation import gettext as _

from workflows.engine.appearance import HandleLabel
from workflows.engine.geometry import SOURCE
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.language.templating import REFERENCE
from workflows.engine.nodes import find_appearance
from workflows.views.phrases import translate_text


LABEL_WIDTH = 27  # columns beside the word of a handle
MAX_LENGTH = 200  # more than any card has room for
# Marks of Markdown that a card would show as they are: of headings, quotes and lists at the start of a line, of bold, struck
# and monospaced text, and of links. Single stars and underscores stay, since formulas and names have them, too.
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}|>|[-*+]|\d+[.)])[ \t]+", re.MULTILINE)
_SPAN_MARKS = re.compile(r"(\*\*|~~|`+)(?=\S)(.+?)(?<=\S)\1")
_LINKS = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)")
# The errors that a plug-in's kind may raise for incomplete data.
_INCOMPLETE_DATA_ERRORS = (ValueError, TypeError, KeyError, AttributeError)


class LabelledHandle(NamedTuple):
    """A handle with its label: ``word`` is the condition, ``text`` its details."""

    handle: str
    word: str
    text: str = ""


def summarize_node(node: NodeSpec, kinds: Mapping[str, AnyKind], title: str = "") -> str:
    """Return the summary of the node's settings by its kind.

    Without one, the line says what kind of node it is; below a title that says this already, what the kind does.
    """
    try:
        parts = [
            translate_text(part) for part in find_appearance(node.kind, kinds).summarize(node.data)
        ]
    except _INCOMPLETE_DATA_ERRORS:
        parts = []
    text = remove_markdown(REFERENCE.sub(_shorten_reference, " · ".join(filter(None, parts))))
    kind = kinds.get(node.kind)
    if text or kind is None:
        return text or (node.kind if node.kind != title else "")
    return _(kind.description) if _(kind.title) == title and kind.description else _(kind.title)


def remove_markdown(text: str) -> str:
    """Return the text without the marks of Markdown, which say nothing on a line that is plain text."""
    text = _LINKS.sub(r"\1", _LINE_MARKS.sub("", text[:MAX_LENGTH]))
    return _SPAN_MARKS.sub(r"\2", text)


def _shorten_reference(reference: re.Match[str]) -> str:
    return "{" + reference[0].strip("{}#").rpartition(".")[2] + "}"


def label_handles(
    node: NodeSpec, kinds: Mapping[str, AnyKind], handles: Sequence[str]
) -> tuple[LabelledHandle, ...]:
    """Return the handles with the labels that the node's kind gives them."""
    try:
        labels = find_appearance(node.kind, kinds).label_handles(node.data)
    except _INCOMPLETE_DATA_ERRORS:
        labels = {}
    return tuple(_label_handle(handle, labels.get(handle)) for handle in handles)


def _label_handle(handle: str, label: HandleLabel | None) -> LabelledHandle:
    if label is not None:
        text = REFERENCE.sub(_shorten_reference, "".join(map(translate_text, label.text)))
        return LabelledHandle(handle, translate_text(label.word), clip_middle(text, LABEL_WIDTH))
    if handle == FAIL_HANDLE:
        return LabelledHandle(handle, _("On failure"))
    if handle == SOURCE:
        return LabelledHandle(handle, _("then"))
    return LabelledHandle(handle, "", clip(handle, LABEL_WIDTH))


def clip(text: str, width: int) -> str:
    """Return the text on one line, shortened to this number of columns."""
    return cut(" ".join(text[:MAX_LENGTH].split()), width)


def clip_middle(text: str, width: int) -> str:
    """Return the text on one line; if it is too wide, the middle is left out, since conditions differ at their ends."""
    text = " ".join(text[:MAX_LENGTH].split())
    if count_columns(text) <= width:
        return text
    end = cut(text[::-1], width // 2)[-2::-1]
    return cut(text, width - count_columns(end)) + end.lstrip()


def cut(text: str, width: int) -> str:
    """Return the text; a text wider than this number of columns is shortened and ends with an ellipsis."""
    if len(text) * 2 <= width or count_columns(text) <= width:
        return text
    used, end = 0, 0
    while used + _measure_letter(text[end]) < width:
        used += _measure_letter(text[end])
        end += 1
    return text[:end].rstrip() + "…"


def count_columns(text: str) -> int:
    """Return the width of a text in columns: a letter has one, a Chinese character two."""
    return len(text) if text.isascii() else sum(map(_measure_letter, text))


def _measure_letter(letter: str) -> int:
    return 2 if not letter.isascii() and east_asian_width(letter) in "WF" else 1
