"""A preview tells the memories apart that Memory lists from forgotten ones and those of test users and conversations."""

import pytest

from accounts.personas import make_persona_id
from memory import services
from memory.services.erasure.erase import erase
from memory.services.erasure.memory_counts import MemoryCounts
from tests.factories.workflows import make_conversation, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


def test_memories_are_told_apart_and_each_is_counted_once(bob: Person) -> None:
    subject = str(bob.user.pk)
    conversation = make_conversation(bob, make_workflow(bob))
    run = in_run(bob, user_id=subject, conversation_id=conversation.key)
    for key in ("tea", "cake", "milk"):
        services.remember(run, scope="user", key=key, value=key)
    services.forget(run, scope="user", key="milk")
    services.remember(run, scope="conversation", key="summary", value="about tea")
    persona = in_run(bob, user_id=make_persona_id("ben", bob.user.pk), outside=True)
    services.remember(persona, scope="user", key="tea", value="tea")

    receipt = erase(at_door(bob), subject=subject, dry_run=True)

    assert receipt.memories == MemoryCounts(
        current=2, forgotten=1, of_test_users=1, of_conversations=1
    )
    assert receipt.memories.total == receipt.tables["memory_entry"]
