"""What stands beside an entry in a prompt: who said it, and what disagrees with it while nobody has decided."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership
from accounts.tenancy import tenant
from memory import services
from memory.core.records import MemoryEntry, NotedEntry, PromptUse
from memory.logic.review.proposals import Choice
from memory.models import Read
from memory.services import CallOrigin, MemoryCaller
from memory.services.gateway.caller import list_reachable
from memory.services.gateway.engine_port import RunMemory
from memory.services.recall.profile import recall_profile
from memory.services.recall.recall import recall
from memory.services.review import proposals
from memory.services.review.contradicting import propose_contradictions
from memory.services.sandbox.sandbox import SandboxMemory
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person, make_cast
from workflows.engine.ports import Origin


pytestmark = pytest.mark.django_db

LYON, OSLO = "I live in Lyon.", "I live in Oslo."


def remember(caller: MemoryCaller, key: str, value: str, **more: Any) -> MemoryEntry:
    entry = services.remember(caller, scope=more.pop("scope", "user"), key=key, value=value, **more)
    propose_contradictions(caller, [entry])
    return entry


def contradict(caller: MemoryCaller) -> tuple[MemoryEntry, MemoryEntry]:
    return remember(caller, "lyon", LYON), remember(caller, "oslo", OSLO)


def read(caller: MemoryCaller, **query: Any) -> dict[str, list[str]]:
    """What is recalled, with what disagrees with each entry."""
    query = {"scope": "user", "for_prompt": True, "with_notes": True, **query}
    return {entry.key: list_others(entry) for entry in recall(caller, **query)}


def list_others(entry: MemoryEntry) -> list[str]:
    return [each.key for each in entry.disagrees_with] if isinstance(entry, NotedEntry) else []


@pytest.fixture
def mia(alice: Person) -> MemoryCaller:
    return in_run(alice)


def test_entry_brings_the_one_that_disagrees_with_it_and_both_count_as_read(
    mia: MemoryCaller,
) -> None:
    contradict(mia)
    remember(mia, "tea", "I like tea.")

    assert read(mia, query_text="Oslo") == {"oslo": ["lyon"]}
    assert read(mia, key="lyon") == {"lyon": ["oslo"]}
    assert read(mia) == {"tea": [], "oslo": ["lyon"], "lyon": ["oslo"]}
    with tenant([mia.team_id]):
        first = Read.objects.unscoped().order_by("id")[:2].values_list("entry__key", "explain")
        explained = dict(first)
    assert explained["lyon"] == {"disagrees": 1.0}
    assert explained["oslo"].keys() > {"words"}


def test_recall_that_is_no_prompt_brings_nothing(mia: MemoryCaller) -> None:
    contradict(mia)

    assert read(mia, query_text="Oslo", with_notes=False) == {"oslo": []}


@pytest.mark.parametrize("choice", Choice)
def test_nothing_disagrees_once_a_person_has_decided(
    alice: Person, mia: MemoryCaller, choice: Choice
) -> None:
    contradict(mia)
    (proposed,) = proposals.list_proposals(mia).proposals

    proposals.decide_contradiction(at_door(alice), proposal_id=proposed.pk, choice=choice)

    assert all(others == [] for others in read(mia).values())


def test_what_may_enter_no_prompt_or_says_something_else_by_now_is_not_brought(
    alice: Person, mia: MemoryCaller
) -> None:
    lyon, _oslo = contradict(mia)

    hidden = services.edit(
        at_door(alice), entry_id=lyon.id, if_revision=1, prompt_use=PromptUse.NEVER
    )
    assert read(mia, query_text="Oslo") == {"oslo": []}
    shown = services.edit(
        at_door(alice), entry_id=lyon.id, if_revision=hidden.revision, prompt_use=PromptUse.AUTO
    )
    assert read(mia, query_text="Oslo") == {"oslo": ["lyon"]}
    services.edit(
        at_door(alice), entry_id=lyon.id, if_revision=shown.revision, value="I lived in Lyon."
    )
    assert read(mia, query_text="Oslo") == {"oslo": []}


def test_number_of_queries_does_not_depend_on_the_number_of_pairs(mia: MemoryCaller) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert all(read(mia, query_text="Oslo").values())
        return len(captured)

    contradict(mia)
    count()  # reads what is cached afterwards
    first = count()
    for number in range(3):
        remember(mia, f"oslo{number}", f"I live in Oslo, street {number}.")

    assert count() == first


def test_profile_brings_what_disagrees_once_and_within_its_tokens(
    alice: Person, mia: MemoryCaller
) -> None:
    for entry in contradict(mia):
        services.edit(at_door(alice), entry_id=entry.id, if_revision=1, prompt_use=PromptUse.ALWAYS)

    profile = recall_profile(mia)

    assert [(entry.key, list_others(entry)) for entry in profile.entries] == [("oslo", ["lyon"])]
    assert profile.left_out == ()
    with tenant([mia.team_id]):
        assert Read.objects.unscoped().count() == 2


class NoLedger:
    def load(self) -> list[Any]:
        return []

    def add(self, changes: Any) -> None:
        raise AssertionError(changes)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["run", "sandbox"])
def test_nodes_get_what_disagrees(kind: str) -> None:
    caller = in_run(make_cast().alice)
    contradict(caller)
    port = RunMemory(caller) if kind == "run" else SandboxMemory(caller, NoLedger())

    async def work() -> Any:
        origin = Origin("r1", "n", "k")
        return await port.recall(scope="user", identity={}, origin=origin, query_text="Oslo")

    (entry,) = asyncio.run(work())

    assert (entry.key, list_others(entry)) == ("oslo", ["lyon"])


def in_group(person: Person, **more: Any) -> MemoryCaller:
    known = {"user_id": str(person.user.pk), "workflow_id": "w", "group_id": "g", "run_id": "r1"}
    known |= more.pop("identity", {})
    return replace(in_run(person, **more), identity=known, reach=list_reachable(known))


def name(caller: MemoryCaller, scope: str = "workflow") -> dict[str, str]:
    entries = recall(caller, scope=scope, for_prompt=True, with_notes=True)
    return {entry.key: getattr(entry, "speaker", "") for entry in entries}


def test_line_of_a_group_says_who_said_it(cast: Cast) -> None:
    remember(in_group(cast.alice), "a", "I live in Berlin.", scope="workflow")
    remember(in_group(cast.bob), "b", "I like tea.", scope="workflow")
    page = {"origin": "web"}
    remember(in_group(cast.bob), "page", "Tea opens.", scope="workflow", metadata=page)

    assert name(in_group(cast.vic)) == {"a": "Alice", "b": "Bob", "page": ""}


def test_own_memory_names_nobody(cast: Cast) -> None:
    remember(in_run(cast.alice), "a", "I live in Berlin.")

    assert name(in_run(cast.alice), "user") == {"a": ""}


def test_conversation_of_one_person_names_nobody_and_that_of_two_both(cast: Cast) -> None:
    both = frozenset({cast.alice.user.pk, cast.bob.user.pk})
    alice, bob = (
        replace(in_run(person, conversation_id="c1"), participants=both)
        for person in (cast.alice, cast.bob)
    )
    remember(alice, "a", "I live in Berlin.", scope="conversation")
    alone = name(alice, "conversation")
    remember(bob, "b", "I like tea.", scope="conversation")

    assert alone == {"a": ""}
    assert name(alice, "conversation") == {"a": "Alice", "b": "Bob"}


def test_who_has_no_account_in_the_team_sees_no_name_and_has_none(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    run = make_run(cast.alice, workflow, subject="mia")
    of_mia = replace(in_group(cast.alice), origin=CallOrigin(str(run.pk), "n", "k"))
    remember(of_mia, "mia", "I like tea.", scope="workflow")
    remember(in_group(cast.alice), "a", "I live in Berlin.", scope="workflow")
    outside = in_group(cast.alice, outside=True, identity={"user_id": "mia"})

    assert name(outside) == {"mia": "", "a": ""}
    assert name(in_group(cast.bob)) == {"mia": "", "a": "Alice"}


def test_former_member_is_not_named(cast: Cast) -> None:
    remember(in_group(cast.bob), "b", "I like tea.", scope="workflow")
    with tenant([cast.team_a.pk]):
        Membership.objects.unscoped().filter(user=cast.bob.user).delete()

    assert name(in_group(cast.alice)) == {"b": ""}
