"""What holds, through the door: recall leaves out what holds no more, lists show it, and an undo lets it hold again."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import InvalidInput
from memory.core.records import MemoryEntry
from memory.logic.provider_port import ProviderPort
from memory.providers.in_memory import InMemoryProvider
from memory.services.gateway.engine_port import RunMemory
from memory.services.history.snapshot import search_snapshot
from memory.services.recall.search import EntrySearch, search_entries
from memory.services.sandbox.sandbox import SandboxMemory
from memory.short_rows import search_rows
from memory.upkeep.folding import fold_team
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person, make_cast
from workflows.engine.ports import Origin


pytestmark = pytest.mark.django_db

HERE = "global:app"


def ago(**past: float) -> datetime:
    return timezone.now() - timedelta(**past)


def move(person: Person, namespace: str = HERE) -> tuple[MemoryEntry, MemoryEntry]:
    """Let the home be in Berlin until an hour ago, and in Lyon since."""
    door, moment = at_door(person), ago(hours=1)
    old = services.remember(door, namespace=namespace, key="berlin", value="The home is Berlin.")
    new = services.remember(
        door, namespace=namespace, key="lyon", value="The home is Lyon.",
        valid_from=moment, replaces=old.id,
    )  # fmt: skip
    old = services.edit(
        door, entry_id=old.id, if_revision=1, valid_until=moment, replaced_by=new.id
    )
    return old, new


def keys(entries: Any) -> list[str]:
    return sorted(entry.key for entry in entries)


def test_recall_gives_what_holds_and_the_trail_says_what_was_asked(alice: Person) -> None:
    move(alice)
    recall: dict[str, Any] = {"namespace": HERE, "query_text": "home"}

    assert keys(services.recall(at_door(alice), **recall)) == ["lyon"]
    assert keys(services.recall(at_door(alice), namespace=HERE)) == ["lyon"]
    assert keys(services.recall(at_door(alice), namespace=HERE, key="berlin")) == ["berlin"]
    assert keys(services.recall(at_door(alice), **recall, valid_at=ago(hours=2))) == ["berlin"]
    both = services.recall(at_door(alice), **recall, include_former=True)
    assert keys(both) == ["berlin", "lyon"]
    with pytest.raises(InvalidInput, match="valid_at"):
        services.recall(at_door(alice), **recall, valid_at=datetime(2026, 1, 1))  # noqa: DTZ001
    with tenant([alice.team.id]):
        rows = AuditEntry.objects.unscoped().filter(action="memory.recalled", success=True)
        details = list(rows.order_by("seq").values_list("detail", flat=True))
    assert [("valid_at" in one, one.get("include_former", False)) for one in details] == [
        *[(False, False)] * 3,
        (True, False),
        (False, True),
    ]


def test_lists_and_searches_of_pages_show_former_entries(alice: Person) -> None:
    move(alice)
    door, home = at_door(alice), EntrySearch(text="home")

    assert keys(services.list_entries(door, namespace=HERE).entries) == ["berlin", "lyon"]
    assert keys(search_entries(door, namespace=HERE, search=home).entries) == ["berlin", "lyon"]
    assert all(hit.score for hit in search_entries(door, namespace=HERE, search=home).entries)
    snapshot = search_snapshot(door, namespace=HERE, moment=timezone.now(), search=home)
    assert keys(snapshot.page.entries) == ["berlin", "lyon"]
    until = {row.text: row.held_until for row in search_rows(door, "home", limit=5)}
    assert until["The home is Lyon."] is None
    assert until["The home is Berlin."] is not None


def test_search_of_all_namespaces_finds_former_entries_only_if_asked(alice: Person) -> None:
    move(alice)
    move(alice, "global:other")

    def found(**more: Any) -> list[str]:
        results = services.search_all_namespaces(at_door(alice), query="home", **more)
        assert results.total == len(results.entries)
        return keys(results.entries)

    assert found() == ["lyon", "lyon"]
    assert found(valid_at=ago(hours=2)) == ["berlin", "berlin"]
    assert found(include_former=True) == ["berlin", "berlin", "lyon", "lyon"]
    assert found(include_former=True, category="fact") == ["berlin", "berlin", "lyon", "lyon"]


def test_retirement_is_undone_and_seen_in_the_past(alice: Person) -> None:
    before = timezone.now()
    old, _new = move(alice)
    after = timezone.now()

    restored = services.restore(at_door(alice), entry_id=old.id, revision=1)

    assert (restored.valid_until, restored.replaced_by) == (None, "")
    ask: dict[str, Any] = {"namespace": HERE, "query_text": "home"}
    assert keys(services.recall(at_door(alice), **ask)) == ["berlin", "lyon"]
    assert keys(services.recall(at_door(alice), **ask, as_of=after)) == ["lyon"]
    assert services.recall(at_door(alice), **ask, as_of=before) == []


def test_edit_removes_an_end_and_keeps_what_it_is_not_told(alice: Person) -> None:
    old, new = move(alice)
    door = at_door(alice)

    edited = services.edit(door, entry_id=old.id, if_revision=2, value="Berlin was the home.")
    assert (edited.valid_until, edited.replaced_by) == (old.valid_until, new.id)

    edited = services.edit(door, entry_id=old.id, if_revision=3, valid_until=None, replaced_by="")
    assert (edited.valid_until, edited.replaced_by) == (None, "")
    with pytest.raises(InvalidInput, match="valid_until"):
        services.edit(door, entry_id=new.id, if_revision=1, valid_until=new.valid_from)


@pytest.mark.parametrize(("key", "revision"), [("home", 1), ("berlin", 3)])
def test_what_held_before_is_remembered_anew_when_it_is_said_again(
    alice: Person, key: str, revision: int
) -> None:
    move(alice)
    once: dict[str, Any] = {"scope": "global", "once": True}

    known = services.remember(in_run(alice), key="where", value="The home is Lyon.", **once)
    again = services.remember(in_run(alice), key=key, value="The home is Berlin.", **once)

    assert known.key == "lyon"
    assert (again.key, again.revision, again.valid_until) == (key, revision, None)


def test_former_entry_makes_no_working_statement_a_repetition(alice: Person) -> None:
    run, moment = in_run(alice), ago(hours=1)
    said: dict[str, Any] = {
        "value": "The printer on the second floor is out of toner.",
        "tier": "working",
    }
    services.remember(run, scope="global", key="r1-a", valid_until=moment, **said)
    services.remember(run, scope="global", key="r1-b", **said)

    assert fold_team(alice.team.id, timezone.now()) == 0
    assert [entry.key for entry in services.recall(run, scope="global")] == ["r1-b"]


def test_forgetting_by_filter_takes_former_entries_along(alice: Person) -> None:
    move(alice)

    plan = services.plan_forgetting(at_door(alice), namespace=HERE, filter={"category": "fact"})
    done = services.forget(at_door(alice), namespace=HERE, filter={"category": "fact"})

    assert (plan.count, done.count) == (2, 2)


class NoLedger:
    def load(self) -> Any:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError(changes)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox", "provider"])
def test_port_passes_the_moment_and_former_entries(kind: str) -> None:
    alice = make_cast().alice
    ports = {
        "run": lambda: RunMemory(in_run(alice)),
        "sandbox": lambda: SandboxMemory(in_run(alice), NoLedger()),
        "provider": lambda: ProviderPort(InMemoryProvider()),
    }
    port = ports[kind]()
    if isinstance(port, ProviderPort):
        from memory.core.records import StoreParams

        for key, ends in (("berlin", ago(hours=1)), ("lyon", None)):
            text = f"The home is {key}."
            port._entries.store(StoreParams(HERE, key, value=text, valid_until=ends))
    else:
        move(alice)
    at: dict[str, Any] = {
        "scope": "global", "identity": {"app_id": "app"}, "origin": Origin("r1", "n", "k"),
    }  # fmt: skip

    async def ask(**more: Any) -> list[str]:
        return keys(await port.recall(query_text="home", **at, **more))

    async def work() -> list[Any]:
        before = ago(hours=2)
        return [await ask(), "berlin" in await ask(valid_at=before), await ask(include_former=True)]

    assert asyncio.run(work()) == [["lyon"], True, ["berlin", "lyon"]]
