"""Reads the sentences from which the probes are trained: ``<language>.txt`` in the folders.

A line is ``kind attribute about change | sentence``; for the kind ``nothing`` the second word says what it is instead, and
the third whom it concerns: ``person`` or ``world``. A line of the questions is ``concern | sentence``; they train only the
probe for it. So do the lines of the times, ``former | question`` or ``now | question``: they say whether a question about the
person is answered by what stopped holding. All other questions are answered by what holds now.

A line of the changes is ``change | fact``. These facts look alike, but some change what is known and others don't, such as a
new employer and a former one. They train only the probe for it: more of such facts would outweigh what people talk about,
from which the others are trained.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.logic.judgement.labels import (
    About,
    AskedTime,
    Attribute,
    Change,
    Concern,
    Kind,
    Wish,
)


FOLDER: Final = Path(__file__).with_name("sentences")
QUESTIONS: Final = Path(__file__).with_name("questions")
TIMES: Final = Path(__file__).with_name("times")
CHANGES: Final = Path(__file__).with_name("changes")
NOTHING: Final = "nothing"
ALL: Final = "all"  # of a wish to forget everything


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its labels. Without a label of a probe, the sentence isn't used for it."""

    text: str
    language: str
    kind: Kind | None
    attribute: Attribute | None = None
    about: About | None = None
    change: Change | None = None
    concern: Concern | None = None
    time: AskedTime | None = None
    wish: Wish | None = None


ReadLine = Callable[[str, str], Sentence]


def read_sentences(folder: Path = FOLDER) -> list[Sentence]:
    """Return all sentences. Raises ValueError with the file and line of one that has another form."""
    return [sentence for path in sorted(folder.glob("*.txt")) for sentence in _read_file(path)]


def read_questions(folder: Path = QUESTIONS) -> list[Sentence]:
    """Return all questions and tasks, which only say whom they concern. Raises ValueError as ``read_sentences``."""
    paths = sorted(folder.glob("*.txt"))
    return [question for path in paths for question in _read_file(path, _read_question)]


def read_times(folder: Path = TIMES) -> list[Sentence]:
    """Return all questions that only say which time they ask about. Raises ValueError as ``read_sentences``."""
    paths = sorted(folder.glob("*.txt"))
    return [question for path in paths for question in _read_file(path, _read_time)]


def read_changes(folder: Path = CHANGES) -> list[Sentence]:
    """Return all facts that only say what they change. Raises ValueError as ``read_sentences``."""
    paths = sorted(folder.glob("*.txt"))
    return [fact for path in paths for fact in _read_file(path, _read_changing)]


def _read_file(path: Path, read: ReadLine | None = None) -> Iterator[Sentence]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield (read or _read_line)(line, path.stem)
        except ValueError as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error


def _read_question(line: str, language: str) -> Sentence:
    word, text = _split_line(line)
    return Sentence(text, language, None, concern=Concern(word), time=AskedTime.NOW)


def _read_time(line: str, language: str) -> Sentence:
    word, text = _split_line(line)
    return Sentence(text, language, None, concern=Concern.PERSON, time=AskedTime(word))


def _read_changing(line: str, language: str) -> Sentence:
    word, text = _split_line(line)
    return Sentence(text, language, None, change=Change(word))


def _read_line(line: str, language: str) -> Sentence:
    words, text = _split_line(line)
    kind, attribute, about, change = words.split()
    if kind == NOTHING:
        concern = None if about == "-" else Concern(about)
        time = AskedTime.NOW if attribute == Kind.QUESTION else None
        return Sentence(text, language, Kind(attribute), concern=concern, time=time)
    return Sentence(
        text,
        language,
        Kind(kind),
        None if attribute in ("-", ALL) else Attribute(attribute),
        None if about == "-" else About(about),
        _read_change(kind, change),
        wish=_read_wish(kind, attribute),
    )


def _split_line(line: str) -> tuple[str, str]:
    """Return the labels and the sentence."""
    words, separator, text = line.partition(" | ")
    if not separator or not text.strip():
        raise ValueError("no sentence")
    return words, text.strip()


def _read_wish(kind: str, attribute: str) -> Wish | None:
    """Return what a wish to forget means: without an attribute, what was said last."""
    if kind != Kind.FORGET:
        return None
    return Wish.LATEST if attribute == "-" else Wish.NAMED


def _read_change(kind: str, change: str) -> Change | None:
    if kind != Kind.FACT:
        return None
    return Change.NONE if change == "-" else Change(change)
