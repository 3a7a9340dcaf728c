"""The sentences of a source, as the rules of a wiki read and compare them.

A sentence is never cut at an abbreviation or at the end of a wrapped line, and a table or code is one whole.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from memory.logic.conversations.summary import split_sentences
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.knowledge.documents.blocks import Block, BlockKind, read_blocks


MIN_WIDTH: Final = 40  # characters of a line that may have been wrapped

# After these a full stop ends no sentence for sure: an initial, a number such as a day, or an abbreviation. Two
# sentences that are taken for one lose nothing; one that is cut does.
_OPEN_END: Final = re.compile(
    r"(?:^|[\s(\"'„“])(?:[^\W\d_]|\d{1,2}|(?:[^\W\d_]\.)+[^\W\d_]|dr|mr|mrs|ms|prof|st|nr|no|art|abs|str|co|inc|ltd|"
    r"vs|etc|bzw|ca|usw|evtl|ggf|inkl|zzgl|approx|fig|vol|jr|sr|sra|mme|mlle|av|dott|ing|tel|pp|ul|tzn|bijv|ул|гл|см|"
    r"др|стр)\.[\"')\]]*$",
    re.IGNORECASE,
)
_END: Final = re.compile(r"[.!?。！？؟۔।॥…:：;；][\"'”’»」』）)\]*_]*$")
_QUOTED: Final = re.compile(r"(?:[!?…]|\.\.\.|[\"'”’»)\]])$")  # "Go!" she said.
_CHINESE_QUOTED: Final = re.compile(r"[。！？…][”’」』）]+$")  # 「走吧！」他说。
_ITEM: Final = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)])\s+")
_MARK: Final = re.compile(r"^\s*(?:(?:[-*+•>]|\d{1,3}[.)]|#{1,6})\s+)+")
_LINK: Final = re.compile(r"\[\[([^\[\]|\n]*)(?:\|[^\[\]\n]*)?\]\]")
_BLANK_LINES: Final = re.compile(r"\n\s*\n")


def list_sentences(text: str) -> list[str]:
    """Return the sentences, headings and items of a text in their order, each table and each code block as one."""
    return [
        sentence for block in read_blocks(text) for line in split_lines(block) for sentence in line
    ]


def list_keys(text: str) -> set[str]:
    """Return the keys of the sentences of a text."""
    return set(map(build_sentence_key, list_sentences(text)))


def split_lines(block: Block) -> Iterator[list[str]]:
    """Yield the sentences of each line of a block. None has a blank line in it, which would make two paragraphs of it."""
    if block.kind in (BlockKind.TABLE, BlockKind.CODE):
        yield [_BLANK_LINES.sub("\n", block.text)]
    elif block.kind is BlockKind.HEADING:
        yield [block.text.split("\n")[0].strip()]
    elif block.text:
        for line in _unwrap(block.text.split("\n")):
            yield list(_join_cut(split_sentences(line)))


def build_sentence_key(sentence: str) -> str:
    """Return the text by which equal sentences are recognized: without marks of lists, links and bold type.

    All other signs count, so that -5 is not 5, and C++ not C.
    """
    plain = _LINK.sub(r"\1", unicodedata.normalize("NFKC", sentence)).replace("**", "")
    return " ".join(_MARK.sub("", plain).split()).casefold().rstrip(".。")


def is_item(line: str) -> bool:
    """Return whether the line is an item of a list."""
    return _ITEM.match(line) is not None


def _unwrap(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with those that were wrapped at the width of the block joined again."""
    width = max(map(len, lines))
    current = previous = ""
    for line in lines:
        if current and _is_wrapped(current, previous, line, width):
            is_spaced = not is_unspaced(current[-1:]) or not is_unspaced(line.strip()[:1])
            current = f"{current}{' ' * is_spaced}{line.strip()}"
        else:
            if current:
                yield current
            current = line.rstrip()
        previous = line.rstrip()
    if current:
        yield current


def _is_wrapped(current: str, previous: str, line: str, width: int) -> bool:
    """Return whether the line goes on with the sentence of the line before it, where its first word had no room."""
    if width < MIN_WIDTH or _END.search(current) or is_item(line):
        return False
    first_word = line.split(maxsplit=1)[0] if line.strip() else ""
    return len(previous) + 1 + len(first_word) > width


def _join_cut(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences, with those joined again that were cut at a full stop which may end none."""
    current = ""
    for sentence in sentences:
        is_open = _OPEN_END.search(current) or (_QUOTED.search(current) and sentence[:1].islower())
        if _CHINESE_QUOTED.search(current):
            current = f"{current}{sentence}"
        elif current and is_open:
            current = f"{current} {sentence}"
        else:
            if current:
                yield current
            current = sentence
    if current:
        yield current
