"""Collects the sentences of a request from which the offline provider may answer, with their origin.

Recalled text is data. It is searched and quoted, but never followed as an instruction.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflows.engine.nodes.agent.react_text import remove_instructions
from workflows.engine.nodes.memory.entry_keys import is_built_key
from workflows.engine.ports import ModelRequest
from workflows.llm.offline import words
from workflows.llm.offline.literals import find_opening, read_literal
from workflows.llm.offline.phrases import COMPLETE_SENTENCES, INTRODUCTIONS, LABELS


# The origins of sentences. Of equally similar sentences, one of a higher origin is the better answer.
TOOL = 4  # from a tool that was called for the question
RECALLED = 3  # memory that the workflow recalled for this request
HISTORY = 2  # from an earlier turn of the conversation
PROMPT = 1  # written into the prompt

_CONTEXT_HEADING = re.compile(r"^\s*\[(?:memory context|profile)\]\s*$", re.IGNORECASE)
_CONTEXT_NOTE = re.compile(r"^\s*\(.*\)\s*$")
_CONTEXT_LINE = re.compile(
    r"^\s*[-*]\s+(?:(?P<key>[^:\x22\n][^:\n]{0,119}?)(?: \([^()\n]*\d{4}\))?(?: \(from outside\))?"
    r"(?: \(relevance: -?[\d.]+\))?:\s+)?"
    r"(?P<value>.+)$"
)
_SPEAKER_PREFIX = re.compile(
    r"^\s*(?:question|query|user|human|q|input|message|问题|用户|提问)\s*[:：]\s*",
    re.IGNORECASE,
)
_MACHINE_KEY = re.compile(
    r"[0-9a-f]{8,}|\d{4,}|^(?:exchange|message|turn|msg|entry|item|fact|note)[_\-\d]*$"
)
_INSTRUCTION = re.compile(
    r"^(?:you are|you're|act as|your (?:task|job|role)|always|never|do not|don't|use|answer|reply|respond|be |"
    r"if |context:?$|memor(?:y|ies):?$)|^(?:你是|请|回答|使用|不要)",
    re.IGNORECASE,
)
_EMPTY_VALUES = frozenset({"", "null", "none", "true", "false", "[]", "{}"})
_PLAIN_KEYS = frozenset(
    (
        *("text", "content", "value", "fact", "query", "question", "answer", "user", "assistant"),
        *("input", "output", "message", "name", "title"),
    )
)


Memory = tuple[str, Any, float]  # key, value, score


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that the answer may quote."""

    text: str
    origin: int  # TOOL, RECALLED, HISTORY or PROMPT
    rank: int  # position among all sentences; earlier is better
    features: frozenset[str]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Material:
    """The question of a request, and the sentences that may answer it."""

    question: str
    candidates: tuple[Candidate, ...]


def collect_material(request: ModelRequest) -> Material:
    """Return the question in the user's last message, and every other sentence of the request that could answer it."""
    messages = list(request.messages)
    user_indexes = [index for index, message in enumerate(messages) if message.role == "user"]
    last = user_indexes[-1] if user_indexes else len(messages) - 1
    last_text = messages.pop(last).text if messages else ""
    prompt, memories = _split_memory(last_text)
    question, other_text = _split_question(prompt)
    collector = _Collector(question)
    collector.add_memories(
        ("" if is_built_key(hit.key) else hit.key, hit.value, hit.score or 0.0)
        for hit in request.memories
    )
    collector.add_memories(memories)
    for index, message in enumerate(messages):
        text, memories = _split_memory(remove_instructions(message.text))
        if message.role == "tool" and index >= last:
            collector.add_memories(memories, TOOL)
            collector.add_text(text, TOOL)
            continue
        collector.add_memories(memories)
        collector.add_text(text, PROMPT if message.role == "system" else HISTORY)
    collector.add_text(other_text, PROMPT)
    return Material(question, tuple(collector.candidates))


class _Collector:
    """Collects each sentence once, without questions, wishes to forget and the offline provider's own phrases."""

    def __init__(self, question: str) -> None:
        self.candidates: list[Candidate] = []
        self._seen = {_normalize(question)}

    def add_memories(self, memories: Iterable[Memory], origin: int = RECALLED) -> None:
        for key, value, score in memories:
            for text, label in _iter_texts(key, value):
                for sentence in words.split_sentences(strip_own_words(text)):
                    self._add(sentence, origin, score, label)

    def add_text(self, text: str, origin: int) -> None:
        for sentence in words.split_sentences(strip_own_words(text)):
            if not (origin == PROMPT and _INSTRUCTION.match(sentence)):
                self._add(sentence, origin)

    def _add(self, sentence: str, origin: int, score: float = 0.0, label: str = "") -> None:
        normalized = _normalize(sentence)
        if normalized in self._seen or normalized in _EMPTY_VALUES:
            return
        if words.is_question(sentence) or words.is_wish_to_forget(sentence):
            return  # it states nothing, and what was to be forgotten is not to be quoted
        self._seen.add(normalized)
        features = words.extract_features(f"{label} {sentence}")
        self.candidates.append(Candidate(sentence, origin, len(self.candidates), features, score))


def strip_own_words(text: str) -> str:
    """Remove the words that this provider puts around a quoted sentence.

    Workflows store answers and recall them later; otherwise each round would wrap the previous one.
    """
    for label in LABELS.values():
        text = text.replace(label, "")
    text = text.replace("” “", "\n")
    sentences = [_strip_own_frame(sentence) for sentence in words.split_sentences(text)]
    return "\n".join(sentence for sentence in sentences if sentence)


def extract_quoted_text(text: str) -> str:
    """Return the sentences that an answer of this provider quotes, or any other answer unchanged."""
    return strip_own_words(text) if any(label in text for label in LABELS.values()) else text


def _strip_own_frame(sentence: str) -> str:
    stripped = sentence.strip()
    if stripped in COMPLETE_SENTENCES:
        return ""
    introduction = next((phrase for phrase in INTRODUCTIONS if stripped.startswith(phrase)), "")
    return stripped.removeprefix(introduction).strip().strip("“”「」")


def _split_memory(text: str) -> tuple[str, list[Memory]]:
    """Split a prompt into its text and the memories that were rendered into it."""
    text_without_data, hits = _extract_literals(text)
    lines: list[str] = []
    is_in_context = False
    for line in text_without_data.splitlines():
        if _CONTEXT_HEADING.match(line):
            is_in_context = True
        elif is_in_context and (match := _CONTEXT_LINE.match(line)):
            hits.append((match["key"] or "", _unquote(match["value"]), 0.0))
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
            yield str(item.get("key") or ""), item["value"], _to_number(item.get("score"))
        elif item not in (None, [], {}):
            yield "", item, 0.0


def _to_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _iter_texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each text in a value with its label: the words of its key, which help to find it."""
    is_unnamed = _MACHINE_KEY.search(key) or is_built_key(key)
    label = "" if is_unnamed else re.sub(r"[_\-.]+", " ", key).strip()
    if isinstance(value, str):
        if value.strip():
            yield f"{label}: {value}" if label and _is_fragment(value) else value, label
    elif isinstance(value, Mapping):
        for name, item in value.items():
            is_plain = str(name).lower() in _PLAIN_KEYS
            yield from _iter_texts(key if is_plain else str(name), item)
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(key, item)
    elif value is not None:
        text = json.dumps(value)
        yield (f"{label}: {text}" if label else text), label


def _is_fragment(value: str) -> bool:
    """Return whether the value is too short to be understood without its key, such as "blue"."""
    return len(value.split()) < 4 and not (words.is_chinese(value) and len(value) > 4)


def _split_question(text: str) -> tuple[str, str]:
    """Return the last question, or the last paragraph if nothing is asked, and the rest of the message."""
    sentences = words.split_sentences(text)
    questions = [line for line in sentences if words.is_question(_SPEAKER_PREFIX.sub("", line))]
    if questions:
        others = [sentence for sentence in sentences if sentence != questions[-1]]
        return _SPEAKER_PREFIX.sub("", questions[-1]), "\n".join(others)
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    if not paragraphs:
        return "", ""
    return _SPEAKER_PREFIX.sub("", paragraphs[-1]), "\n".join(paragraphs[:-1])


def _normalize(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().lower()
