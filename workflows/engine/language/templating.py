"""Parses text with references to variables, ``{{#source.name.path#}}``, into segments, once.

Text that does not match the pattern exactly stays literal. A reference to a missing variable prints its dotted
selector, and text from a variable is never parsed again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from workflows.engine.language.document import Json, Selector
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.text_rendering import as_markdown, as_text


REFERENCE: Final = re.compile(
    r"\{\{#([a-zA-Z0-9_]{1,50}(?:\.[a-zA-Z_][a-zA-Z0-9_]{0,29}){1,10})#\}\}"
)

# Literal text, or the selector of a variable.
Segment = str | Selector


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template. ``Template.of(text)`` is cached, so that it costs little to call it again."""

    source: str
    segments: tuple[Segment, ...]

    @staticmethod
    def of(source: str) -> "Template":
        return _compile(source)

    @property
    def references(self) -> tuple[Selector, ...]:
        return tuple(segment for segment in self.segments if not isinstance(segment, str))

    def render_text(self, pool: VariablePool) -> str:
        """Render text for prompts, keys, conditions and HTTP fields."""
        return self._render(pool, as_text)

    def render_quoted(
        self, pool: VariablePool, names: frozenset[str], quote: Callable[[Json], str]
    ) -> str:
        """Render text as ``render_text`` does, but the variables with these names by ``quote``.

        A name is the id of a variable's node, or that and the variable's own name.
        """
        if not names or all(names.isdisjoint(_list_names(ref)) for ref in self.references):
            return self.render_text(pool)
        parts = []
        for segment in self.segments:
            one = Template(self.source, (segment,))
            is_named = not isinstance(segment, str) and not names.isdisjoint(_list_names(segment))
            parts.append(one._render(pool, quote if is_named else as_text))
        return "".join(parts)

    def render_markdown(self, pool: VariablePool) -> str:
        """Render Markdown for answers."""
        return self._render(pool, as_markdown)

    def _render(self, pool: VariablePool, format_value: Callable[[Json], str]) -> str:
        parts = []
        for segment in self.segments:
            if isinstance(segment, str):
                parts.append(segment)
            else:
                value = pool.get(segment)
                parts.append(".".join(segment) if value is MISSING else format_value(value))
        return "".join(parts)


def render_text(source: str, pool: VariablePool) -> str:
    return _compile(source).render_text(pool)


def format_reference(selector: Selector) -> str:
    """Return the text that refers to a variable."""
    return f"{{{{#{'.'.join(selector)}#}}}}"


def list_references(source: str) -> tuple[Selector, ...]:
    """Return the variables that a text refers to, in order, with repeats."""
    return _compile(source).references


def _list_names(selector: Selector) -> tuple[str, str]:
    return selector[0], ".".join(selector[:2])


@lru_cache(maxsize=4096)
def _compile(source: str) -> Template:
    # With one group in the pattern, split returns literals and references in turn.
    pieces = REFERENCE.split(source)
    segments: list[Segment] = []
    for position, piece in enumerate(pieces):
        if position % 2:
            segments.append(tuple(piece.split(".")))
        elif piece:
            segments.append(piece)
    return Template(source, tuple(segments))
