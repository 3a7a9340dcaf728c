"""The sample items of the review: all in one demo memory, which is the caller's alone and goes as a whole."""

import pytest

from accounts.models import AuditEntry
from accounts.principals import KeyPrincipal
from accounts.services import issue_key
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import InvalidInput
from memory.logic.review.proposals import ReviewState
from memory.models import Namespace
from memory.services import MemoryCaller
from memory.services.review.agreement import measure_agreement
from memory.services.review.review_queue import count_queue
from memory.services.review.review_sample import (
    add_sample_items,
    find_demo_memory,
    find_demo_namespace,
    remove_sample_items,
)
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.curating import kept, kept_in_demo, proposals_of
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


def namespaces(person: Person) -> list[str]:
    with tenant([person.team.pk]):
        rows = Namespace.objects.unscoped().filter(team=person.team)
        return list(rows.values_list("text", flat=True))


def has_demo(caller: MemoryCaller) -> bool:
    with tenant([caller.team_id]):
        return find_demo_memory(caller) is not None


def test_sample_writes_to_the_demo_memory_only_and_no_run_reads_it(alice: Person) -> None:
    add_sample_items(at_door(alice))

    assert namespaces(alice) == [find_demo_namespace(at_door(alice))]
    assert {row.namespace.text for row in proposals_of(alice)} == {*namespaces(alice)}
    assert kept(alice) == []
    assert services.recall(in_run(alice), scope="user", query_text="Where does Alice live?") == []


def test_removal_forgets_everything_there_and_is_in_the_audit_log(alice: Person) -> None:
    services.remember(at_door(alice), namespace=f"user:{alice.user.pk}", key="k", value="mine")
    add_sample_items(at_door(alice))
    count = len(kept_in_demo(alice))

    result = remove_sample_items(at_door(alice))

    assert result.count == count > 0
    assert kept_in_demo(alice) == []
    assert {row.state for row in proposals_of(alice)} == {ReviewState.REJECTED}
    assert measure_agreement(at_door(alice)) == {}
    assert (count_queue(at_door(alice)), has_demo(at_door(alice))) == (0, False)
    assert [entry.value for entry in kept(alice)] == ["mine"]
    with tenant([alice.team.pk]):
        row = AuditEntry.objects.unscoped().filter(action="memory.cleared").get()
    namespace = find_demo_namespace(at_door(alice))
    assert (row.subject.startswith("user:~"), namespace in row.subject) == (True, False)
    assert (row.detail["keys"], row.detail["proposals"]) == (count, 5)


def test_removed_items_come_back_by_undo_and_the_sample_can_be_added_again(alice: Person) -> None:
    add_sample_items(at_door(alice))
    before = {entry.key for entry in kept_in_demo(alice)}
    change_id = remove_sample_items(at_door(alice)).change_id
    assert change_id is not None

    services.undo(at_door(alice), change_id=change_id)

    assert {entry.key for entry in kept_in_demo(alice)} == before
    assert count_queue(at_door(alice)) == 1  # the quarantined entry, but no proposal
    add_sample_items(at_door(alice))
    assert count_queue(at_door(alice)) == 6


def test_nobody_else_finds_or_removes_it(cast: Cast) -> None:
    add_sample_items(at_door(cast.alice))

    for other in (cast.ada, cast.bob, cast.vic, cast.carol):
        assert not has_demo(at_door(other))
        assert remove_sample_items(at_door(other)).count == 0
    assert has_demo(at_door(cast.alice))


def test_key_has_no_demo_memory(alice: Person) -> None:
    row, _key = issue_key(
        principal=alice.principal, team=alice.team, name="k", scopes={"memory:read"}
    )
    caller = MemoryCaller(KeyPrincipal(row), alice.team.pk)

    assert not has_demo(caller)
    with pytest.raises(InvalidInput):
        add_sample_items(caller)
