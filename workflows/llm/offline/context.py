"""What the offline provider may answer from: exactly what the request contains, and where it stood.

Recalled text is data. It is searched and quoted; nothing in it is ever followed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflows.engine.ports import ModelRequest
from workflows.llm.offline import words
from workflows.llm.offline.literals import next_opening, read_literal
from workflows.llm.offline.phrases import FRAMES, LABELS, STOCK


# Where a sentence stood decides how far it is trusted to be what was asked for.
RECALLED = 3  # memory the workflow looked up for this very request
HISTORY = 2  # said earlier in this conversation
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
    [
        "text",
        "content",
        "value",
        "fact",
        "query",
        "question",
        "answer",
        "user",
        "assistant",
        "input",
        "output",
        "message",
        "name",
        "title",
    ]
)


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    origin: int
    rank: int  # position in its source; earlier is better
    about: frozenset[str]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Material:
    question: str
    candidates: tuple[Candidate, ...]


def gather(request: ModelRequest) -> Material:
    """The person's last message, and everything in the request that could answer it."""
    last = max(
        (i for i, message in enumerate(request.messages) if message.role == "user"),
        default=len(request.messages) - 1,
    )
    prompt_text, in_prompt = _split(request.messages[last].text) if request.messages else ("", [])
    asked, rest = _question_of(prompt_text)
    found = _Collector(asked)
    for hit in request.memories:
        found.add_value(hit.key, hit.value, RECALLED, hit.score or 0.0)
    for key, value, score in in_prompt:
        found.add_value(key, value, RECALLED, score)
    for i, message in enumerate(request.messages):
        if i == last:
            continue
        text, recalled = _split(message.text)
        for key, value, score in recalled:
            found.add_value(key, value, RECALLED, score)
        found.add_text(text, PROMPT if message.role == "system" else HISTORY)
    found.add_text(rest, PROMPT)
    return Material(asked, tuple(found.candidates))


class _Collector:
    """Sentences by source, each once, without questions and without our own stock phrases."""

    def __init__(self, asked: str) -> None:
        self.candidates: list[Candidate] = []
        self._seen = {_normal(asked)}

    def add_value(self, key: str, value: Any, origin: int, score: float) -> None:
        for text, about in _texts_of(key, value):
            for sentence in words.sentences(own_words_removed(text)):
                self._add(sentence, origin, score, about)

    def add_text(self, text: str, origin: int) -> None:
        for sentence in words.sentences(own_words_removed(text)):
            if origin == PROMPT and _INSTRUCTION.match(sentence):
                continue
            self._add(sentence, origin, 0.0, "")

    def _add(self, sentence: str, origin: int, score: float, about: str) -> None:
        normal = _normal(sentence)
        if normal in self._seen or normal in _NOISE or words.is_question(sentence):
            return
        self._seen.add(normal)
        features = words.features(f"{about} {sentence}")
        self.candidates.append(Candidate(sentence, origin, len(self.candidates), features, score))


def own_words_removed(text: str) -> str:
    """Takes off what this provider itself puts around a quoted sentence.

    Workflows store answers and recall them later; without this every round would wrap the last one.
    """
    for label in LABELS.values():
        text = text.replace(label, "")
    text = text.replace("” “", "\n")
    kept = [own_frame_removed(sentence) for sentence in words.sentences(text)]
    return "\n".join(sentence for sentence in kept if sentence)


def plain_answer(text: str) -> str:
    """What an answer quotes, if this provider gave it; anybody else's answer as it stands."""
    return own_words_removed(text) if any(one in text for one in LABELS.values()) else text


def own_frame_removed(sentence: str) -> str:
    stripped = sentence.strip()
    if stripped in STOCK:
        return ""
    for start in FRAMES:
        if stripped.startswith(start):
            stripped = stripped.removeprefix(start)
            break
    return stripped.strip().strip("“”「」")


def _split(text: str) -> tuple[str, list[tuple[str, Any, float]]]:
    """A prompt without the memory rendered into it, and that memory."""
    plain, hits = _without_literals(text)
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


def _without_literals(text: str) -> tuple[str, list[tuple[str, Any, float]]]:
    hits: list[tuple[str, Any, float]] = []
    plain: list[str] = []
    at = 0
    while (start := next_opening(text, at)) is not None:
        plain.append(text[at:start])
        found = read_literal(text, start)
        if found is None:
            plain.append(text[start])
            at = start + 1
            continue
        value, at = found
        hits.extend(_hits_in(value))
    plain.append(text[at:])
    return "".join(plain), hits


def _hits_in(value: Any) -> Iterator[tuple[str, Any, float]]:
    """Entries as memory nodes give them ({key, value, score, …}), or whatever JSON was rendered."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and "value" in item:
            score = item.get("score")
            yield str(item.get("key") or ""), item["value"], _number(score)
        elif item not in (None, [], {}):
            yield "", item, 0.0


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _texts_of(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value as sentences, each with the words of its key (which help to find it)."""
    label = "" if _MACHINE_KEY.search(key) else re.sub(r"[_\-.]+", " ", key).strip()
    if isinstance(value, str):
        if value.strip():
            yield (
                (f"{label}: {value}" if label and _is_fragment(value) else value),
                label,
            )
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            plain = str(name).lower() in _PLAIN_KEYS
            yield from _texts_of(key if plain else str(name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_of(key, inner)
    elif value is not None:
        text = json.dumps(value)
        yield (f"{label}: {text}" if label else text), label


def _is_fragment(value: str) -> bool:
    """Too short to say what it is about without its key: "blue"."""
    return len(value.split()) < 4 and not (words.is_chinese(value) and len(value) > 4)


def _question_of(text: str) -> tuple[str, str]:
    """What is asked, and what else the message holds."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    parts = words.sentences(text)
    asking = [part for part in parts if words.is_question(_SPEAKER.sub("", part))]
    if asking:
        asked = asking[-1]
        return _SPEAKER.sub("", asked), "\n".join(part for part in parts if part != asked)
    if not paragraphs:
        return "", ""
    return _SPEAKER.sub("", paragraphs[-1]), "\n".join(paragraphs[:-1])


def _normal(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().lower()
