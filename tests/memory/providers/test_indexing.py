"""Postings follow entries, whatever happens to these: at the end a rebuild makes the very same rows."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Group, Namespace, Posting, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.postings import REGISTER
from memory.upkeep.expiry import expire_all_teams
from memory.upkeep.reindexing import reindex_team
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db(transaction=True)

PLACE = "global:app"

Rows = dict[tuple[str, int], bytes]


def postings(team_id: UUID) -> Rows:
    with tenant([team_id]):
        found = Posting.objects.unscoped().values_list("term", "block", "packed")
        return {(term, block): bytes(packed) for term, block, packed in found}


def searched(team_id: UUID) -> set[str]:
    return {term for term, _ in postings(team_id) if term != REGISTER}


def places(team_id: UUID) -> list[tuple[str, str, int]]:
    with tenant([team_id]):
        found = Entry.objects.unscoped().order_by("number")
        return list(found.values_list("key", "group", "position"))


def asked(cast: Cast) -> list[tuple[str, float | None]]:
    found = services.recall(at_door(cast.alice), namespace=PLACE, query_text="harbour")
    return [(hit.key, hit.score) for hit in found]


def remember(cast: Cast, key: str, value: str, group: str = "s1", **more: Any) -> UUID:
    entry = services.remember(
        at_door(cast.alice),
        namespace=PLACE,
        key=key,
        value=value,
        metadata={"group": group} if group else {},
        **more,
    )
    return UUID(entry.id)


@pytest.fixture
def chat(cast: Cast) -> Cast:
    remember(cast, "one", "lighthouse keeper")
    remember(cast, "two", "harbour master")
    remember(cast, "three", "carpenter", group="")
    return cast


def rebuilt(team_id: UUID) -> Rows:
    reindex_team(team_id)
    return postings(team_id)


def check(cast: Cast) -> None:
    now = postings(cast.team_a.id)
    assert rebuilt(cast.team_a.id) == now


def test_stored_entries_have_postings_and_places(chat: Cast) -> None:
    assert {"lighthous", "keeper", "harbour", "carpent"} <= searched(chat.team_a.id)
    assert places(chat.team_a.id) == [("one", "s1", 1), ("two", "s1", 2), ("three", "", 0)]
    check(chat)


def test_changed_text_leaves_no_old_words(chat: Cast) -> None:
    remember(chat, "one", "gardener")

    assert "lighthous" not in searched(chat.team_a.id)
    assert "garden" in searched(chat.team_a.id)
    assert places(chat.team_a.id)[0] == ("one", "s1", 1)
    check(chat)


def test_edited_into_quarantine_leaves_and_comes_back_to_its_place(chat: Cast) -> None:
    caller, one = at_door(chat.alice), remember(chat, "one", "lighthouse keeper")

    services.edit(caller, entry_id=one, if_revision=2, tier="quarantine")
    assert "lighthous" not in searched(chat.team_a.id)
    check(chat)

    services.edit(caller, entry_id=one, if_revision=3, tier="long_term")
    assert "lighthous" in searched(chat.team_a.id)
    assert places(chat.team_a.id)[0] == ("one", "s1", 1)
    check(chat)


def test_forgotten_leaves_and_undo_brings_back(chat: Cast) -> None:
    caller = at_door(chat.alice)

    forgotten = services.clear(caller, namespace=PLACE)
    assert searched(chat.team_a.id) == set()
    check(chat)

    assert forgotten.change_id is not None
    services.undo(caller, change_id=forgotten.change_id)
    assert "lighthous" in searched(chat.team_a.id)
    assert places(chat.team_a.id) == [("one", "s1", 1), ("two", "s1", 2), ("three", "", 0)]
    check(chat)


def test_restored_revision_has_its_words_again(chat: Cast) -> None:
    one = remember(chat, "one", "gardener")

    services.restore(at_door(chat.alice), entry_id=one, revision=1)

    assert "garden" not in searched(chat.team_a.id)
    assert "lighthous" in searched(chat.team_a.id)
    check(chat)


def test_swept_entries_have_no_postings(chat: Cast) -> None:
    remember(chat, "four", "ephemeral", ttl_seconds=60)
    assert "ephemer" in searched(chat.team_a.id)

    expire_all_teams(timezone.now() + timedelta(minutes=2))

    assert "ephemer" not in searched(chat.team_a.id)
    check(chat)


def test_entry_that_changes_its_group_goes_to_the_end_and_leaves_a_hole(chat: Cast) -> None:
    remember(chat, "one", "lighthouse keeper", group="s2")
    remember(chat, "four", "sailor")

    with tenant([chat.team_a.id]):
        last = dict(Group.objects.unscoped().values_list("name", "last_position"))
    assert places(chat.team_a.id) == [
        ("two", "s1", 2),
        ("three", "", 0),
        ("one", "s2", 1),
        ("four", "s1", 3),
    ]
    assert last == {"s1": 3, "s2": 1}
    check(chat)


def test_revision_keeps_the_place_of_its_time(chat: Cast) -> None:
    one = remember(chat, "one", "lighthouse keeper", group="s2")
    remember(chat, "one", "lighthouse keeper", group="s1")

    with tenant([chat.team_a.id]):
        kept = Revision.objects.unscoped().filter(entry_id=one).order_by("number")
        assert list(kept.values_list("position", flat=True)) == [1, 1, 3]


def test_entries_from_before_there_were_postings_get_them(chat: Cast) -> None:
    """What ``manage.py memory_reindex`` does, to a table as it was."""
    before, answer = postings(chat.team_a.id), asked(chat)
    with tenant([chat.team_a.id]):
        Posting.objects.unscoped().all().delete()
        Group.objects.unscoped().all().delete()
        Entry.objects.unscoped().update(number=None, group="", position=0)

    reindex_team(chat.team_a.id)

    assert postings(chat.team_a.id) == before
    assert places(chat.team_a.id) == [("one", "s1", 1), ("two", "s1", 2), ("three", "", 0)]
    assert asked(chat) == answer
    remember(chat, "four", "sailor")
    check(chat)


def test_rolled_back_store_leaves_no_postings(chat: Cast) -> None:
    before = postings(chat.team_a.id)
    with tenant([chat.team_a.id]):
        namespace = Namespace.objects.unscoped().get(text=PLACE)

    def forget_and_fail() -> None:
        with tenant([chat.team_a.id]):
            entry = Entry.objects.unscoped().get(key="one")
            rows.forget(namespace, [entry], rows.WriteContext(Operation.FORGET, timezone.now()))
            raise RuntimeError("too late")

    with pytest.raises(RuntimeError, match="too late"):
        forget_and_fail()

    assert postings(chat.team_a.id) == before


def test_numbers_go_on_in_the_next_block(cast: Cast) -> None:
    caller = at_door(cast.alice)
    for number in range(3):
        services.remember(caller, namespace=PLACE, key=f"k{number}", value=f"word{number} sea")
    with tenant([cast.team_a.id]), connection.cursor() as cursor:
        # As if there had been 256: the register is full, all but three can't be recalled.
        cursor.execute(
            "UPDATE memory_posting SET packed = packed || decode(repeat('00', 253 * 8), 'hex')"
            " WHERE term = '.'"
        )

    services.remember(caller, namespace=PLACE, key="k256", value="word256 sea")

    assert ("word256", 1) in postings(cast.team_a.id)
    found = services.recall(caller, namespace=PLACE, query_text="sea")
    assert {hit.key for hit in found} == {"k0", "k1", "k2", "k256"}
