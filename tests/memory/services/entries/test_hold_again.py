"""What was ended or replaced holds again."""

from dataclasses import replace

import pytest

from memory.core.errors import NotFound
from memory.core.records import MemoryEntry
from memory.logic.judgement.operations import Action, LearnRequest, Operation
from memory.services.entries.forget import forget
from memory.services.entries.get_entry import get_entry
from memory.services.entries.hold_again import hold_again
from memory.services.entries.learn import learn
from memory.services.entries.remember import remember
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.recall.recall import recall
from tests.memory.services.conftest import in_run
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


@pytest.fixture
def mia(cast: Cast) -> MemoryCaller:
    return in_run(cast.alice, conversation_id="c1")


def replace_home(caller: MemoryCaller) -> tuple[MemoryEntry, MemoryEntry]:
    """Return the home that no longer holds, and the one that took its place."""
    earlier = replace(caller, origin=CallOrigin("r0", "node", "r0"))
    berlin = remember(earlier, scope="user", key="home", value="I live in Berlin.")
    operation = Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1")
    (change,) = learn(
        caller, scope="user", request=LearnRequest((operation,), {}, "long_term", None)
    )
    assert change.entry is not None
    return change.ended[0], change.entry


def test_replaced_entry_holds_again_beside_what_took_its_place(mia: MemoryCaller) -> None:
    former, successor = replace_home(mia)

    later = replace(mia, origin=CallOrigin("", "", ""))
    entry = hold_again(later, entry_id=former.id, reason="undone")

    assert (entry.value, entry.valid_until, entry.replaced_by) == ("I live in Berlin.", None, "")
    assert entry.revision == former.revision + 1
    assert get_entry(mia, entry_id=successor.id).replaces == ""
    assert {hit.value for hit in recall(mia, scope="user")} == {
        "I live in Berlin.",
        "I live in Lyon.",
    }


def test_entry_holds_again_although_its_successor_was_forgotten(mia: MemoryCaller) -> None:
    former, successor = replace_home(mia)
    forget(mia, entry_id=successor.id)

    assert hold_again(mia, entry_id=former.id).valid_until is None


def test_forgotten_entry_does_not_hold_again(mia: MemoryCaller) -> None:
    former, _successor = replace_home(mia)
    forget(mia, entry_id=former.id)

    with pytest.raises(NotFound):
        hold_again(mia, entry_id=former.id)
