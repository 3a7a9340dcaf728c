"""The sentences that the offline provider may answer from: those in the request, with their source.

Recalled text is data. It is searched and quoted, but never followed as an instruction.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflows.engine.ports import ModelRequest
from workflows.llm.offline import words
from workflows.llm.offline.literals import find_opening, read_literal
from workflows.llm.offline.phrases import FRAMES, LABELS, STOCK


# The source of a sentence decides how likely it answers the question.
RECALLED = 3  # memory that the workflow recalled for this request
HISTORY = 2  # from an earlier turn of the conversation
PROMPT = 1  # written into the prompt

_CONTEXT_HEADING = re.compile(r"^\s*\[memory context\]\s*$", re.IGNORECASE)
_CONTEXT_LINE = re.compile(r"^\s*[-*]\s+(?:(?P<key>[^:\n]{1,120}):\s+)?(?P<value>.+)$")
_SPEAKER = re.compile(
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
_NOISE = frozenset({"", "null", "none", "true", "false", "[]", "{}"})
_PLAIN_KEYS = frozenset(
    (
        *("text", "content", "value", "fact", "query", "question", "answer", "user", "assistant"),
        *("input", "output", "message", "name", "title"),
    )
)


Memory = tuple[str, Any, float]  # key, value, score


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    origin: int
    rank: int  # position in its source; earlier is better
    features: frozenset[str]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Material:
    question: str
    candidates: tuple[Candidate, ...]


def collect_material(request: ModelRequest) -> Material:
    """Return the last message of the user, and every sentence of the request that could answer it."""
    messages = list(request.messages)
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    last = messages.pop(users[-1] if users else -1).text if messages else ""
    prompt, recalled = _split_memory(last)
    question, rest = _split_question(prompt)
    collector = _Collector(question)
    collector.add_memories((hit.key, hit.value, hit.score or 0.0) for hit in request.memories)
    collector.add_memories(recalled)
    for message in messages:
        text, recalled = _split_memory(message.text)
        collector.add_memories(recalled)
        collector.add_text(text, PROMPT if message.role == "system" else HISTORY)
    collector.add_text(rest, PROMPT)
    return Material(question, tuple(collector.candidates))


class _Collector:
    """Collects sentences by source, each once, without questions and without the provider's phrases."""

    def __init__(self, question: str) -> None:
        self.candidates: list[Candidate] = []
        self._seen = {_normalize(question)}

    def add_memories(self, memories: Iterable[Memory]) -> None:
        for key, value, score in memories:
            for text, label in _list_texts(key, value):
                for sentence in words.split_sentences(strip_own_words(text)):
                    self._add(sentence, RECALLED, score, label)

    def add_text(self, text: str, origin: int) -> None:
        for sentence in words.split_sentences(strip_own_words(text)):
            if not (origin == PROMPT and _INSTRUCTION.match(sentence)):
                self._add(sentence, origin)

    def _add(self, sentence: str, origin: int, score: float = 0.0, label: str = "") -> None:
        normal = _normalize(sentence)
        if normal in self._seen or normal in _NOISE or words.is_question(sentence):
            return
        self._seen.add(normal)
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
    """Return the sentences that an answer of this provider quotes; other answers are returned unchanged."""
    return strip_own_words(text) if any(label in text for label in LABELS.values()) else text


def _strip_own_frame(sentence: str) -> str:
    stripped = sentence.strip()
    if stripped in STOCK:
        return ""
    frame = next((frame for frame in FRAMES if stripped.startswith(frame)), "")
    return stripped.removeprefix(frame).strip().strip("“”「」")


def _split_memory(text: str) -> tuple[str, list[Memory]]:
    """Split a prompt into its text and the memory rendered into it."""
    plain, hits = _extract_literals(text)
    lines: list[str] = []
    listing = False
    for line in plain.splitlines():
        if _CONTEXT_HEADING.match(line):
            listing = True
        elif listing and (match := _CONTEXT_LINE.match(line)):
            hits.append((match["key"] or "", match["value"], 0.0))
        else:
            listing = listing and not line.strip()
            lines.append(line)
    return "\n".join(lines).strip(), hits


def _extract_literals(text: str) -> tuple[str, list[Memory]]:
    hits: list[Memory] = []
    plain: list[str] = []
    position = 0
    while (start := find_opening(text, position)) is not None:
        plain.append(text[position:start])
        literal = read_literal(text, start)
        if literal is None:
            plain.append(text[start])
            position = start + 1
        else:
            value, position = literal
            hits.extend(_list_hits(value))
    plain.append(text[position:])
    return "".join(plain), hits


def _list_hits(value: Any) -> Iterator[Memory]:
    """Yield entries in the form of memory nodes ({key, value, score, …}), or any other rendered JSON."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and "value" in item:
            yield str(item.get("key") or ""), item["value"], _to_number(item.get("score"))
        elif item not in (None, [], {}):
            yield "", item, 0.0


def _to_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _list_texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield a value as sentences, each with the words of its key, which help to find it."""
    label = "" if _MACHINE_KEY.search(key) else re.sub(r"[_\-.]+", " ", key).strip()
    if isinstance(value, str):
        if value.strip():
            yield f"{label}: {value}" if label and _is_fragment(value) else value, label
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            plain = str(name).lower() in _PLAIN_KEYS
            yield from _list_texts(key if plain else str(name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _list_texts(key, inner)
    elif value is not None:
        text = json.dumps(value)
        yield (f"{label}: {text}" if label else text), label


def _is_fragment(value: str) -> bool:
    """Return whether the value is too short to be understood without its key, such as "blue"."""
    return len(value.split()) < 4 and not (words.is_chinese(value) and len(value) > 4)


def _split_question(text: str) -> tuple[str, str]:
    """Return the question, and the rest of the message."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    parts = words.split_sentences(text)
    asking = [part for part in parts if words.is_question(_SPEAKER.sub("", part))]
    if asking:
        question = asking[-1]
        return _SPEAKER.sub("", question), "\n".join(part for part in parts if part != question)
    if not paragraphs:
        return "", ""
    return _SPEAKER.sub("", paragraphs[-1]), "\n".join(paragraphs[:-1])


def _normalize(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().lower()
