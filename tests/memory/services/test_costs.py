"""How often an operation asks the database, literally: each question is part of its latency."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import services
from memory.embedding import encoder, judge
from memory.embedding.judge import find_judge
from memory.logic.judgement.judge import judge_turn
from memory.logic.judgement.operations import Action, LearnRequest, Operation
from memory.services import CallOrigin, MemoryCaller
from memory.services.entries.learn import learn, propose_facts
from tests.memory.services.conftest import in_run
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db(transaction=True)

# BEGIN, the wall and COMMIT are three of each.
COSTS = [
    ("recall by text", lambda c: services.recall(c, scope="user", query_text="hello"), 9),
    ("recall by key", lambda c: services.recall(c, scope="user", key="a"), 7),
    ("store anew", lambda c: services.remember(c, scope="user", key="b", value="x"), 7),
    ("store the same", lambda c: services.remember(c, scope="user", key="a", value="hello 0"), 7),
    ("store over", lambda c: services.remember(c, scope="user", key="a", value="x"), 8),
]


FACT = Operation(Action.ADD, "I play the violin.", key="m-1")
# Each turn looks its namespace up once, compares what it stores with the newest facts, and writes its end into the trail.
TURNS = [
    ("nothing", (), 0, 0),
    ("a fact", (FACT,), 0, 11),
    ("two facts", (FACT, replace(FACT, text="I live in Lyon.", key="m-2")), 0, 14),
    ("a change", (replace(FACT, action=Action.REPLACE),), 1, 14),
    ("an end", (Operation(Action.END),), 1, 8),
]


@pytest.mark.parametrize(("what", "operations", "target_count", "most"), TURNS)
def test_turn_asks_the_database(
    cast: Cast, what: str, operations: Sequence[Operation], target_count: int, most: int
) -> None:
    caller = in_run(cast.alice)
    entry = services.remember(caller, scope="user", key="a", value="I play the flute.")
    targets = (entry.id,) * target_count
    request = LearnRequest(
        [replace(each, targets=targets) for each in operations], {}, "long_term", None
    )
    step = replace(caller, origin=CallOrigin("r1", "node", what))

    with CaptureQueriesContext(connection) as queries:
        learn(step, scope="user", request=request)

    assert len(queries) == most, [one["sql"][:90] for one in queries]


class CountingEncoder:
    """The encoder, and what it encoded."""

    def __init__(self) -> None:
        self.encoder = encoder._load_encoder()
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> object:
        self.texts += texts
        return self.encoder.encode(texts)


@pytest.fixture
def encoding(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingEncoder]:
    """The encoder of a process that has encoded nothing yet."""
    settings.MEMORY_EMBEDDER = "local"
    counting = CountingEncoder()
    monkeypatch.setattr(encoder, "_load_encoder", lambda: counting)
    monkeypatch.setattr(encoder, "_LATEST", OrderedDict())
    judge._build_judge.cache_clear()
    yield counting
    judge._build_judge.cache_clear()


def remember_turn(caller: MemoryCaller, message: str, encoding: CountingEncoder) -> list[list[str]]:
    """Remember a turn; return what was encoded before its write began, and during it."""
    step = replace(caller, origin=CallOrigin("r1", "node", message))
    encoding.texts.clear()
    proposal = propose_facts(step, scope="user", turn=judge_turn(find_judge(), message))
    before = [*encoding.texts]
    operations = [replace(each, key=f"m-{message}") for each in proposal.operations]
    learn(step, scope="user", request=LearnRequest(operations, {}, "long_term", None))
    return [before, encoding.texts[len(before) :]]


def test_write_of_a_turn_encodes_nothing_under_its_lock(
    cast: Cast, encoding: CountingEncoder
) -> None:
    caller = in_run(cast.alice)
    facts = [f"I play the flute on day {number}." for number in range(30)]
    for number, fact in enumerate(facts):  # a program stores them, which gives them no attribute
        services.remember(caller, scope="user", key=f"k{number}", value=fact)
    services.recall(
        caller, scope="user", query_text="Hello"
    )  # which prepares the search by meaning
    home = "I live in Lyon."

    before, during = remember_turn(caller, home, encoding)

    assert (sorted(before), during) == (sorted([home, *facts]), [])
    assert remember_turn(caller, "I live in Oslo.", encoding) == [["I live in Oslo."], []]


@pytest.mark.parametrize(("what", "act", "most"), COSTS)
@pytest.mark.parametrize("entries", [1, 30])
def test_operation_of_a_run_asks_the_database(
    cast: Cast, what: str, act: Callable[[MemoryCaller], object], most: int, entries: int
) -> None:
    caller = in_run(cast.alice)
    for number in range(entries):
        key = "a" if not number else f"k{number}"
        services.remember(caller, scope="user", key=key, value=f"hello {number}")
    step = replace(caller, origin=CallOrigin("r1", "node", f"{what}"))

    with CaptureQueriesContext(connection) as asked:
        act(step)

    assert len(asked) == most, [one["sql"][:90] for one in asked]
