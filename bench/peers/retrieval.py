"""Rankers that the recall benchmark compares with ours: the seed's keywords, plain BM25, and rank fusion."""

from collections import Counter
from collections.abc import Callable, Sequence

from bench.retrieval_sets import Namespace
from memory.core.recall import scoring
from memory.core.recall.tokens import extract_query_terms, extract_terms
from memory.logic.entries.text_similarity import list_significant_terms


Ranker = Callable[[str], list[str]]

FUSION_CONSTANT = 60  # the usual one of reciprocal rank fusion


def build_seed_ranker(namespace: Namespace) -> Ranker:
    """Rank by the share of the question's keywords in a text, plus the Dice coefficient of the keywords of both."""
    keywords = {
        entry["key"]: frozenset(list_significant_terms(entry["text"]))
        for entry in namespace.entries
    }

    def answer(question: str) -> list[str]:
        terms = frozenset(list_significant_terms(question))
        return _sort_keys({key: _score(terms, entry) for key, entry in keywords.items()})

    return answer


def build_plain_bm25(namespace: Namespace) -> Ranker:
    """Rank by BM25 with stems and without the question's stop words."""
    keys = [entry["key"] for entry in namespace.entries]
    term_counts = [Counter(extract_terms(entry["text"])) for entry in namespace.entries]
    lengths = [counts.total() for counts in term_counts]
    mean = scoring.compute_mean_length(sum(lengths), len(lengths))
    weights = [scoring.weigh_length(length, mean) for length in lengths]

    def answer(question: str) -> list[str]:
        scores: Counter[str] = Counter()
        for term in set(extract_query_terms(question)):
            matches = [n for n, counts in enumerate(term_counts) if term in counts]
            rarity = scoring.compute_rarity(len(matches), len(term_counts))
            for n in matches:
                scores[keys[n]] += rarity * scoring.saturate(term_counts[n][term], weights[n])
        return _sort_keys(scores)

    return answer


def build_rank_fusion(namespace: Namespace) -> Ranker:
    """Rank by the sum of the reciprocal ranks that the two rankers above give."""
    rankers = (build_seed_ranker(namespace), build_plain_bm25(namespace))

    def answer(question: str) -> list[str]:
        scores: Counter[str] = Counter()
        for ranker in rankers:
            for rank, key in enumerate(ranker(question), start=1):
                scores[key] += 1 / (FUSION_CONSTANT + rank)
        return _sort_keys(scores)

    return answer


def _score(question: frozenset[str], entry: frozenset[str]) -> float:
    common = len(question & entry)
    if not common:
        return 0.0
    return common / len(question) + 2 * common / (len(question) + len(entry))


def _sort_keys(scores: dict[str, float] | Counter[str]) -> list[str]:
    """Return the keys with a positive score, the highest score first."""
    ordered: Sequence[tuple[str, float]] = sorted(scores.items(), key=lambda pair: -pair[1])
    return [key for key, score in ordered if score > 0]
