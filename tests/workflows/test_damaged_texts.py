"""Files that broke on their way are read or refused with a sentence, and what is read has a report.

They end early, or their lines and signs are mixed up, so that they may be no trees at all. ``test_mutated_documents``
damages trees.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from workflows.engine.errors import DocumentInvalid
from workflows.management.report_text import format_report
from workflows.services.catalog.import_reports import report_document
from workflows.services.catalog.importing import load_source, read_node_titles


EXPORTED = Path(__file__).with_name("exported")
# What has a meaning in YAML, or is no character of it.
SIGNS = (
    *("&a ", "*a ", "!!python/object:x ", "<<: ", "? ", "- ", ": ", "#", "'", '"', "{", "]", "|"),
    *("%", "\t", "\0", "\u2028"),
)
Lines = list[str]


def test_damaged_texts_are_read_or_refused_and_reported_on():
    examine(range(300))


@pytest.mark.nightly
def test_many_damaged_texts_are_read_or_refused_and_reported_on():
    examine(range(1_000, 11_000))


def examine(seeds: range) -> None:
    texts = [path.read_text() for path in sorted(EXPORTED.glob("*.yml"))]
    endings = Counter(read(damage(random.Random(seed), texts)) for seed in seeds)
    assert set(endings) == {"read", "refused"}
    assert min(endings.values()) > len(seeds) / 20


def read(text: str) -> str:
    """Do with a text what an import does, and return how it ended."""
    read_node_titles(text)
    try:
        document, _notes = load_source(text, confirm_newer=True)
    except DocumentInvalid as invalid:
        return "refused" if invalid.problems else "refused without a reason"
    list(format_report(report_document(document)))
    return "read"


def damage(chance: random.Random, texts: list[str]) -> str:
    lines = chance.choice(texts).split("\n")
    for _ in range(chance.choice((1, 1, 2, 4))):
        name = chance.choice(("cut", "double", "sign", "sign", "indent", "indent", "end"))
        lines = DAMAGES[name](lines, chance.randrange(len(lines)), chance) or [""]
    return "\n".join(lines)


def add_sign(lines: Lines, number: int, chance: random.Random) -> Lines:
    line = lines[number]
    at = chance.randrange(len(line) + 1)
    return [*lines[:number], f"{line[:at]}{chance.choice(SIGNS)}{line[at:]}", *lines[number + 1 :]]


DAMAGES: Mapping[str, Callable[[Lines, int, random.Random], Lines]] = {
    "cut": lambda lines, number, chance: lines[:number] + lines[number + chance.randrange(1, 4) :],
    "double": lambda lines, number, _chance: (
        lines[:number] + lines[number : number + 5] + lines[number:]
    ),
    "sign": add_sign,
    "indent": lambda lines, number, _chance: (
        [*lines[:number], f"  {lines[number]}", *lines[number + 1 :]]
    ),
    "end": lambda lines, number, chance: lines[: number + 1] if chance.random() < 0.2 else lines,
}
