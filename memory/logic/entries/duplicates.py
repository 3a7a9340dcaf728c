"""Is that the same again? Exact and near duplicates, found when something is written.

Careful on purpose: two entries that say the same cost a line on a page, two facts merged into one
cost a fact. So a near duplicate may add or leave out a word or two, but never swap one, never
change the order, and never differ in a number, a negation or a word that limits what is said.
What only looks alike (``similarity``) is for proposals, which a person decides.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from memory.core.filters import same_json
from memory.core.recall.tokens import terms
from memory.core.records import Json, MemoryEntry, Source, StoreParams, Tier
from memory.logic.entries.text_similarity import dice_coefficient, grams, is_unspaced


T = TypeVar("T")


class Likeness(StrEnum):
    SAME = "same"  # but for case, spaces, punctuation and articles
    NEAR = "near"  # one says a little more
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """``entry`` already says it."""

    entry: MemoryEntry
    likeness: Likeness


def likeness(one: Json, other: Json) -> Likeness:
    if isinstance(one, str) and isinstance(other, str):
        return _of_texts(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return _worst(likeness(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return _worst(map(likeness, one, other))
    return Likeness.SAME if same_json(one, other) else Likeness.DIFFERENT


def normalised(text: str) -> str:
    """Without what doesn't change the meaning: case, spaces, punctuation, invisible characters."""
    return _cached_normalised(text) if len(text) <= _LONGEST_NAME else _normalised(text)


def _normalised(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(_expanded(plain)))


def words_of(text: str) -> tuple[str, ...]:
    """Stemmed words in order, without the harmless ones; single characters for unspaced scripts."""
    return _words_of(text) if len(text) > _CACHED_LENGTH else _cached_words_of(text)


def similarity(one: str, other: str) -> float:
    """How much two texts have in common, 0 to 1, whatever it means."""
    return dice_coefficient(grams(one), grams(other))


def find_duplicate(params: StoreParams, candidates: Iterable[MemoryEntry]) -> Duplicate | None:
    """Among entries of the same namespace and category; the same before the near, then the newest.

    The entry under the very same key is no duplicate: storing there replaces it anyway.
    """
    if params.category in NEVER_MERGED or params.tier is Tier.QUARANTINE:
        return None
    found = [
        Duplicate(entry, likeness(entry.value, params.value))
        for entry in candidates
        if _comparable(entry, params)
    ]
    alike = [one for one in found if one.likeness is not Likeness.DIFFERENT]
    return max(alike, key=_preference, default=None)


def merged(duplicate: Duplicate, params: StoreParams) -> StoreParams:
    """What to store under the duplicate's key, with one proof more.

    The newer wording wins unless it says less. Nothing is demoted: the better tier and the higher
    importance stay, and what was kept for good is not given an end. The same step of the same run
    saying it twice, as a retry does, proves nothing.
    """
    entry = duplicate.entry
    tier = _better(entry.tier, params.tier)
    return replace(
        params,
        key=entry.key,
        value=_fuller(entry.value, params.value),
        metadata={**entry.metadata, **params.metadata, **_proofs(entry, params)},
        category=entry.category,
        tier=tier,
        importance=max(entry.importance, params.importance),
        ttl_seconds=_life(entry, params),
    )


def list_in(metadata: Mapping[str, Json], name: str, kind: type[T]) -> list[T]:
    """Metadata is anybody's: what isn't a list of these was written by somebody else, and says nothing here."""
    found = metadata.get(name)
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
        return []
    return found


def proofs(entry: MemoryEntry) -> int:
    """How many times it was said; whatever is there was said once."""
    found = entry.metadata.get("proofs", 1)
    return found if isinstance(found, int) and found > 1 else 1


# A chat repeats itself, pages have names of their own, notes are short-lived.
NEVER_MERGED = frozenset({"message", "summary", "fold", "note", "page"})
_LEAST_SHARE = 0.8  # of the longer text that the shorter one has to have
_WITNESSES_KEPT = 50

_WORD = re.compile(r"[\w]+")
_CONTRACTIONS = (
    (re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]"), ""),
    (re.compile(r"[’ʼ]"), "'"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bcannot\b"), "can not"),
)


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem for word in words.split() for stem in (word, *terms(word)))


# Words whose coming or going changes nothing.
_HARMLESS = _stems("a an the please just also that 的 了 吧 呢 啊")

# Words whose coming or going changes everything: negations, limits, times, amounts.
_NEGATIONS = _stems(
    "not no never none nobody nothing neither nor without 不 没 沒 无 無 非 未 别 勿 莫"
)
_TELLING = _NEGATIONS | _stems(
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


def _expanded(text: str) -> str:
    for pattern, instead in _CONTRACTIONS:
        text = pattern.sub(instead, text)
    return text


def _of_texts(one: str, other: str) -> Likeness:
    left, right = words_of(one), words_of(other)
    if left == right:
        # Texts of signs alone ("👍", "…") have no words to compare.
        same = bool(left) or one.strip() == other.strip()
        return Likeness.SAME if same else Likeness.DIFFERENT
    shorter, longer = sorted((left, right), key=len)
    if len(shorter) < _LEAST_SHARE * len(longer):
        return Likeness.DIFFERENT
    added = _added(shorter, longer)
    if added is None or any(map(is_telling, added)):
        return Likeness.DIFFERENT
    return Likeness.NEAR


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(
        one
        for one in terms(normalised(text))
        if one not in _HARMLESS and not (len(one) > 1 and is_unspaced(one))
    )


# At the gate a text meets hundreds of others, and most of them again the next time.
_CACHED_LENGTH = 2_000
_cached_words_of = lru_cache(maxsize=20_000)(_words_of)

# Names of pages: those of a whole shelf are compared each time one of it is looked at.
_LONGEST_NAME = 200
_cached_normalised = lru_cache(maxsize=20_000)(_normalised)


def is_telling(term: str) -> bool:
    return term in _TELLING or any(character.isdigit() for character in term)


def _added(shorter: Sequence[str], longer: Sequence[str]) -> list[str] | None:
    """What the longer one has besides, if taking it out leaves the shorter one; else nothing."""
    added, position = [], 0
    for term in longer:
        if position < len(shorter) and shorter[position] == term:
            position += 1
        else:
            added.append(term)
    return added if position == len(shorter) else None


def differs_by_negation(one: str, other: str) -> bool:
    """The same words, but one of them says no."""
    left, right = words_of(one), words_of(other)
    no_left, no_right = (sum(t in _NEGATIONS for t in side) for side in (left, right))
    if no_left % 2 == no_right % 2:
        return False
    bare = [
        [t for t in side if t not in _NEGATIONS and t not in _HELPERS] for side in (left, right)
    ]
    return bare[0] == bare[1] and len(bare[0]) >= _FEWEST_WORDS


_HELPERS = _stems("do does did")
_FEWEST_WORDS = 2


def _worst(found: Iterable[Likeness]) -> Likeness:
    order = [Likeness.SAME, Likeness.NEAR, Likeness.DIFFERENT]
    return max(found, key=order.index, default=Likeness.SAME)


def _comparable(entry: MemoryEntry, params: StoreParams) -> bool:
    return (
        entry.namespace == params.namespace
        and entry.category == params.category
        and entry.key != params.key
        and entry.tier is not Tier.QUARANTINE
    )


def _preference(duplicate: Duplicate) -> tuple[bool, str, str]:
    entry = duplicate.entry
    moment = entry.updated_at.isoformat() if entry.updated_at else ""
    return (duplicate.likeness is Likeness.SAME, moment, entry.id)


def _better(one: Tier, other: Tier) -> Tier:
    return Tier.LONG_TERM if Tier.LONG_TERM in (one, other) else other


def _life(entry: MemoryEntry, params: StoreParams) -> float | None:
    """What has no end gets none; of two ends the later."""
    before = life_of(entry)
    if entry.tier is Tier.LONG_TERM and params.tier is not Tier.LONG_TERM:
        return before
    if params.ttl_seconds is None or (before is None and entry.tier is params.tier):
        return None
    return params.ttl_seconds if before is None else max(before, params.ttl_seconds)


def life_of(entry: MemoryEntry) -> float | None:
    """Seconds from its last change to its end; nothing where there is no end."""
    if entry.expires_at is None or entry.updated_at is None:
        return None
    return (entry.expires_at - entry.updated_at).total_seconds()


def _fuller(old: Json, new: Json) -> Json:
    if isinstance(old, str) and isinstance(new, str) and len(words_of(new)) < len(words_of(old)):
        return old
    return new


def _proofs(entry: MemoryEntry, params: StoreParams) -> dict[str, Json]:
    witness = _witness(params.source)
    known = list_in(entry.metadata, "proved_by", str) or [_witness(entry.source)]
    if witness in known and witness != "//":
        return {"proofs": proofs(entry), "proved_by": known}
    return {"proofs": proofs(entry) + 1, "proved_by": [*known, witness][-_WITNESSES_KEPT:]}


def _witness(source: Source) -> str:
    return f"{source.run_id}/{source.node_id}/{source.message}"
