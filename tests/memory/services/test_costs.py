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
from memory.logic.judgement.judge import Proposal, judge_turn
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.providers.postgres import rows
from memory.services import CallOrigin, MemoryCaller
from memory.services.entries.learn import learn, learn_turn
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
    ("a change", (replace(FACT, action=Action.REPLACE),), 1, 13),
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


def remember_message(caller: MemoryCaller, message: str) -> list[LearnedChange]:
    """Remember it without a model."""
    turn = judge_turn(find_judge(), message)
    request = LearnRequest((), {}, "long_term", None)

    def decide(proposal: Proposal) -> list[Operation]:
        return [replace(each, key=f"m-{each.text}") for each in proposal.operations]

    step = replace(caller, origin=CallOrigin("r1", "node", message))
    _proposal, changes = learn_turn(step, scope="user", turn=turn, request=request, decide=decide)
    return changes


# What is known is read, compared and changed in one transaction, which begins and ends with three statements.
MESSAGES = [
    ("I moved to Oslo.", "replace", 13),
    ("My name is Tom and I am 34 years old.", "add, add", 15),
    ("Please forget where I live.", "forget", 12),
]


@pytest.mark.parametrize(("message", "actions", "most"), MESSAGES)
def test_message_asks_the_database_in_one_transaction(
    cast: Cast, settings: Any, message: str, actions: str, most: int
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    caller = in_run(cast.alice)
    services.remember(caller, scope="user", key="a", value="I live in Lyon.")
    services.recall(caller, scope="user", query_text="Hello")  # which finds the embedder

    with CaptureQueriesContext(connection) as queries:
        changes = remember_message(caller, message)

    statements = [query["sql"] for query in queries]
    assert ", ".join(change.action for change in changes) == actions
    assert len(statements) == most, [statement[:90] for statement in statements]
    assert [statements.count(word) for word in ("BEGIN", "COMMIT")] == [1, 1]


@pytest.fixture
def texts_before_locks(
    encoding: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> list[list[str]]:
    """Lists, for each lock of a namespace, what had been encoded before it."""
    before: list[list[str]] = []

    def lock(*arguments: Any) -> Any:
        before.append([*encoding.texts])
        return claim_to_write(*arguments)

    claim_to_write = rows.claim_to_write
    monkeypatch.setattr(rows, "claim_to_write", lock)
    return before


def store_facts(caller: MemoryCaller, encoding: CountingEncoder) -> list[str]:
    """Store facts as a program does, which gives them no attribute."""
    facts = [f"I play the flute on day {number}." for number in range(30)]
    for number, fact in enumerate(facts):
        services.remember(caller, scope="user", key=f"k{number}", value=fact)
    services.recall(caller, scope="user", query_text="Hello")  # which prepares the search
    encoding.texts.clear()
    return facts


def test_write_of_a_turn_encodes_nothing_under_its_lock(
    cast: Cast, encoding: CountingEncoder, texts_before_locks: list[list[str]]
) -> None:
    caller = in_run(cast.alice)
    facts = store_facts(caller, encoding)
    texts_before_locks.clear()

    remember_message(caller, "I live in Lyon.")
    remember_message(caller, "I live in Oslo.")

    assert sorted(texts_before_locks[0]) == sorted([*facts, "I live in Lyon."])
    assert texts_before_locks[-1] == encoding.texts == [*texts_before_locks[0], "I live in Oslo."]


def test_write_of_what_a_model_words_encodes_nothing_under_its_lock(
    cast: Cast, encoding: CountingEncoder, texts_before_locks: list[list[str]]
) -> None:
    caller = in_run(cast.alice)
    facts = store_facts(caller, encoding)
    several = services.remember(
        caller, scope="user", key="several", value="I like tea, and I have two cats."
    )
    operations = (
        Operation(Action.ADD, "I live in Lyon.", key="m-1"),
        Operation(Action.FORGET, targets=(several.id,), evidence="Forget that I have cats."),
    )
    request = LearnRequest(operations, {}, "long_term", None)
    texts_before_locks.clear()

    changes = learn(
        replace(caller, origin=CallOrigin("r1", "node", "a step")), scope="user", request=request
    )

    assert [entry.value for entry in changes[1].remaining] == ["I like tea."]
    assert {*facts, "I live in Lyon.", "Forget that I have cats."} <= {*encoding.texts}
    assert texts_before_locks[0] == encoding.texts


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
