"""Which paragraph of a page says what which source says, so that a source can be removed from a page precisely.

A page is its paragraphs; its summary counts as one of them. Each source of a page lists the digests of its paragraphs.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from memory.logic.conversations.summary import split_sentences
from memory.logic.entries.duplicates import measure_similarity, normalize
from memory.logic.knowledge.pages import KnowledgePage, PageSource


_BREAK: Final = re.compile(r"\n[ \t]*\n")
# A changed paragraph that is at least so similar to one that disappeared has the same sources.
_MIN_SIMILARITY: Final = 0.3


def split_paragraphs(content: str) -> list[str]:
    return [paragraph.strip("\n") for paragraph in _BREAK.split(content) if paragraph.strip()]


def hash_text(text: str) -> str:
    """Return a digest by which equal texts are recognized."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def hash_paragraph(paragraph: str) -> str:
    """Return the digest of a paragraph, which ignores case, spaces and punctuation."""
    return hash_text(normalize(paragraph))[:16]


def list_paragraph_digests(page: KnowledgePage) -> tuple[str, ...]:
    """Return the digests of the summary and of the paragraphs of a page."""
    texts = [page.summary, *split_paragraphs(page.content)]
    return tuple(dict.fromkeys(hash_paragraph(text) for text in texts if text.strip()))


def cite_sources(page: KnowledgePage, digests: Iterable[tuple[str, str]]) -> KnowledgePage:
    """Return the page with these sources, (id, digest) each, for all of its paragraphs."""
    paragraphs = list_paragraph_digests(page)
    return replace(page, sources=tuple(PageSource(*pair, paragraphs) for pair in digests))


def merge_sources(
    old: Sequence[PageSource], new: Sequence[PageSource], page: KnowledgePage
) -> tuple[PageSource, ...]:
    """Return the sources of both versions of a page, with those of their paragraphs that the merged page has."""
    by_id = {source.id: source for source in old}
    for source in new:
        earlier = by_id.get(source.id)
        paragraphs = (*(earlier.paragraphs if earlier else ()), *source.paragraphs)
        by_id[source.id] = replace(source, paragraphs=paragraphs)
    return keep_present_paragraphs(by_id.values(), page)


def keep_present_paragraphs(
    sources: Iterable[PageSource], page: KnowledgePage
) -> tuple[PageSource, ...]:
    """Return the sources without the digests of paragraphs that the page doesn't have any more."""
    present = set(list_paragraph_digests(page))
    return tuple(
        replace(
            source, paragraphs=tuple(dict.fromkeys(d for d in source.paragraphs if d in present))
        )
        for source in sources
    )


def carry_sources(old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
    """Return the new version of a page with the sources of the old one.

    A changed paragraph keeps the sources of the one that it replaces, so that a corrected word does not hide where a
    text comes from.
    """
    old_texts = [old.summary, *split_paragraphs(old.content)]
    new_texts = [new.summary, *split_paragraphs(new.content)]
    known = {hash_paragraph(text) for text in old_texts}
    present = {hash_paragraph(text) for text in new_texts}
    vanished = [text for text in old_texts if text.strip() and hash_paragraph(text) not in present]
    added = [text for text in new_texts if text.strip() and hash_paragraph(text) not in known]
    sources = []
    for source in old.sources:
        own_texts = [text for text in vanished if hash_paragraph(text) in source.paragraphs]
        inherited = [
            hash_paragraph(text)
            for text in added
            if any(measure_similarity(text, own) >= _MIN_SIMILARITY for own in own_texts)
        ]
        sources.append(replace(source, paragraphs=(*source.paragraphs, *inherited)))
    return replace(new, sources=keep_present_paragraphs(sources, new))


def remove_paragraphs(
    page: KnowledgePage, digests: Collection[str], kept: Collection[str] = ()
) -> KnowledgePage:
    """Return the page without these paragraphs. A removed summary is replaced by the first sentence that is left.

    The texts ``kept`` stay: a digest doesn't tell -5 from 5.
    """

    def is_removed(text: str) -> bool:
        return hash_paragraph(text) in digests and text not in kept

    content = "\n\n".join(text for text in split_paragraphs(page.content) if not is_removed(text))
    summary = page.summary
    if summary.strip() and is_removed(summary):
        summary = next(iter(split_sentences(content)), "")
    trimmed = replace(page, content=content, summary=summary)
    return replace(trimmed, sources=keep_present_paragraphs(page.sources, trimmed))
