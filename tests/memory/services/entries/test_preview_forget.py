"""What forgetting would take is what it takes."""

from typing import Any
from uuid import UUID

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, InvalidInput, NotFound
from memory.models import Embedding, Entry, Revision
from memory.services.entries.bulk import BulkAction, Selection, preview_action
from memory.services.entries.preview_forget import ForgetPreview
from memory.services.recall.search import EntrySearch
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

HERE = "global:shop"


@pytest.fixture
def ids(alice: Person) -> list[str]:
    """Three of two kinds, the first changed once, the first two with a meaning."""
    door = at_door(alice)
    made = [
        services.remember(
            door, namespace=HERE, key=f"k{n}", value="tea", metadata={"kind": "a" if n else "b"}
        ).id
        for n in range(3)
    ]
    services.remember(door, namespace=HERE, key="k0", value="coffee", metadata={"kind": "b"})
    with tenant([alice.team.id]):
        for one in Entry.objects.unscoped().filter(pk__in=made[:2]):
            Embedding.objects.unscoped().create(
                team=alice.team,
                entry=one,
                namespace_id=one.namespace_id,
                number=one.number or 0,
                text_hash="x",
            )
    return made


def there(person: Person) -> tuple[int, int, int]:
    """Living entries, meanings and revisions."""
    with tenant([person.team.id]):
        return (
            Entry.objects.unscoped().living().count(),
            Embedding.objects.unscoped().count(),
            Revision.objects.unscoped().count(),
        )


def rows(entries: int, embeddings: int) -> dict[str, int]:
    return {"memory_entry": entries, "memory_embedding": embeddings}


@pytest.mark.parametrize(
    ("asked", "entries", "embeddings", "revisions"),
    [
        ({"namespace": HERE, "key": "k0"}, 1, 1, 2),
        ({"namespace": HERE, "filter": {"kind": "a"}}, 2, 1, 2),
        ({"namespace": HERE, "key": "nothing"}, 0, 0, 0),
        ({"namespace": "global:new", "key": "k0"}, 0, 0, 0),
    ],
)
def test_plan_by_key_or_filter_is_what_goes(
    alice: Person,
    ids: list[str],
    asked: dict[str, Any],
    entries: int,
    embeddings: int,
    revisions: int,
) -> None:
    before = there(alice)

    plan = services.plan_forgetting(at_door(alice), **asked)
    assert there(alice) == before
    done = services.forget(at_door(alice), **asked)

    assert (plan.count, plan.tables) == (entries, rows(entries, embeddings))
    assert plan.kept_tables == {"memory_revision": revisions}
    assert done.count == plan.count
    left = there(alice)
    assert (before[0] - left[0], before[1] - left[1]) == (entries, embeddings)
    assert left[2] >= before[2]  # of the history nothing goes


def test_plan_of_a_choice_and_of_all_and_the_pages_count_are_the_same(
    alice: Person, ids: list[str]
) -> None:
    door = at_door(alice)
    every = ForgetPreview(3, plan_size(alice), rows(3, 2), {"memory_revision": 4})

    assert services.plan_forgetting(door, entry_ids=ids) == every
    assert services.plan_clearing(door, namespace=HERE) == every
    chosen = Selection(HERE, search=EntrySearch())
    assert preview_action(door, action=BulkAction.FORGET, selection=chosen).forget_preview == every
    assert preview_action(door, action=BulkAction.REJECT, selection=chosen).forget_preview is None
    assert services.clear(door, namespace=HERE).count == 3


def plan_size(person: Person) -> int:
    with tenant([person.team.id]):
        return sum(Entry.objects.unscoped().living().values_list("size", flat=True))


def test_plan_is_refused_as_forgetting_is_and_is_in_the_trail(
    alice: Person, vic: Person, carol: Person, ids: list[str]
) -> None:
    with pytest.raises(AccessDenied):
        services.plan_forgetting(at_door(vic), namespace=HERE, key="k0")
    for unknown in (ids, ["nonsense"]):
        with pytest.raises(NotFound):
            services.plan_forgetting(at_door(carol), entry_ids=unknown)
    with pytest.raises(InvalidInput):
        services.plan_forgetting(at_door(alice), namespace=HERE)
    services.forget(at_door(alice), entry_id=UUID(ids[0]))
    with pytest.raises(NotFound):
        services.plan_forgetting(
            at_door(alice), entry_ids=ids
        )  # one of them is gone: none would go

    services.plan_forgetting(at_door(alice), namespace=HERE, key="k1")
    assert trail(alice.team.id)[-1] == ("memory.rehearsed", HERE, True)


@pytest.mark.usefixtures("in_redis")
def test_of_what_another_provider_keeps_nothing_stays(alice: Person) -> None:
    run = in_run(alice, workflow_id="w1", group_id="g")
    for key in ("a", "b"):
        services.remember(run, scope="workflow", key=key, value="green tea")

    plan = services.plan_forgetting(run, scope="workflow", key="a")
    everything = services.plan_clearing(run, scope="workflow")

    assert (plan.count, plan.tables, plan.kept_tables) == (1, {"elsewhere": 1}, {})
    assert everything.tables == {"elsewhere": 2}
    assert services.clear(run, scope="workflow").count == 2
