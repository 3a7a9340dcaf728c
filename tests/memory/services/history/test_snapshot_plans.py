"""A namespace as it stood: the same by either way of finding what was newest then, and no history is sorted for it."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from memory import services
from memory.models import Entry, Revision
from memory.services.history import snapshot
from memory.services.history.snapshot import search_snapshot
from memory.services.recall.search import EntrySearch
from tests.memory.providers.test_plans import plan, scans
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db(transaction=True)

HERE = "global:facts"
ENTRIES, EACH = 10, 300


@pytest.fixture
def grown(alice: Person, owner_db: psycopg.Connection[Any]) -> Person:
    """Ten entries with three hundred revisions each, one a minute, in turns; some were forgotten, and came back."""
    for n in range(ENTRIES):
        services.remember(at_door(alice), namespace=HERE, key=f"k{n}", value="at first")
    began = timezone.now() + timedelta(hours=1)
    with tenant([alice.team.id]):
        entries = list(Entry.objects.unscoped().filter(key__startswith="k").order_by("key"))
        Revision.objects.unscoped().bulk_create(
            Revision(
                team_id=one.team_id,
                entry=one,
                number=2 + turn,
                operation="forget" if (turn + place) % 7 == 0 else "edit",
                value=f"turn {turn}",
                category="fact",
                tier="long_term",
                importance=0.5,
                change_id=uuid7(),
                at=began + timedelta(minutes=turn * ENTRIES + place),
            )
            for turn in range(EACH)
            for place, one in enumerate(entries)
        )
    owner_db.execute("ANALYZE memory_revision, memory_entry")
    return alice


def told(person: Person, at: Any) -> list[tuple[str, Any]]:
    found = search_snapshot(at_door(person), namespace=HERE, moment=at, search=EntrySearch())
    return [(one.key, one.value) for one in found.page.entries]


def test_few_entries_stand_as_they_would_among_many(
    grown: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = timezone.now() + timedelta(hours=1)
    moments = [began + timedelta(minutes=n) for n in (-180, -50, 0, 3, 700, 1_555, 9_000)]
    asked_one_by_one = [told(grown, at) for at in moments]

    monkeypatch.setattr(snapshot, "FEW_ENTRIES", 0)

    assert [told(grown, at) for at in moments] == asked_one_by_one
    assert [len(found) for found in asked_one_by_one][:2] == [0, ENTRIES]
    assert 0 < len(asked_one_by_one[4]) < ENTRIES  # some were forgotten by then


def test_history_of_a_few_entries_is_not_sorted(grown: Person) -> None:
    late = timezone.now() + timedelta(minutes=60 + ENTRIES * EACH - 40)
    with tenant([grown.team.id]), CaptureQueriesContext(connection) as captured:
        assert told(grown, late)
        (reading,) = (one["sql"] for one in captured if "last_by_then" in one["sql"])
        nodes = plan(reading.replace("%", "%%"))

    assert ("memory_revision", "memory_revision_once") in scans(nodes)
    sorted_rows = [node["Actual Rows"] for node in nodes if node["Node Type"] == "Sort"]
    assert max(sorted_rows) <= ENTRIES
    read = [
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes
        if node.get("Relation Name") == "memory_revision"
    ]
    assert sum(read) <= 100  # of 3,010: what is shown, and the forty minutes that came later
