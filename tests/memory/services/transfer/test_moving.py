"""Entries that MEMORY_PLACES would hide: they are found, and moved to where the setting looks."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import routing, services
from memory.core.errors import ProviderError
from memory.models import Namespace
from memory.services.transfer.moving import (
    MisplacedNamespace,
    give_up_namespace,
    list_hidden_namespaces,
    move_namespace,
)
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

TEXT = "ai:memory:w1:g"
IN_REDIS, IN_POSTGRES = ("workflow=redis",), ()


@pytest.fixture(autouse=True)
def redis(settings: Any, valkey_url: str) -> Iterator[None]:
    settings.MEMORY_REDIS_URL = valkey_url
    yield
    routing.close_providers()


def remember(person: Person, key: str, value: str, **more: Any) -> None:
    caller = in_run(person, workflow_id="w1", group_id="g")
    services.remember(caller, scope="workflow", key=key, value=value, **more)


def recall(person: Person) -> dict[str, str]:
    caller = in_run(person, workflow_id="w1", group_id="g")
    return {entry.key: entry.value for entry in services.recall(caller, scope="workflow")}


def hidden() -> list[tuple[str, str, str, int | None]]:
    return [
        (one.row.text, one.provider, one.expected, one.count) for one in list_hidden_namespaces()
    ]


def move_all() -> int:
    return sum(map(move_namespace, list_hidden_namespaces()))


def test_rule_that_hides_entries_of_postgres_is_noticed_and_they_move(
    alice: Person, settings: Any
) -> None:
    remember(alice, "a", "green tea", category="preference", importance=0.9)
    remember(alice, "b", "Alice likes coffee", tier="working")
    services.remember(at_door(alice), namespace="global:default", key="k", value="shared")
    assert hidden() == []

    settings.MEMORY_PLACES = IN_REDIS
    assert hidden() == [(TEXT, "postgres", "redis", 2)]
    assert recall(alice) == {}
    assert move_all() == 2

    assert hidden() == []
    entries = {entry.key: entry for entry in services.recall(at_door(alice), namespace=TEXT)}
    assert {key: entry.value for key, entry in entries.items()} == {
        "a": "green tea",
        "b": "Alice likes coffee",
    }
    assert (entries["a"].category, entries["a"].importance) == ("preference", 0.9)
    assert entries["b"].expires_at is not None
    with tenant([alice.team.pk]):
        row = AuditEntry.objects.unscoped().get(action="memory.moved")
    assert (row.subject, row.detail) == (TEXT, {"keys": 2, "from": "postgres", "to": "redis"})


def test_rule_that_is_gone_hides_what_the_provider_has_and_it_moves_back(
    alice: Person, settings: Any
) -> None:
    settings.MEMORY_PLACES = IN_REDIS
    remember(alice, "a", "green tea")
    remember(alice, "b", "coffee")
    assert hidden() == []

    settings.MEMORY_PLACES = IN_POSTGRES
    assert hidden() == [(TEXT, "redis", "postgres", 2)]
    assert move_all() == 2

    assert (hidden(), recall(alice)) == ([], {"a": "green tea", "b": "coffee"})
    settings.MEMORY_PLACES = IN_REDIS
    assert hidden() == [(TEXT, "postgres", "redis", 2)]
    assert recall(alice) == {}


def test_what_was_stored_since_stays_and_a_rule_of_another_team_hides_nothing(
    alice: Person, carol: Person, settings: Any
) -> None:
    remember(alice, "a", "old")
    remember(alice, "b", "coffee")
    settings.MEMORY_PLACES = (f"workflow@{carol.team.pk}=redis",)
    assert hidden() == []
    settings.MEMORY_PLACES = IN_REDIS
    remember(alice, "a", "new")

    assert move_all() == 2

    assert recall(alice) == {"a": "new", "b": "coffee"}


def test_quarantined_entries_wait_where_the_review_finds_them(alice: Person, settings: Any) -> None:
    remember(alice, "held", "x", tier="quarantine")

    settings.MEMORY_PLACES = IN_REDIS

    assert hidden() == []


def test_namespace_that_is_empty_there_hides_nothing(alice: Person, settings: Any) -> None:
    settings.MEMORY_PLACES = IN_REDIS
    remember(alice, "a", "green tea")
    services.clear(in_run(alice, workflow_id="w1", group_id="g"), scope="workflow")

    settings.MEMORY_PLACES = IN_POSTGRES

    assert hidden() == []
    with tenant([alice.team.pk]):
        assert Namespace.objects.unscoped().get(text=TEXT).kept_in == ""


def test_provider_that_is_gone_can_be_given_up(alice: Person, settings: Any) -> None:
    settings.MEMORY_PLACES = IN_REDIS
    remember(alice, "a", "green tea")
    settings.MEMORY_PLACES, settings.MEMORY_REDIS_URL = IN_POSTGRES, "redis://127.0.0.1:9"

    (lost,) = list_hidden_namespaces()
    assert (lost.provider, lost.count) == ("redis", None)
    with pytest.raises(ProviderError):
        move_namespace(lost)
    assert hidden() == [(TEXT, "redis", "postgres", None)]
    give_up_namespace(lost)

    assert hidden() == []


def test_move_that_failed_is_repeated(
    alice: Person, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries are deleted where they were only when all of them are in the other place."""
    remember(alice, "a", "green tea")
    settings.MEMORY_PLACES = IN_REDIS
    monkeypatch.setattr("memory.providers.postgres.PostgresProvider.delete", lambda *_given: 1 / 0)
    (found,) = list_hidden_namespaces()
    assert isinstance(found, MisplacedNamespace)
    with pytest.raises(ZeroDivisionError):
        move_namespace(found)
    monkeypatch.undo()

    assert hidden() == [(TEXT, "postgres", "redis", 1)]
    assert move_all() == 1
    assert (hidden(), recall(alice)) == ([], {"a": "green tea"})
