"""Postgres agrees with the oracle: the same acts, the same answers, the same order, the same scores."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.core.errors import QuotaExceeded
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import Tier
from tests.spec.providers.conftest import Memory, Ticking, make_in_memory, make_postgres


WORDS = ["cat", "Cats", "Miso", "called", "猫", "米索", "2012年", "Ω", "a b", '"', "\\", "%", "_"]
WORDS += ["Miso: ", "Rex: cat?", "assistant: ", "called " * 60]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -2.5, 1e15, 10**20])
    | TEXTS
)
OPEN_METADATA = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2),
    max_size=3,
)
GROUPS = st.sampled_from([{}, {"group": "one"}, {"group": "two"}, {"group": 1}, {"group": ""}])
METADATA = st.builds(lambda open_, group: {**open_, **group}, OPEN_METADATA, GROUPS)
PATHS = st.sampled_from(["a", "b", "c", "a.a", "a.b", "b.a", "category", "tier", "a.0"])
ORDERED = st.integers(-3, 3) | st.sampled_from([0.5, 1e15]) | TEXTS
CONDITIONS = st.one_of(
    SCALARS,
    st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ORDERED, min_size=1),
    st.fixed_dictionaries({"$ne": SCALARS}),
    st.fixed_dictionaries({"$in": st.lists(SCALARS, max_size=3)}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
)
FILTERS: st.SearchStrategy[Any] = st.recursive(
    st.dictionaries(PATHS, CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=4,
)
# When an entry holds, in seconds since the clocks of the tests begin.
START = Ticking().now
SECONDS = st.none() | st.integers(-1, 9)
VALIDITY: st.SearchStrategy[Any] = st.tuples(SECONDS, SECONDS).filter(
    lambda pair: pair[0] is None or pair[1] is None or pair[0] < pair[1]
)
KEYS = st.sampled_from(["k1", "k2", "k3", "cat"])
NAMESPACES = st.sampled_from(["user:mia", "conv:1"])
ACTS = st.one_of(
    st.tuples(
        st.just("store"),
        NAMESPACES,
        KEYS,
        SCALARS | METADATA,
        METADATA,
        st.sampled_from(Tier),
        st.none() | st.integers(1, 3),
        st.just((None, None)) | VALIDITY,
    ),
    st.tuples(st.just("delete"), NAMESPACES, KEYS),
    st.tuples(st.just("clear"), NAMESPACES),
    st.tuples(st.just("sleep"), st.integers(1, 2)),
)
QUESTIONS = st.fixed_dictionaries(
    {
        "namespace": NAMESPACES,
        "key": st.none() | KEYS,
        "query_text": st.none() | TEXTS,
        "filter": st.none() | FILTERS,
        "top_k": st.none() | st.integers(0, 4),
        "language": st.sampled_from(["english", "english", "german"]),
        "recency_days": st.none() | st.sampled_from([0.00001, 30]),
        "as_of": st.none() | st.integers(0, 9),
        "valid_at": st.none() | st.integers(-2, 9),
        "include_former": st.sampled_from([False, False, True]),
    }
)
POLICY = MemorySecurityPolicy(max_entries_per_namespace=3, max_namespace_bytes=130)


def do(memory: Memory, act: tuple[Any, ...]) -> Any:
    match act:
        case ("store", namespace, key, value, metadata, tier, ttl, *validity):
            try:
                more = {"metadata": metadata, "tier": tier, "ttl_seconds": ttl}
                for valid_from, valid_until in validity:
                    more |= {"valid_from": at(valid_from), "valid_until": at(valid_until)}
                return memory.store(key, value, namespace, **more).revision
            except QuotaExceeded:
                return "full"
        case ("delete", namespace, key):
            return memory.delete(key, namespace)
        case ("clear", namespace):
            return memory.clear(namespace)
        case ("sleep", seconds):
            return memory.clock.sleep(seconds)


def at(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


def agree_all_along(other: Memory, acts: list[Any], questions: list[dict[str, Any]]) -> None:
    """The oracle and another go through the same acts and give the same answers."""
    oracle = make_in_memory(policy=POLICY, clock=Ticking())
    began = oracle.clock.now
    for act in acts:
        done = do(oracle, act)
        assert do(other, act) == done
        other.clock.now = oracle.clock.now  # each looks at its clock as often as it likes

    everything = [{"namespace": namespace} for namespace in ("user:mia", "conv:1")]
    for question in [*everything, *questions]:
        assert told(other, question, began) == told(oracle, question, began)
        other.clock.now = oracle.clock.now


def told(memory: Memory, question: dict[str, Any], began: datetime) -> Any:
    if (after := question.get("as_of")) is not None:
        question = {**question, "as_of": began + timedelta(seconds=after)}
    if "valid_at" in question:
        question = {**question, "valid_at": at(question["valid_at"])}
    return [
        (
            e.key,
            e.value,
            dict(e.metadata),
            e.score,
            dict(e.explain),
            e.tier,
            e.revision,
            e.position,
            e.updated_at,
            (e.valid_from, e.valid_until),
        )
        for e in memory.recall(**question)
    ]


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(ACTS, max_size=8), st.lists(QUESTIONS, min_size=1, max_size=4))
def test_postgres_agrees_with_the_oracle(acts: list[Any], questions: list[Any]) -> None:
    agree_all_along(make_postgres(policy=POLICY, clock=Ticking()), acts, questions)


LONGER = [f"w{number}" for number in range(40)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))]
)
def test_postgres_agrees_over_several_blocks(seed: int) -> None:
    """More entries than a block of postings has, in groups, changed, moved, forgotten and over."""
    chance = random.Random(seed)
    oracle, postgres = make_in_memory(clock=Ticking()), make_postgres(clock=Ticking())
    for _ in range(600):
        act = _act_by(chance)
        assert do(postgres, act) == do(oracle, act)
        postgres.clock.now = oracle.clock.now

    for _ in range(25):
        words = " ".join(chance.choices(LONGER, k=chance.randint(1, 4)))
        question = {
            "query_text": chance.choice([words, words[:-1]]),
            "top_k": chance.choice([None, 1, 5, 20]),
            "filter": chance.choice([None, None, {"a": 1}, {"group": "g1"}]),
            "recency_days": chance.choice([None, None, 0.0001]),
            "valid_at": chance.choice([None, None, 0, 5]),
            "include_former": chance.random() < 0.3,
        }
        found = told(postgres, question, oracle.clock.now)
        assert found == told(oracle, question, oracle.clock.now)
        postgres.clock.now = oracle.clock.now


def _act_by(chance: random.Random) -> tuple[Any, ...]:
    key = f"k{chance.randint(1, 350)}"
    if chance.random() < 0.1:
        return ("delete", "user:mia", key)
    # Rare words and common ones, short texts and long.
    text = " ".join(LONGER[int(40 * chance.random() ** 2)] for _ in range(chance.randint(0, 30)))
    metadata = chance.choice([{}, {"group": "g1"}, {"group": "g2", "a": 1}, {"a": 1}])
    tier = chance.choice([Tier.LONG_TERM, Tier.LONG_TERM, Tier.WORKING, Tier.QUARANTINE])
    ttl = chance.choice([None, None, None, 1])
    validity = chance.choice([(None, None)] * 4 + [(None, 0), (0, 9), (3, None), (9, None)])
    return ("store", "user:mia", key, text, metadata, tier, ttl, validity)
