"""Reads the sentences from which the probes are trained: ``sentences/<language>.txt``.

A line is ``kind attribute about change | sentence``; for the kind ``nothing`` the second word says what it is instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.logic.judgement.labels import About, Attribute, Change, Kind


FOLDER: Final = Path(__file__).with_name("sentences")
NOTHING: Final = "nothing"
ALL: Final = "all"  # of a wish to forget everything


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its labels. Without a label of a probe, the sentence isn't used for it."""

    text: str
    language: str
    kind: Kind
    attribute: Attribute | None = None
    about: About | None = None
    change: Change | None = None


def read_sentences(folder: Path = FOLDER) -> list[Sentence]:
    """Return all sentences. Raises ValueError with the file and line of one that has another form."""
    return [sentence for path in sorted(folder.glob("*.txt")) for sentence in _read_file(path)]


def _read_file(path: Path) -> Iterator[Sentence]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield _read_line(line, path.stem)
        except ValueError as error:
            raise ValueError(f"{path.name}:{number}: {error}") from error


def _read_line(line: str, language: str) -> Sentence:
    words, separator, text = line.partition(" | ")
    kind, attribute, about, change = words.split()
    if not separator or not text.strip():
        raise ValueError("no sentence")
    if kind == NOTHING:
        return Sentence(text.strip(), language, Kind(attribute))
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
