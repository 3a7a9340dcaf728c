"""Other ways to rank the same texts: the seed's, plain BM25, and the fusion of ranks."""

from collections import Counter
from collections.abc import Callable, Sequence

from bench.retrieval_sets import Namespace
from memory.core.recall import scoring
from memory.core.recall.tokens import extract_query_terms, extract_terms
from memory.logic.entries.text_similarity import list_significant_terms


Ranker = Callable[[str], list[str]]

FUSION = 60  # the constant everybody uses


def seed(namespace: Namespace) -> Ranker:
    """The share of the question's keywords a text has, and Dice of both's keywords."""
    texts = [
        (one["key"], frozenset(list_significant_terms(one["text"]))) for one in namespace.entries
    ]

    def answer(question: str) -> list[str]:
        asked = frozenset(list_significant_terms(question))
        return _best({key: _overlap(asked, found) for key, found in texts})

    return answer


def plain_bm25(namespace: Namespace) -> Ranker:
    """Stemmed, without stop words in the question, nothing else."""
    keys = [one["key"] for one in namespace.entries]
    counted = [Counter(extract_terms(one["text"])) for one in namespace.entries]
    lengths = [one.total() for one in counted]
    mean = scoring.compute_mean_length(sum(lengths), len(lengths))
    weights = [scoring.weigh_length(length, mean) for length in lengths]

    def answer(question: str) -> list[str]:
        scores: Counter[str] = Counter()
        for term in set(extract_query_terms(question)):
            found = [n for n, counts in enumerate(counted) if term in counts]
            rare = scoring.compute_rarity(len(found), len(counted))
            for n in found:
                scores[keys[n]] += rare * scoring.saturate(counted[n][term], weights[n])
        return _best(scores)

    return answer


def fused(namespace: Namespace) -> Ranker:
    """Reciprocal ranks of the two above."""
    rankers = (seed(namespace), plain_bm25(namespace))

    def answer(question: str) -> list[str]:
        scores: Counter[str] = Counter()
        for ranker in rankers:
            for rank, key in enumerate(ranker(question), start=1):
                scores[key] += 1 / (FUSION + rank)
        return _best(scores)

    return answer


def _overlap(asked: frozenset[str], found: frozenset[str]) -> float:
    common = len(asked & found)
    return common / len(asked) + 2 * common / (len(asked) + len(found)) if common else 0.0


def _best(scores: dict[str, float] | Counter[str]) -> list[str]:
    ordered: Sequence[tuple[str, float]] = sorted(scores.items(), key=lambda one: -one[1])
    return [key for key, score in ordered if score > 0]
