"""Remember, recall, forget, undo, restore, edit: with revision and audit each."""

import pytest

from accounts.audit import verify
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AlreadyExists, NotFound, QuotaExceeded
from memory.models import Namespace, Policy, Read, Revision
from memory.services.entries.edit import RevisionConflict
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

CAT = "My cat is called Miso."


def counts(person: Person, text: str) -> tuple[int, int]:
    with tenant([person.team.id]):
        row = Namespace.objects.unscoped().get(text=text)
    return row.entry_count, row.byte_count


def test_told_in_one_run_is_recalled_in_the_next_and_noted_as_read(alice: Person) -> None:
    told = services.remember(in_run(alice), scope="user", key="cat", value=CAT)

    (found,) = services.recall(
        in_run(alice, run_id="r2"), scope="user", query_text="What is my cat called?", injected=True
    )

    assert (found.id, found.value, found.score) == (told.id, CAT, 1.0)
    assert (told.source.run_id, told.source.node_id) == ("r1", "node")
    with tenant([alice.team.id]):
        read = Read.objects.unscoped().get(entry_id=told.id)
    assert (read.run_id, read.node_id, read.injected, read.score) == ("r1", "node", True, 1.0)


def test_forgotten_is_gone_and_undone_is_back(alice: Person) -> None:
    run = in_run(alice)
    services.remember(run, scope="user", key="cat", value=CAT)
    namespace = f"user:{alice.user.pk}"
    before = counts(alice, namespace)

    done = services.forget(run, scope="user", key="cat", reason="confirmation text")
    assert done.count == 1
    assert services.recall(run, scope="user", query_text="cat") == []
    assert counts(alice, namespace) == (0, 0)

    assert services.undo(run, change_id=done.change_id or "").count == 1
    assert [e.value for e in services.recall(run, scope="user", query_text="cat")] == [CAT]
    assert counts(alice, namespace) == before
    with pytest.raises(AlreadyExists):
        services.undo(run, change_id=done.change_id or "")


def test_many_forgotten_at_once_come_back_as_one(alice: Person) -> None:
    door = at_door(alice)
    for number in range(3):
        services.remember(
            door, namespace="global:x", key=f"k{number}", value=number, metadata={"n": number}
        )

    done = services.forget(door, namespace="global:x", filter={"n": {"$gte": 1}})
    assert [e.key for e in services.recall(door, namespace="global:x")] == ["k0"]
    undone = services.undo(door, change_id=done.change_id or "")

    assert (done.count, undone.count) == (2, 2)
    assert len(services.recall(door, namespace="global:x")) == 3


def test_undo_that_meets_a_new_entry_of_that_key_changes_nothing(alice: Person) -> None:
    door = at_door(alice)
    services.remember(door, namespace="global:x", key="a", value=1)
    services.remember(door, namespace="global:x", key="b", value=1)
    done = services.clear(door, namespace="global:x")
    services.remember(door, namespace="global:x", key="b", value=2)

    with pytest.raises(AlreadyExists, match="stored again since"):
        services.undo(door, change_id=done.change_id or "")

    assert [(e.key, e.value) for e in services.recall(door, namespace="global:x")] == [("b", 2)]


def test_every_change_is_a_revision_with_who_and_why(alice: Person) -> None:
    door = at_door(alice)
    entry = services.remember(door, namespace="global:x", key="a", value=1)
    services.edit(door, entry_id=entry.id, if_revision=1, value=2, reason="was wrong")
    services.forget(door, entry_id=entry.id, reason="private")
    services.restore(door, entry_id=entry.id, revision=1, reason="needed")

    seen = [
        (one.number, one.operation, one.value, one.actor, one.reason)
        for one in services.list_revisions(door, entry_id=entry.id)
    ]
    me = alice.principal.actor
    assert seen == [
        (4, "restore", 1, me, "needed"),
        (3, "forget", 2, me, "private"),
        (2, "edit", 2, me, "was wrong"),
        (1, "store", 1, me, ""),
    ]
    assert services.get_entry(door, entry_id=entry.id).value == 1


def test_edit_based_on_an_old_revision_is_refused(alice: Person) -> None:
    door = at_door(alice)
    entry = services.remember(door, namespace="global:x", key="a", value=1)
    services.remember(door, namespace="global:x", key="a", value=2)

    with pytest.raises(RevisionConflict, match="at revision 2, not 1"):
        services.edit(door, entry_id=entry.id, if_revision=1, value=3)

    assert services.get_entry(door, entry_id=entry.id).value == 2


def test_edit_can_set_null_and_keeps_what_it_does_not_name(alice: Person) -> None:
    door = at_door(alice)
    entry = services.remember(door, namespace="global:x", key="a", value=1, metadata={"m": 1})

    edited = services.edit(door, entry_id=entry.id, if_revision=1, value=None)

    assert (edited.value, edited.metadata, edited.revision) == (None, {"m": 1}, 2)


def test_step_tried_again_writes_once(alice: Person) -> None:
    for _ in range(2):
        entry = services.remember(in_run(alice), scope="user", key="cat", value=CAT)
        services.recall(in_run(alice), scope="user")

    assert entry.revision == 1
    with tenant([alice.team.id]):
        assert Revision.objects.unscoped().filter(entry_id=entry.id).count() == 1
        assert Read.objects.unscoped().filter(entry_id=entry.id).count() == 1


def test_each_operation_and_each_refusal_is_in_the_trail_without_its_values(alice: Person) -> None:
    door = at_door(alice)
    entry = services.remember(door, namespace="global:x", key="secret-key", value="secret-value")
    services.recall(door, namespace="global:x")
    services.list_entries(door, namespace="global:x")
    services.edit(door, entry_id=entry.id, if_revision=1, value="secret-value-2")
    done = services.forget(door, entry_id=entry.id)
    services.undo(door, change_id=done.change_id or "")
    services.restore(door, entry_id=entry.id, revision=1)
    services.clear(door, namespace="global:x")
    with pytest.raises(NotFound):
        services.forget(door, entry_id=entry.id)

    assert trail(alice.team.id) == [
        ("memory.stored", "global:x", True),
        ("memory.recalled", "global:x", True),
        ("memory.listed", "global:x", True),
        ("memory.edited", "global:x", True),
        ("memory.forgotten", "global:x", True),
        ("memory.undone", "global:x", True),
        ("memory.restored", "global:x", True),
        ("memory.cleared", "global:x", True),
        ("memory.refused", "global:x", False),
    ]
    with tenant([alice.team.id]):
        details = str(list(AuditEntry.objects.unscoped().values_list("detail", flat=True)))
    assert "secret" not in details
    assert verify(alice.team.id).intact


def test_policy_of_the_team_holds_and_its_refusal_leaves_nothing(alice: Person) -> None:
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, max_entries=1, max_value_bytes=10)
    door = at_door(alice)
    services.remember(door, namespace="global:x", key="a", value=1)

    with pytest.raises(QuotaExceeded):
        services.remember(door, namespace="global:x", key="b", value=1)
    with pytest.raises(QuotaExceeded):
        services.remember(door, namespace="global:y", key="b", value="x" * 20)

    assert counts(alice, "global:x") == (1, 2)
    assert [n.text for n in services.list_namespace_page(door).rows] == ["global:x"]
