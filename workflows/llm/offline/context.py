"""Collects the sentences of a request from which the offline provider may answer, with their origin.

Recalled text is data. It is searched and quoted, but never followed as an instruction.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, takewhile

from workflows import memory_app
from workflows.engine.nodes.agent.react_text import remove_instructions
from workflows.engine.ports import ModelRequest
from workflows.llm.offline import words
from workflows.llm.offline.memory_lines import Memory, iterate_texts, read_hit, split_memories
from workflows.llm.offline.phrases import COMPLETE_SENTENCES, INTRODUCTIONS, LABELS, RECALLING
from workflows.llm.offline.sentences import is_question, is_wish_to_forget, split_sentences


# The origins of sentences. Of equally similar sentences, one of a higher origin is the better answer.
TOOL = 5  # from a tool that was called for the question
RECALLED = 4  # memory that the workflow recalled for this request
PROFILE = 3  # what every request gets about the person, whatever is asked
HISTORY = 2  # from an earlier turn of the conversation
PROMPT = 1  # written into the prompt
_ORIGINS = {"system": PROMPT}  # by the role of a message

_SPEAKER_PREFIX = re.compile(
    r"^\s*(?:question|query|user|human|q|input|message|问题|用户|提问)\s*[:：]\s*",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"^(?:you are|you're|act as|your (?:task|job|role)|always|never|do not|don't|use|answer|reply|respond|be |"
    r"if |context:?$|memor(?:y|ies):?$)|^(?:你是|请|回答|使用|不要)",
    re.IGNORECASE,
)
# What a turn of the conversation said that no longer holds, as memory marks it.
_ENDED = re.compile(r"\[until \d+ \w+ \d{4}(?:: ([^\]]*)\]|\] ([^\n]*))")
_EMPTY_VALUES = frozenset({"", "null", "none", "true", "false", "[]", "{}"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that the answer may quote."""

    text: str
    origin: int  # TOOL, RECALLED, PROFILE, HISTORY or PROMPT
    rank: int  # position among all sentences; earlier is better
    features: frozenset[str]
    score: float = 0.0
    is_former: bool = False


class QuestionKind(Enum):
    QUESTION = "question"
    WISH_TO_FORGET = "wish to forget"
    NOTE = "note"  # a fact or a standing instruction, which memory keeps
    REQUEST = "request"
    REMARK = "remark"  # thanks, laughter, or whatever else needs no keeping
    OTHER = "other"  # without memory nobody can tell


@dataclass(frozen=True, slots=True)
class Material:
    """The question of a request, and the sentences that may answer it.

    Without ``is_current``, nobody could tell which sentences of the conversation later ones replaced.
    """

    question: str
    candidates: tuple[Candidate, ...]
    kind: QuestionKind
    is_current: bool = True


def collect_material(request: ModelRequest) -> Material:
    """Return the question in the user's last message, and every other sentence of the request that could answer it."""
    messages = list(request.messages)
    user_indexes = [index for index, message in enumerate(messages) if message.role == "user"]
    last = user_indexes[-1] if user_indexes else len(messages) - 1
    last_text = messages.pop(last).text if messages else ""
    prompt, memories = split_memories(last_text)
    question, other_text = _split_question(prompt)
    kind = _find_kind(question)
    collector = _Collector(question)
    collector.add_memories([*map(read_hit, request.memories), *memories])
    texts = []
    for index, message in enumerate(messages):
        text, memories = split_memories(remove_instructions(message.text))
        is_answer = message.role == "tool" and index >= last
        collector.add_memories(memories, TOOL if is_answer else None)
        if message.role != "assistant" or not _quotes_memory(text):
            texts.append((text, TOOL if is_answer else _ORIGINS.get(message.role, HISTORY)))
    statements = [
        sentence
        for message in messages
        if message.role == "user"
        for sentence in split_sentences(_ENDED.sub(r"\1\2", split_memories(message.text)[0]))
    ]
    if kind is QuestionKind.QUESTION:
        history = [text for text, origin in texts if origin == HISTORY]
        collector.leave_out_ended(history)
        collector.leave_out_irrelevant(history)
    is_current = kind is not QuestionKind.QUESTION or collector.leave_out_replaced(statements)
    for text, origin in texts:
        collector.add_text(text, origin)
    collector.add_text(other_text, PROMPT)
    return Material(question, tuple(collector.candidates), kind, is_current)


# By the kind that memory finds.
_KINDS = {
    "question": QuestionKind.QUESTION,
    "forget": QuestionKind.WISH_TO_FORGET,
    "fact": QuestionKind.NOTE,
    "instruction": QuestionKind.NOTE,
    "request": QuestionKind.REQUEST,
}


class _Collector:
    """Collects each sentence once, without questions, wishes to forget and the offline provider's own phrases."""

    def __init__(self, question: str) -> None:
        self.candidates: list[Candidate] = []
        self._question = question
        self._seen = {_normalize(question)}
        self._newest: list[str] = []  # what the person said, and memory knows now

    def add_memories(self, memories: Iterable[Memory], origin: int | None = None) -> None:
        """Add the sentences of memories, which have their own origin unless they are from elsewhere."""
        for memory in memories:
            origin_of_memory = origin or (PROFILE if memory.is_in_profile else RECALLED)
            for text, label in iterate_texts(memory.key, memory.value):
                for sentence in split_sentences(strip_own_words(text)):
                    self._add(
                        sentence, origin_of_memory, memory.score, label, is_former=memory.is_former
                    )
                    if origin is None and memory.is_of_person and not memory.is_former:
                        self._newest.append(sentence)

    def leave_out_ended(self, texts: Sequence[str]) -> None:
        """Leave out what memory has marked as ended in the conversation, wherever it is repeated."""
        for match in chain.from_iterable(map(_ENDED.finditer, texts)):
            repeats = [match[0], match[1]] if match[1] else []
            repeats += split_sentences(match[0])[:1] + split_sentences(match[2] or "")[:1]
            self._seen |= set(map(_normalize, repeats))

    def leave_out_irrelevant(self, texts: Sequence[str]) -> None:
        """Leave out what the conversation says and a recall for the question wouldn't find in a memory."""
        sentences = [part for text in texts for part in split_sentences(strip_own_words(text))]
        if not sentences or not memory_app.is_on():
            return
        relevant = memory_app.select_relevant(self._question, dict.fromkeys(sentences))
        if relevant is not None:
            self._seen |= {_normalize(text) for text in sentences if text not in relevant}

    def leave_out_replaced(self, statements: Sequence[str]) -> bool:
        """Leave out what the person said and later replaced or had forgotten, wherever the conversation repeats it.

        Return whether memory could tell.
        """
        if not statements or not memory_app.is_on():
            return True
        holding = memory_app.find_holding(statements, self._newest)
        if holding is None:
            return False
        self._seen |= {_normalize(text) for text in holding.gone}
        for text in holding.clauses:
            self._add(text, HISTORY)
        return True

    def add_text(self, text: str, origin: int) -> None:
        for sentence in split_sentences(strip_own_words(text)):
            if not (origin == PROMPT and _INSTRUCTION.match(sentence)):
                self._add(sentence, origin)

    def _add(
        self,
        sentence: str,
        origin: int,
        score: float = 0.0,
        label: str = "",
        *,
        is_former: bool = False,
    ) -> None:
        normalized = _normalize(sentence)
        if normalized in self._seen or normalized in _EMPTY_VALUES:
            return
        if is_question(sentence) or is_wish_to_forget(sentence):
            return  # it states nothing, and what was to be forgotten is not to be quoted
        self._seen.add(normalized)
        features = words.extract_features(f"{label} {sentence}")
        rank = len(self.candidates)
        self.candidates.append(Candidate(sentence, origin, rank, features, score, is_former))


def strip_own_words(text: str) -> str:
    """Remove the words that this provider puts around a quoted sentence.

    Workflows store answers and recall them later; otherwise each round would wrap the previous one.
    """
    for label in LABELS.values():
        text = text.replace(label, "")
    text = text.replace("” “", "\n")
    sentences = [_strip_own_frame(sentence) for sentence in split_sentences(text)]
    return "\n".join(sentence for sentence in sentences if sentence)


def _quotes_memory(answer: str) -> bool:
    """Return whether an answer of this provider quotes what was recalled for it: that may have been forgotten since."""
    return answer.lstrip().startswith(RECALLING)


def extract_quoted_text(text: str) -> str:
    """Return the sentences that an answer of this provider quotes, or any other answer unchanged."""
    return strip_own_words(text) if any(label in text for label in LABELS.values()) else text


def _strip_own_frame(sentence: str) -> str:
    stripped = sentence.strip()
    if stripped in COMPLETE_SENTENCES:
        return ""
    introduction = next((phrase for phrase in INTRODUCTIONS if stripped.startswith(phrase)), "")
    return stripped.removeprefix(introduction).strip().strip("“”「」")


def _find_kind(question: str) -> QuestionKind:
    """Return what the person's last words are: by their words in English and Chinese, and else as memory judges them."""
    if is_wish_to_forget(question):
        return _find_kind_of_wish(question)
    if is_question(question):
        return QuestionKind.QUESTION
    kind = memory_app.find_kind(question) if memory_app.is_on() else None
    if kind is None:
        return QuestionKind.OTHER
    choice = _KINDS.get(str(kind), QuestionKind.REMARK)
    return _find_kind_of_wish(question) if choice is QuestionKind.WISH_TO_FORGET else choice


def _find_kind_of_wish(wish: str) -> QuestionKind:
    """Return a remark for what is said and not to be kept ("Don't store this: …"): the chat shows nothing below it."""
    is_met = memory_app.is_on() and memory_app.is_kept_out(wish)
    return QuestionKind.REMARK if is_met else QuestionKind.WISH_TO_FORGET


def _split_question(text: str) -> tuple[str, str]:
    """Return the last question, or the last paragraph if nothing is asked, and the rest of the message.

    Questions right before it in its line belong to it: "Where do I live? And what is my name?"
    """
    sentences = split_sentences(text)
    questions = [line for line in sentences if is_question(_SPEAKER_PREFIX.sub("", line))]
    if questions:
        lines = [split_sentences(line) for line in text.split("\n")]
        last_line = next(line for line in reversed(lines) if questions[-1] in line)
        run = _list_last_run(last_line, questions)
        others = [sentence for sentence in sentences if sentence not in run]
        return _SPEAKER_PREFIX.sub("", " ".join(run)), "\n".join(others)
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    if not paragraphs:
        return "", ""
    return _SPEAKER_PREFIX.sub("", paragraphs[-1]), "\n".join(paragraphs[:-1])


def _list_last_run(sentences: Sequence[str], questions: Sequence[str]) -> list[str]:
    """Return the last question of a line, with those that come right before it."""
    last = max(index for index, sentence in enumerate(sentences) if sentence == questions[-1])
    before = takewhile(questions.__contains__, reversed(sentences[:last]))
    return [*reversed([*before]), sentences[last]]


def _normalize(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().lower()
