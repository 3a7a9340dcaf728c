"""Reads the sentences from which the probes are trained: ``sentences/<language>.txt`` and ``questions/<language>.txt``.

A line is ``kind attribute about change | sentence``; for the kind ``nothing`` the second word says what it is instead, and
the third whom it concerns: ``person`` or ``world``. A line of the questions is ``concern | sentence``; they train only the
probe for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.logic.judgement.labels import About, Attribute, Change, Concern, Kind


FOLDER: Final = Path(__file__).with_name("sentences")
QUESTIONS: Final = Path(__file__).with_name("questions")
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


ReadLine = Callable[[str, str], Sentence]


def read_sentences(folder: Path = FOLDER) -> list[Sentence]:
    """Return all sentences. Raises ValueError with the file and line of one that has another form."""
    return [sentence for path in sorted(folder.glob("*.txt")) for sentence in _read_file(path)]


def read_questions(folder: Path = QUESTIONS) -> list[Sentence]:
    """Return all questions and tasks, which only say whom they concern. Raises ValueError as ``read_sentences``."""
    paths = sorted(folder.glob("*.txt"))
    return [question for path in paths for question in _read_file(path, _read_question)]


def _read_file(path: Path, read: ReadLine | None = None) -> Iterator[Sentence]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield (read or _read_line)(line, path.stem)
        except ValueError as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error


def _read_question(line: str, language: str) -> Sentence:
    word, separator, text = line.partition(" | ")
    if not separator or not text.strip():
        raise ValueError("no sentence")
    return Sentence(text.strip(), language, None, concern=Concern(word))


def _read_line(line: str, language: str) -> Sentence:
    words, separator, text = line.partition(" | ")
    kind, attribute, about, change = words.split()
    if not separator or not text.strip():
        raise ValueError("no sentence")
    if kind == NOTHING:
        concern = None if about == "-" else Concern(about)
        return Sentence(text.strip(), language, Kind(attribute), concern=concern)
    return Sentence(
        text.strip(),
        language,
        Kind(kind),
        None if attribute in ("-", ALL) else Attribute(attribute),
        None if about == "-" else About(about),
        _read_change(kind, change),
    )


def _read_change(kind: str, change: str) -> Change | None:
    if kind != Kind.FACT:
        return None
    return Change.NONE if change == "-" else Change(change)
