"""Exact and near duplicates, detected when an entry is written.

The rules are careful on purpose: two entries with the same content cost a line on a page, but merging two facts loses
one. So a near duplicate may add or leave out a word or two, but must not replace a word, change the order, or differ
in a number, a negation or a limiting word. For entries that are only similar (``measure_similarity``), a merge is
proposed to a member.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, wraps
from typing import TypeVar

from memory.core.filters import is_same_json
from memory.core.recall.tokens import extract_terms
from memory.core.records import Json, MemoryEntry, Source, StoreParams, Tier
from memory.logic.entries.origins import copy_provenance, get_untrusted_origin, is_approved
from memory.logic.entries.text_similarity import build_grams, compute_dice_coefficient, is_unspaced


T = TypeVar("T")

# Chats repeat themselves, pages are matched by their titles, sources by their ids, and notes are short-lived.
NEVER_MERGED = frozenset({"message", "summary", "fold", "note", "page", "source"})
_MIN_SHARE = 0.8  # words of the shorter text, as a share of those of the longer one
_MAX_EVIDENCE_SOURCES = 50

_WORD = re.compile(r"[\w]+")
_CONTRACTIONS = (
    (re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]"), ""),
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\bcannot\b"), "can not"),
)

_MIN_WORDS = 2


class Likeness(StrEnum):
    SAME = "same"  # but for case, spaces, punctuation and articles
    NEAR = "near"  # one of them has a little more
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An entry with the same content as the value to write."""

    entry: MemoryEntry
    likeness: Likeness


def compare_values(first: Json, second: Json) -> Likeness:
    """Compare two values; objects and lists of the same shape are as alike as their least similar members."""
    if isinstance(first, str) and isinstance(second, str):
        return _compare_texts(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping) and first.keys() == second.keys():
        return _pick_least_alike(compare_values(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return _pick_least_alike(map(compare_values, first, second))
    return Likeness.SAME if is_same_json(first, second) else Likeness.DIFFERENT


def _cache_up_to(max_length: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache the results of a function for texts up to this length."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached = lru_cache(maxsize=20_000)(function)
        return wraps(function)(lambda text: (cached if len(text) <= max_length else function)(text))

    return decorate


# The names of all pages of a knowledge base are compared whenever one of its pages is shown.
@_cache_up_to(200)
def normalize(text: str) -> str:
    """Remove the parts of a string that don't change its meaning: case, spaces, punctuation, invisible characters."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    for pattern, replacement in _CONTRACTIONS:
        plain = pattern.sub(replacement, plain)
    return " ".join(_WORD.findall(plain))


# Each write compares a text with hundreds of others, which are mostly the same.
@_cache_up_to(2_000)
def stem_words(text: str) -> tuple[str, ...]:
    """Return the stemmed words in order, without insignificant ones; in unspaced scripts, every character is a word."""
    return tuple(
        term
        for term in extract_terms(normalize(text))
        if term not in _HARMLESS_WORDS and not (len(term) > 1 and is_unspaced(term))
    )


def measure_similarity(first: str, second: str) -> float:
    """Measure the words that two strings share, from 0 to 1; their meaning is not considered."""
    return compute_dice_coefficient(build_grams(first), build_grams(second))


def find_duplicate(params: StoreParams, candidates: Iterable[MemoryEntry]) -> Duplicate | None:
    """Find a duplicate among entries of the same namespace and category.

    An exact duplicate precedes a near one; of several, the newest is returned. The entry under the same key, which the
    write replaces, is no duplicate, and untrusted content is none of an entry that is trusted, nor the other way round.
    """
    if params.category in NEVER_MERGED or params.tier is Tier.QUARANTINE:
        return None
    duplicates = [
        Duplicate(entry, likeness)
        for entry in candidates
        if _is_comparable(entry, params)
        and (likeness := compare_values(entry.value, params.value)) is not Likeness.DIFFERENT
    ]
    return max(duplicates, key=_rank_duplicate, default=None)


def merge_duplicate(duplicate: Duplicate, params: StoreParams) -> StoreParams:
    """Return the parameters to store under the duplicate's key, with one more piece of evidence.

    The newer wording replaces the older unless it has fewer words, or the older one was approved: the origin and the
    review are those of the wording that stays. The better tier, the higher importance and the later expiry are kept. If
    the same step of the same run repeats the content, as a retry does, no evidence is added.
    """
    entry = duplicate.entry
    metadata = {**entry.metadata, **params.metadata, **_merge_evidence(entry, params)}
    keeps_wording = _keeps_wording(entry, params)
    return replace(
        params,
        key=entry.key,
        value=entry.value if keeps_wording else params.value,
        metadata=copy_provenance(metadata, entry.metadata if keeps_wording else params.metadata),
        category=entry.category,
        tier=Tier.LONG_TERM if entry.tier is Tier.LONG_TERM else params.tier,
        importance=max(entry.importance, params.importance),
        ttl_seconds=_merge_ttl(entry, params),
    )


def get_metadata_list(metadata: Mapping[str, Json], name: str, kind: type[T]) -> list[T]:
    """Return the list of that name, or an empty one if it is missing or has items of another type."""
    items = metadata.get(name)
    if isinstance(items, list) and all(isinstance(item, kind) for item in items):
        return items
    return []


def get_age_key(entry: MemoryEntry) -> tuple[str, str]:
    """Return the sort key that puts the oldest entry first."""
    return (entry.updated_at.isoformat() if entry.updated_at else "", entry.id)


def count_evidence(entry: MemoryEntry) -> int:
    """Return how many times the content of the entry was written, at least 1."""
    count = entry.metadata.get("proofs", 1)
    return count if isinstance(count, int) and count > 1 else 1


def get_ttl(entry: MemoryEntry) -> float | None:
    """Return the seconds from the entry's last change to its expiry, if it expires."""
    if entry.expires_at is None or entry.updated_at is None:
        return None
    return (entry.expires_at - entry.updated_at).total_seconds()


def is_significant(term: str) -> bool:
    return term in _SIGNIFICANT or any(character.isdigit() for character in term)


def differs_by_negation(first: str, second: str) -> bool:
    """Return whether both texts have the same words, but one negates them."""
    if _is_denial(first) == _is_denial(second):
        return False
    words = list_affirmed_words(first)
    return words == list_affirmed_words(second) and len(words) >= _MIN_WORDS


@_cache_up_to(2_000)
def _is_denial(text: str) -> bool:
    return sum(word in _NEGATIONS for word in stem_words(text)) % 2 == 1


def list_affirmed_words(text: str) -> tuple[str, ...]:
    """Return the words of a statement that it and its denial have in common."""
    return tuple(word for word in stem_words(text) if word not in _AUXILIARIES_AND_NEGATIONS)


def _stem_all(words: str) -> frozenset[str]:
    return frozenset(stem for word in words.split() for stem in (word, *extract_terms(word)))


# Words that don't change the meaning when they are added or left out.
_HARMLESS_WORDS = _stem_all("a an the please just also that 的 了 吧 呢 啊")

# Words that change the meaning: negations, limits, times, amounts.
_NEGATIONS = _stem_all(
    "not no never none nobody nothing neither nor without 不 没 沒 无 無 非 未 别 勿 莫"
)
_AUXILIARIES_AND_NEGATIONS = _NEGATIONS | _stem_all("do does did")
_SIGNIFICANT = _NEGATIONS | _stem_all(
    """
    only except unless if until before after almost nearly hardly barely rarely seldom sometimes
    maybe perhaps might may could would should must formerly previously former ex used was were had
    will instead but however than more less most least all any some every few many half double
    one two three four five six seven eight nine ten eleven twelve hundred thousand million
    once twice first second third last next today tomorrow yesterday
    只 仅 除 若 如 前 后 曾 已 将 要 可 能 应 必 更 最 都 全 每 今 明 昨
    半 一 二 三 四 五 六 七 八 九 十 百 千 万 亿 两
    """
)


def _compare_texts(first: str, second: str) -> Likeness:
    first_words, second_words = stem_words(first), stem_words(second)
    if first_words == second_words:
        # Texts without letters ("👍", "…") have no words to compare.
        same = bool(first_words) or first.strip() == second.strip()
        return Likeness.SAME if same else Likeness.DIFFERENT
    shorter, longer = sorted((first_words, second_words), key=len)
    if len(shorter) < _MIN_SHARE * len(longer):
        return Likeness.DIFFERENT
    added = _find_added_words(shorter, longer)
    is_near = added is not None and not any(map(is_significant, added))
    return Likeness.NEAR if is_near else Likeness.DIFFERENT


def _find_added_words(shorter: Sequence[str], longer: Sequence[str]) -> list[str] | None:
    """Return the words to leave out of the longer list to get the shorter one, or None if that is impossible."""
    added, position = [], 0
    for term in longer:
        if position < len(shorter) and shorter[position] == term:
            position += 1
        else:
            added.append(term)
    return added if position == len(shorter) else None


def _pick_least_alike(likenesses: Iterable[Likeness]) -> Likeness:
    order = [Likeness.SAME, Likeness.NEAR, Likeness.DIFFERENT]
    return max(likenesses, key=order.index, default=Likeness.SAME)


def _is_comparable(entry: MemoryEntry, params: StoreParams) -> bool:
    return (
        entry.namespace == params.namespace
        and entry.category == params.category
        and entry.key != params.key
        and entry.tier is not Tier.QUARANTINE
        and _is_untrusted(entry) is _is_untrusted(params)
    )


def _is_untrusted(content: MemoryEntry | StoreParams) -> bool:
    return bool(get_untrusted_origin(content.metadata))


def _rank_duplicate(duplicate: Duplicate) -> tuple[bool, tuple[str, str]]:
    return (duplicate.likeness is Likeness.SAME, get_age_key(duplicate.entry))


def _merge_ttl(entry: MemoryEntry, params: StoreParams) -> float | None:
    """Return the longer time to live, or None if either doesn't expire; only a long-term write changes a long-term one."""
    before = get_ttl(entry)
    if entry.tier is Tier.LONG_TERM and params.tier is not Tier.LONG_TERM:
        return before
    if params.ttl_seconds is None or (before is None and entry.tier is params.tier):
        return None
    return params.ttl_seconds if before is None else max(before, params.ttl_seconds)


def _keeps_wording(entry: MemoryEntry, params: StoreParams) -> bool:
    """Return whether a merged entry keeps its wording: an approved one, a trusted one, and the fuller one."""
    old, new = entry.value, params.value
    if is_approved(entry.metadata) or is_same_json(old, new):
        return True
    if _is_untrusted(params) and not _is_untrusted(entry):
        return True
    are_texts = isinstance(old, str) and isinstance(new, str)
    return are_texts and len(stem_words(new)) < len(stem_words(old))


def _merge_evidence(entry: MemoryEntry, params: StoreParams) -> dict[str, Json]:
    count, new_source = count_evidence(entry), _format_source(params.source)
    known_sources = get_metadata_list(entry.metadata, "proved_by", str)
    sources = known_sources or [_format_source(entry.source)]
    if new_source in sources and new_source != "//":
        return {"proofs": count, "proved_by": sources}
    return {"proofs": count + 1, "proved_by": [*sources, new_source][-_MAX_EVIDENCE_SOURCES:]}


def _format_source(source: Source) -> str:
    return f"{source.run_id}/{source.node_id}/{source.message}"
