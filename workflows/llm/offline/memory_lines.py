"""Reads the memories in a request: hits of a node's recall, and what was rendered into the text of a prompt."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflows.engine.nodes.memory.entry_keys import is_built_key
from workflows.engine.nodes.memory.quoting import describe_origin
from workflows.engine.ports import MemoryHit
from workflows.engine.sentences import is_mostly_ideographic
from workflows.llm.offline.literals import find_opening, read_literal


_CONTEXT_HEADING = re.compile(r"^\s*\[(?P<name>memory context|profile)\]\s*$", re.IGNORECASE)
_CONTEXT_NOTE = re.compile(r"^\s*\(.*\)\s*$")
_CONTEXT_LINE = re.compile(
    r"^\s*[-*]\s+(?:(?P<key>[^:\x22\n][^:\n]{0,119}?)(?: \((?P<origin>[^()\n]*\d{4})\))?(?: \(from outside\))?"
    r"(?: \(relevance: -?[\d.]+\))?:\s+)?"
    r"(?P<value>.+)$"
)
_MACHINE_KEY = re.compile(
    r"[0-9a-f]{8,}|\d{4,}|^(?:exchange|message|turn|msg|entry|item|fact|note)[_\-\d]*$"
)
_PLAIN_KEYS = frozenset(
    (
        *("text", "content", "value", "fact", "query", "question", "answer", "user", "assistant"),
        *("input", "output", "message", "name", "title"),
    )
)


# The origin of a line: a former entry, and one that somebody by this name told.
_FORMER = re.compile(r"(?:^|\W)until \d{1,2} \w+ \d{4}$")
_SPOKEN = re.compile(r", (?:.* )?\d{1,2} \w+ \d{4}$")
_ALWAYS = "always"  # the part of a score that says that an entry is in the profile


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory in a request. ``line_origin`` is what its line says beside it: who told it and when, or until when it held."""

    key: str
    value: Any
    score: float = 0.0
    is_in_profile: bool = False
    line_origin: str = ""

    @property
    def is_former(self) -> bool:
        """Return whether it no longer holds. It was recalled because the question asks about the past."""
        return _FORMER.search(self.line_origin) is not None

    @property
    def is_of_person(self) -> bool:
        """Return whether it is what the person of the request said, as far as its line tells."""
        return _SPOKEN.search(self.line_origin) is None


def split_memories(text: str) -> tuple[str, list[Memory]]:
    """Split a prompt into its text and the memories that were rendered into it."""
    text_without_data, hits = _extract_literals(text)
    lines: list[str] = []
    is_in_context = is_in_profile = False
    for line in text_without_data.splitlines():
        if heading := _CONTEXT_HEADING.match(line):
            is_in_context = True
            is_in_profile = heading["name"].casefold() == "profile"
        elif is_in_context and (match := _CONTEXT_LINE.match(line)):
            key = match["key"] or ""
            line_origin = match["origin"] or key
            hits.append(Memory(key, _unquote(match["value"]), 0.0, is_in_profile, line_origin))
        elif is_in_context and _CONTEXT_NOTE.match(line):
            continue
        else:
            is_in_context = is_in_context and not line.strip()
            lines.append(line)
    return "\n".join(lines).strip(), hits


def _unquote(value: str) -> str:
    """Return the text of a value that is quoted as a JSON string."""
    try:
        text = json.loads(value) if value.startswith('"') else value
    except ValueError:
        return value
    return text if isinstance(text, str) else value


def _extract_literals(text: str) -> tuple[str, list[Memory]]:
    """Return the text without the lists and objects in it, and these as memories."""
    hits: list[Memory] = []
    pieces: list[str] = []
    position = 0
    while (start := find_opening(text, position)) is not None:
        pieces.append(text[position:start])
        literal = read_literal(text, start)
        if literal is None:
            pieces.append(text[start])
            position = start + 1
        else:
            value, position = literal
            hits.extend(_iter_hits(value))
    pieces.append(text[position:])
    return "".join(pieces), hits


def _iter_hits(value: Any) -> Iterator[Memory]:
    """Yield the entries in a value as memory nodes print them ({key, value, score, …}), or any other value itself."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and "value" in item:
            yield Memory(str(item.get("key") or ""), item["value"], _to_number(item.get("score")))
        elif item not in (None, [], {}):
            yield Memory("", item)


def read_hit(hit: MemoryHit) -> Memory:
    key = "" if is_built_key(hit.key) else hit.key
    is_always = _ALWAYS in (getattr(hit, "explain", None) or {})
    return Memory(key, hit.value, hit.score or 0.0, is_always, describe_origin(hit))


def _to_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def iterate_texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each text in a value with its label: the words of its key, which help to find it."""
    is_unnamed = _MACHINE_KEY.search(key) or is_built_key(key)
    label = "" if is_unnamed else re.sub(r"[_\-.]+", " ", key).strip()
    if isinstance(value, str):
        if value.strip():
            yield f"{label}: {value}" if label and _is_fragment(value) else value, label
    elif isinstance(value, Mapping):
        for name, item in value.items():
            is_plain = str(name).lower() in _PLAIN_KEYS
            yield from iterate_texts(key if is_plain else str(name), item)
    elif isinstance(value, list):
        for item in value:
            yield from iterate_texts(key, item)
    elif value is not None:
        text = json.dumps(value)
        yield (f"{label}: {text}" if label else text), label


def _is_fragment(value: str) -> bool:
    """Return whether the value is too short to be understood without its key, such as "blue"."""
    return len(value.split()) < 4 and not (is_mostly_ideographic(value) and len(value) > 4)
