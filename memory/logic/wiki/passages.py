"""Which passages of a source are about the subject of a page, and which of its sentences are in no page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.entries.duplicates import normalize
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.knowledge.documents.blocks import Block, BlockKind, read_blocks
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.knowledge.wiki_sources import WikiSource
from memory.logic.wiki.sentences import (
    build_sentence_key,
    is_item,
    list_keys,
    list_sentences,
    split_lines,
)


_PRONOUN_START: Final = re.compile(
    r"(?:it|its|it['’]s|he|his|she|her|they|their|this|that|these|those)\b|[它他她这那其]",
    re.IGNORECASE,
)


def extract_passages(text: str, names: Sequence[str]) -> list[str]:
    """Return the sentences, tables and blocks of code about the subject with these names, in their order.

    They contain one of the names as whole words, or stand below a heading that does, or in the list, table or code that
    a line about the subject announces. A sentence that directly follows one of them and starts with a pronoun
    ("It costs …") is about the same.
    """
    subject = _Subject([normalize(name) for name in names if normalize(name)])
    passages = [text for block in read_blocks(text) for text in subject.select(block)]
    return list(dict.fromkeys(passages))


def find_unused_sentences(source: WikiSource, pages: Sequence[KnowledgePage]) -> list[str]:
    """Return the sentences of the source that none of these pages contains."""
    page_keys = {key for page in pages for key in list_page_keys(page)}
    sentences = {build_sentence_key(sentence): sentence for sentence in list_sentences(source.text)}
    return [text for key, text in sentences.items() if key not in page_keys and normalize(text)]


def list_page_keys(page: KnowledgePage) -> set[str]:
    """Return the keys of the names of a page and of all its sentences."""
    names = map(build_sentence_key, (page.title, *page.aliases))
    return {*names, *list_keys(page.summary), *list_keys(page.content)}


@dataclass(slots=True)
class _Subject:
    """The subject says what a page is about, and how far the text that is being read is about it."""

    names: Sequence[str]  # normalized
    level: int = 0  # of the heading that names it, below which all is about it
    is_announced: bool = False  # by a line such as "The mill has:"

    def select(self, block: Block) -> Iterator[str]:
        """Yield the sentences of the next block that are about the subject."""
        if block.kind is BlockKind.PAGE:
            return
        if block.kind is BlockKind.HEADING:
            yield from self._open_section(block)
            return
        is_about = is_announcing = False  # a pronoun doesn't reach beyond its line
        for line in split_lines(block):
            is_kept = bool(self.level) or (
                self.is_announced and (is_item(line[0]) or block.kind is not BlockKind.PARAGRAPH)
            )
            is_about = is_announcing = False
            for sentence in line:
                is_about = self._is_named(sentence) or (
                    is_about and _PRONOUN_START.match(sentence) is not None
                )
                if is_about or is_kept:
                    yield sentence
                is_announcing = is_about and sentence.endswith((":", "："))
            if not is_item(line[0]):
                self.is_announced = is_announcing

    def _open_section(self, block: Block) -> Iterator[str]:
        self.is_announced = False
        if self.level and block.level > self.level:
            yield block.text.split("\n")[0].strip()
            return
        self.level = block.level if self._is_named(block.title) else 0
        if self.level and normalize(block.title) not in self.names:
            yield block.text.split("\n")[0].strip()

    def _is_named(self, text: str) -> bool:
        plain = normalize(text)
        return any(_mentions(plain, name) for name in self.names)


def _mentions(sentence: str, name: str) -> bool:
    return name in sentence if is_unspaced(name[:1]) else f" {name} " in f" {sentence} "
