"""Scores: which of these texts answer that question, and why. The recipe, and the oracle of it.

Stemmed BM25 over an entry, plus the same over the entry together with the two before it in its
group, each brought to 0..1 first; then a fifth of what each of its four neighbours has. On chats
that finds a third more than words alone. Sums of normalised scores beat fusion of ranks. A text
that contains the question literally never ranks under half. Where texts and question have vectors, their
nearness (``memory.core.recall.similarity``) is a third term of the sum.

Statistics come from the texts that are handed in: those that are visible and pass the filter. A
place whose text is not among them is empty: it neither lends nor is anybody's context.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from memory.core.recall import scoring
from memory.core.recall.groups import Place
from memory.core.recall.literal_match import Question, question, worth_reading
from memory.core.recall.scoring import Parts, Sums
from memory.core.recall.tokens import DEFAULT_LANGUAGE, terms


@dataclass(frozen=True, slots=True)
class Text:
    """``recency`` and ``vector`` are 0..1, and given for all texts or for none."""

    text: str
    place: Place | None = None
    recency: float | None = None
    vector: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """``position`` in the texts handed in; ``parts`` add up to the score."""

    position: int
    score: float
    parts: Parts


def rank(query: str, texts: Sequence[Text], *, language: str = DEFAULT_LANGUAGE) -> list[Hit]:
    """Hits in the order of the texts; sorting is the caller's.

    A hit has words of the question, or is near it in meaning, or stands beside one that is, or contains the question.
    """
    asked = question(query, language)
    wanted = set(asked.terms)
    counted = [_counted(wanted, terms(one.text, language)) for one in texts]
    near = _Near(texts)
    own = _normalised(_scores(counted))
    context = _normalised(_scores([_with_context(counted, near, n) for n in range(len(texts))]))
    base = [
        scoring.base(mine, around, text.vector)
        for mine, around, text in zip(own, context, texts, strict=True)
    ]
    lent = [
        scoring.lent(*(near.of(base, n, away) for away in _NEIGHBOURS)) for n in range(len(base))
    ]
    totals = [mine + theirs for mine, theirs in zip(base, lent, strict=True)]
    by = scoring.scale(max(totals, default=0.0))
    literal = _literally(asked, texts, counted)
    hits = []
    for n, (text, total) in enumerate(zip(texts, totals, strict=True)):
        if total > 0 or n in literal:
            score = scoring.final(total, by, n in literal, text.recency)
            sums = Sums(own[n], context[n], lent[n], n in literal, text.vector, text.recency)
            hits.append(Hit(n, score, sums.explained(by)))
    return hits


_NEIGHBOURS = (-2, -1, 1, 2)


@dataclass(frozen=True, slots=True)
class _Counted:
    """How often a document has the words that were asked for, and how long it is."""

    counts: Mapping[str, int]
    length: int


class _Near:
    """Who stands where in a group."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._places = [one.place for one in texts]
        self._at = {place: n for n, place in enumerate(self._places) if place}

    def beside(self, n: int, away: int) -> int | None:
        place = self._places[n]
        return self._at.get((place[0], place[1] + away)) if place else None

    def of(self, scores: Sequence[float], n: int, away: int) -> float:
        found = self.beside(n, away)
        return 0.0 if found is None else scores[found]


def _counted(wanted: Set[str], document: Sequence[str]) -> _Counted:
    if wanted.isdisjoint(document):  # most are; this runs in C
        return _Counted(_NONE, len(document))
    found = Counter(term for term in document if term in wanted)
    capped = {term: min(count, scoring.MOST_COUNTED) for term, count in found.items()}
    return _Counted(capped, len(document))


_NONE: Mapping[str, int] = {}


def _with_context(documents: Sequence[_Counted], near: _Near, n: int) -> _Counted:
    found = [near.beside(n, -back) for back in range(1, scoring.PREDECESSORS + 1)]
    before = [documents[one] for one in found if one is not None]
    if not before:
        return documents[n]
    counts: Counter[str] = Counter()
    for one in (documents[n], *before):
        counts.update(one.counts)
    return _Counted(counts, documents[n].length + sum(one.length for one in before))


def _scores(documents: Sequence[_Counted]) -> list[float]:
    if not documents:
        return []
    frequency = _frequency(documents)
    mean = scoring.mean_length(sum(one.length for one in documents), len(documents))
    rare = {term: scoring.rarity(found, len(documents)) for term, found in frequency.items()}
    return [_score(document, mean, rare) for document in documents]


def _score(document: _Counted, mean: float, rare: Mapping[str, float]) -> float:
    score = 0.0
    if document.counts:
        weight = scoring.longer(document.length, mean)
        for term in sorted(
            document.counts
        ):  # in one order, so that the same words give the same float
            score += rare[term] * scoring.saturated(document.counts[term], weight)
    return score


def _frequency(documents: Sequence[_Counted]) -> Counter[str]:
    return Counter(term for document in documents for term in document.counts)


def _normalised(scores: Sequence[float]) -> list[float]:
    highest = max(scores, default=0.0)
    return [scoring.normal(score, highest) for score in scores]


def _literally(
    asked: Question, texts: Sequence[Text], counted: Sequence[_Counted]
) -> frozenset[int]:
    telling = asked.telling(_frequency(counted))
    candidates = worth_reading(
        n for n, document in enumerate(counted) if telling <= document.counts.keys()
    )
    return frozenset(n for n in candidates if asked.is_in(texts[n].text))
