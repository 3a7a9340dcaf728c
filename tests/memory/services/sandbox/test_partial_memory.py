"""Memory that leaves out some scopes: nodes there work on empty copies, and all other scopes are real."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Entry, Namespace
from memory.services import MemoryCaller
from memory.services.gateway.engine_port import RunMemory
from memory.services.sandbox.dry_run import SandboxChange
from memory.services.sandbox.partial_memory import (
    NO_HISTORY,
    PartialMemory,
    SentHistory,
    list_scopes_like,
)
from memory.services.sandbox.sandbox import SandboxMemory
from tests.memory.services.conftest import in_run
from tests.support.cast import Person
from workflows.engine.memory_ports import FactOperation


pytestmark = pytest.mark.django_db(transaction=True)

MESSAGES = [
    {"role": "user", "content": "My name is Ana."},
    {"role": "assistant", "content": "Hello, Ana."},
]
HISTORY = SentHistory(MESSAGES, datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True)
class Step:
    run_id: str = "r1"
    node_id: str = "node"
    idempotency_key: str = "r1:node:1"


@dataclass
class Changes:
    """A ledger in memory, which outlives the port as the rows of a run do."""

    rows: list[SandboxChange] = field(default_factory=list)

    def load(self) -> Sequence[SandboxChange]:
        return list(self.rows)

    def add(self, changes: Sequence[SandboxChange]) -> None:
        self.rows += changes


def make_caller(person: Person) -> MemoryCaller:
    return in_run(person, user_id="mia", conversation_id="c1", outside=True)


def make_port(
    caller: MemoryCaller,
    ledger: Changes,
    left_out: set[str],
    history: SentHistory = NO_HISTORY,
) -> PartialMemory:
    return PartialMemory(RunMemory(caller), ledger, left_out, history)


def at(key: str = "1") -> dict[str, Any]:
    return {"identity": {}, "origin": Step(idempotency_key=key)}


def test_scope_that_is_left_out_is_neither_read_nor_written(alice: Person):
    ledger, caller = Changes(), make_caller(alice)

    async def work() -> tuple[object, ...]:
        real = RunMemory(caller)
        await real.store(scope="user", key="cat", value="Miso", **at("0"))
        port = make_port(caller, ledger, {"user"})
        before = await port.recall(scope="user", **at())
        await port.store(scope="user", key="dog", value="Rex", **at("2"))
        await port.store(scope="conversation", key="topic", value="pets", **at("3"))
        again = await make_port(caller, ledger, {"user"}).recall(scope="user", **at("4"))
        forgotten = await port.delete(scope="user", key="cat", **at("5"))
        return before, [entry.value for entry in again], forgotten

    assert asyncio.run(work()) == ([], ["Rex"], 0)
    with tenant([alice.team.pk]):
        entries = Entry.objects.unscoped().order_by("namespace__text", "key")
        values = list(entries.values_list("namespace__text", "key", "value"))
    assert values == [("conv:c1", "topic", "pets"), ("user:mia", "cat", "Miso")]
    assert [(row.scope, row.key) for row in ledger.rows] == [("user", "dog")]


def test_history_of_a_conversation_is_what_the_client_sent(alice: Person):
    ledger, caller = Changes(), make_caller(alice)

    async def work() -> tuple[object, ...]:
        port = make_port(caller, ledger, {"conversation"}, HISTORY)
        sent = await port.converse(action="read", **at())
        said = {"role": "user", "content": "What is my name?"}
        await port.converse(action="append", messages=[said], **at("2"))
        # Another worker goes on with the run: the message that the step added is there once.
        after = make_port(caller, ledger, {"conversation"}, HISTORY)
        await after.converse(action="append", messages=[said], **at("2"))
        read = await after.converse(action="read", **at("3"))
        return read_texts(sent), read_texts(read)

    first = [message["content"] for message in MESSAGES]
    assert asyncio.run(work()) == (first, [*first, "What is my name?"])
    with tenant([alice.team.pk]):
        assert not Namespace.objects.unscoped().filter(text="conv:c1").exists()


def read_texts(result: Any) -> list[str]:
    return [message["content"] for message in result.messages]


def test_scopes_that_the_same_people_see_are_left_out_together():
    assert list_scopes_like({"user"}) == {"user"}
    assert list_scopes_like({"user", "conversation"}) == {"user", "conversation"}


def test_facts_of_a_scope_that_is_left_out_change_nothing_real(alice: Person):
    """What they replace and forget is a change of the copy, which the ledger has."""
    ledger, caller = Changes(), make_caller(alice)

    async def work() -> tuple[object, ...]:
        real = RunMemory(caller)
        home = await real.store(scope="user", key="home", value="I live in Berlin.", **at("0"))
        dry = SandboxMemory(caller, ledger)
        proposal = await dry.propose_facts(scope="user", message="I live in Lyon now.", **at())
        operations = [
            asdict(FactOperation("replace", "I live in Lyon.", (home.id,), "in Lyon", "m-1")),
            asdict(FactOperation("forget", targets=(home.id,))),
        ]
        learned = await dry.learn(scope="user", operations=operations, **at("2"))
        partial = make_port(caller, ledger, {"user"})
        nothing = await partial.learn(scope="user", operations=operations[1:], **at("3"))
        seen = await dry.recall(scope="user", **at("4"))
        return (
            [fact.text for fact in proposal.known_facts],
            [(len(change.ended), len(change.forgotten)) for change in (*learned, *nothing)],
            [entry.value for entry in seen],
        )

    related, changed, seen = asyncio.run(work())
    assert related == ["I live in Berlin."]
    assert changed == [(1, 0), (0, 1), (0, 0)]
    assert seen == ["I live in Lyon."]
    assert [(row.operation, row.key) for row in ledger.rows] == [
        ("store", "m-1"),
        ("store", "home"),
        ("forget", "home"),
    ]
    with tenant([alice.team.pk]):
        (entry,) = Entry.objects.unscoped()
    assert (entry.value, entry.valid_until, entry.deleted_at) == ("I live in Berlin.", None, None)
