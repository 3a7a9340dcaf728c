"""What a turn does to memory: one transaction, undoable, audited, and never beyond its namespace."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError, connection

from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, MemoryFault
from memory.core.records import MemoryEntry
from memory.embedding.judge import find_judge
from memory.logic.judgement.judge import Proposal, judge_turn
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.models import Change, Namespace
from memory.models import Proposal as ProposalRow
from memory.services.entries import learn as learning
from memory.services.entries.edit import RevisionConflict, edit, retire_entry
from memory.services.entries.forget import forget
from memory.services.entries.learn import learn, learn_turn, propose_facts
from memory.services.entries.remember import remember
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.history.undo import undo
from memory.services.history.undo_run import undo_run
from memory.services.recall.recall import recall
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


@pytest.fixture
def mia(cast: Cast) -> MemoryCaller:
    return in_run(cast.alice, conversation_id="c1")


def do(caller: MemoryCaller, *operations: Operation, **more: Any) -> list[LearnedChange]:
    request = LearnRequest(
        operations, more.pop("metadata", {}), more.pop("tier", "long_term"), None
    )
    return learn(caller, scope="user", request=request)


def store(caller: MemoryCaller, value: str) -> MemoryEntry:
    """Store it as a step of an earlier run."""
    earlier = replace(caller, origin=CallOrigin("r0", "node", f"r0:{value}"))
    return remember(earlier, scope="user", key=f"m-{value}", value=value)


def holding(caller: MemoryCaller) -> list[object]:
    return sorted(entry.value for entry in recall(caller, scope="user"))


def test_replaced_entry_stays_with_its_end_and_its_successor(mia: MemoryCaller):
    berlin = store(mia, "I live in Berlin.")

    (change,) = do(mia, Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1"))

    assert change.entry is not None
    (former,) = change.ended
    assert (change.is_new, change.entry.replaces, former.replaced_by) == (
        True,
        berlin.id,
        change.entry.id,
    )
    assert former.valid_until is not None
    assert holding(mia) == ["I live in Lyon."]
    entries = recall(mia, scope="user", include_former=True)
    assert sorted(str(e.value) for e in entries) == ["I live in Berlin.", "I live in Lyon."]


def test_what_is_forgotten_can_be_undone(mia: MemoryCaller, cast: Cast):
    phone = store(mia, "My number is 555-0142.")
    store(mia, "I like tea.")

    (change,) = do(mia, Operation(Action.FORGET, targets=(phone.id,), evidence="forget it"))

    assert [entry.id for entry in change.forgotten] == [phone.id]
    assert holding(mia) == ["I like tea."]
    assert [line[0] for line in trail(cast.team_a.pk)].count("memory.forgotten") == 1


def test_what_an_entry_says_beside_what_is_forgotten_is_kept(
    mia: MemoryCaller, cast: Cast, settings: Any
):
    settings.MEMORY_EMBEDDER = "local"
    both = store(mia, "I live in Hamburg and I am allergic to peanuts.")
    wish = "Please forget that I live in Hamburg."

    (change,) = do(mia, Operation(Action.FORGET, targets=(both.id,), evidence=wish))

    assert [entry.id for entry in change.forgotten] == [both.id]
    assert [entry.metadata["attribute"] for entry in change.remaining] == ["allergy"]
    assert holding(mia) == ["I am allergic to peanuts."]

    undo_run(at_door(cast.alice), run_id="r1")

    assert holding(mia) == ["I live in Hamburg and I am allergic to peanuts."]


def test_entry_whose_facts_cannot_be_told_apart_is_asked_about(mia: MemoryCaller, settings: Any):
    settings.MEMORY_EMBEDDER = "local"
    both = store(mia, "I like tea and coffee.")

    (change,) = do(
        mia, Operation(Action.FORGET, targets=(both.id,), evidence="Forget that I like tea.")
    )

    assert (change.action, [entry.id for entry in change.choices]) == (Action.ASK, [both.id])
    assert holding(mia) == ["I like tea and coffee."]


def test_former_values_are_forgotten_with_the_one_that_took_their_place(
    mia: MemoryCaller, cast: Cast
):
    oldest, old = store(mia, "My number is 555-0142."), "My number is 555-0143."
    (change,) = do(mia, Operation(Action.REPLACE, old, (oldest.id,), key="m-1"))
    assert change.entry is not None
    later = replace(mia, origin=CallOrigin("r2", "node", "later"))
    newest = Operation(Action.REPLACE, "My number is 555-0144.", (change.entry.id,), key="m-2")
    (change,) = do(later, newest)
    assert change.entry is not None
    store(mia, "I like tea.")
    wish = Operation(Action.FORGET, targets=(change.entry.id,), evidence="Forget my number.")

    (forgotten,) = do(replace(mia, origin=CallOrigin("r3", "node", "wish")), wish)

    assert len(forgotten.forgotten) == 3
    entries = recall(mia, scope="user", include_former=True)
    assert [entry.value for entry in entries] == ["I like tea."]

    undo_run(at_door(cast.alice), run_id="r3")

    assert len(recall(mia, scope="user", include_former=True)) == 4
    assert holding(mia) == ["I like tea.", "My number is 555-0144."]


def test_what_was_so_before_stays_if_a_change_is_taken_back(mia: MemoryCaller, settings: Any):
    settings.MEMORY_EMBEDDER = "local"
    berlin = store(mia, "I live in Berlin.")
    (change,) = do(mia, Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1"))
    assert change.entry is not None

    (change,) = do(
        replace(mia, origin=CallOrigin("r2", "node", "wish")),
        Operation(Action.FORGET, targets=(change.entry.id,), evidence="Forget that."),
    )

    assert [entry.value for entry in change.forgotten] == ["I live in Lyon."]


def test_question_forgets_nothing_and_names_what_could_be_meant(mia: MemoryCaller):
    mobile, office = store(mia, "My mobile is 555-0142."), store(mia, "My office is 555-0199.")

    (change,) = do(mia, Operation(Action.ASK, targets=(mobile.id, office.id), evidence="forget it"))

    assert [entry.id for entry in change.choices] == [mobile.id, office.id]
    assert holding(mia) == ["My mobile is 555-0142.", "My office is 555-0199."]


def test_what_was_forgotten_is_remembered_anew_when_it_is_said_again(mia: MemoryCaller):
    phone = store(mia, "My number is 555-0142.")
    do(mia, Operation(Action.FORGET, targets=(phone.id,), evidence="forget it"))

    (change,) = do(mia, Operation(Action.ADD, "My number is 555-0142.", key=phone.key))

    assert change.entry is not None
    assert (change.is_new, change.entry.id != phone.id) == (True, True)
    assert holding(mia) == ["My number is 555-0142."]


def test_end_retires_without_a_successor(mia: MemoryCaller):
    job = store(mia, "I work at Siemens.")

    (change,) = do(mia, Operation(Action.END, targets=(job.id,)))

    assert [entry.replaced_by for entry in change.ended] == [""]
    assert holding(mia) == []


def test_targets_of_another_person_are_not_touched(mia: MemoryCaller, cast: Cast):
    bob = in_run(cast.alice, user_id="bob", conversation_id="c2", outside=True)
    theirs = store(bob, "I live in Berlin.")

    changes = do(
        mia,
        Operation(Action.REPLACE, "I live in Lyon.", (theirs.id,), key="m-1"),
        Operation(Action.FORGET, targets=(theirs.id,)),
    )

    assert [(change.ended, change.forgotten) for change in changes] == [((), ()), ((), ())]
    assert holding(bob) == ["I live in Berlin."]


def test_turn_that_fails_half_way_changes_nothing(
    mia: MemoryCaller, monkeypatch: pytest.MonkeyPatch
):
    berlin = store(mia, "I live in Berlin.")

    def fail(*arguments: object, **named: object) -> MemoryEntry:
        raise AccessDenied("no")

    monkeypatch.setattr(learning, "retire_entry", fail)
    with pytest.raises(MemoryFault):
        do(mia, Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1"))

    assert holding(mia) == ["I live in Berlin."]


def test_message_that_fails_half_way_leaves_no_trace(
    mia: MemoryCaller, cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Any
):
    settings.MEMORY_EMBEDDER = "local"
    store(mia, "I live in Berlin.")
    before = trail(cast.team_a.pk)

    def fail(*arguments: object, **more: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(learning, "retire_entry", fail)
    turn = judge_turn(find_judge(), "My name is Mia, and I moved to Lyon.")
    request = LearnRequest((), {}, "long_term", None)

    def decide(proposal: Any) -> list[Operation]:
        assert [str(each.action) for each in proposal.operations] == ["add", "replace"]
        return [replace(each, key=f"m-{each.text}") for each in proposal.operations]

    with pytest.raises(RuntimeError):
        learn_turn(mia, scope="user", turn=turn, request=request, decide=decide)

    assert trail(cast.team_a.pk) == before
    assert holding(mia) == ["I live in Berlin."]


def test_each_operation_asks_for_its_own_permission(cast: Cast):
    entry = remember(in_run(cast.alice), scope="global", key="m-0", value="We meet on Monday.")
    guest = in_run(cast.alice, user_id="bob", conversation_id="c2", outside=True)
    request = LearnRequest(
        [Operation(Action.END, targets=(entry.id,))], {}, tier="long_term", ttl_seconds=None
    )

    with pytest.raises(AccessDenied, match="external users can only read"):
        learn(guest, scope="global", request=request)

    assert trail(cast.team_a.pk)[-1] == ("memory.refused", "global:app", False)
    assert [each.id for each in recall(guest, scope="global")] == [entry.id]


def test_repeated_step_changes_nothing_more(mia: MemoryCaller):
    berlin = store(mia, "I live in Berlin.")
    operation = Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1")

    (first,) = do(mia, operation)
    (again,) = do(mia, operation)

    assert first.entry is not None
    assert again.entry is not None
    assert (again.entry.id, again.entry.revision, again.is_new) == (first.entry.id, 1, True)
    assert again.ended == first.ended
    assert holding(mia) == ["I live in Lyon."]


def test_wishes_to_forget_of_one_message_are_one_change(
    mia: MemoryCaller, cast: Cast, settings: Any
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    for fact in ("I live in Berlin.", "My phone number is 030 123456.", "I like tea."):
        store(mia, fact)
    turn = judge_turn(find_judge(), "Please forget where I live. Forget my phone number.")
    request = LearnRequest((), {}, "long_term", None)

    _proposal, changes = learn_turn(
        mia, scope="user", turn=turn, request=request, decide=lambda each: each.operations
    )

    assert [entry.value for each in changes for entry in each.forgotten] == [
        "I live in Berlin.",
        "My phone number is 030 123456.",
    ]
    assert holding(mia) == ["I like tea."]
    with tenant([cast.team_a.pk]):
        (change,) = Change.objects.unscoped()
    undo(at_door(cast.alice), change_id=change.pk)
    assert (change.entry_count, len(holding(mia))) == (2, 3)


# What somebody does to the fact that the turn was judged by, before the turn is written.
MEANWHILE = [
    ("forgets it", lambda caller, entry: forget(caller, entry_id=entry.id), ()),
    (
        "moves it",
        lambda caller, entry: edit(
            caller, entry_id=entry.id, if_revision=1, value="I live in Rome."
        ),
        ("I live in Rome.",),
    ),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("message", ["I moved to Lyon.", "Please forget where I live."])
@pytest.mark.parametrize(("what", "act", "targets"), MEANWHILE)
def test_turn_is_judged_again_if_what_it_was_judged_by_is_changed(
    mia: MemoryCaller,
    cast: Cast,
    settings: Any,
    message: str,
    what: str,
    act: Callable[[MemoryCaller, MemoryEntry], object],
    targets: Sequence[str],
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    berlin = store(mia, "I live in Berlin.")
    request = LearnRequest((), {}, "long_term", None)
    attempts: list[Proposal] = []

    def decide(proposal: Proposal) -> list[Operation]:
        attempts.append(proposal)
        if len(attempts) == 1:
            with ThreadPoolExecutor(1) as pool:  # another session
                pool.submit(act_elsewhere).result()
        return [replace(each, key="m-1" if each.text else "") for each in proposal.operations]

    def act_elsewhere() -> None:
        act(at_door(cast.alice), berlin)
        connection.close()

    turn = judge_turn(find_judge(), message)
    _proposal, changes = learn_turn(mia, scope="user", turn=turn, request=request, decide=decide)

    retired = [entry.value for each in changes for entry in (*each.ended, *each.forgotten)]
    assert (len(attempts), tuple(retired)) == (2, targets)


def learn_by_judging(caller: MemoryCaller, operation: Operation) -> list[LearnedChange]:
    turn, request = judge_turn(None, "I moved."), LearnRequest((), {}, "long_term", None)
    _proposal, changes = learn_turn(
        caller, scope="user", turn=turn, request=request, decide=lambda _proposal: [operation]
    )
    return changes


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("perform", [do, learn_by_judging])
def test_turn_that_is_disturbed_twice_locks_the_namespace_before_it_reads(
    mia: MemoryCaller,
    monkeypatch: pytest.MonkeyPatch,
    perform: Callable[[MemoryCaller, Operation], list[LearnedChange]],
) -> None:
    berlin, locked = store(mia, "I live in Berlin."), list[bool]()

    def is_locked() -> bool:
        with tenant([mia.team_id]):
            try:
                Namespace.objects.unscoped().select_for_update(nowait=True).get()
            except OperationalError:
                return True
            finally:
                connection.close()
        return False

    def retire(*arguments: Any, **named: Any) -> MemoryEntry:
        with ThreadPoolExecutor(1) as pool:  # another session
            locked.append(pool.submit(is_locked).result())
        if len(locked) < 3:
            raise RevisionConflict("somebody changed it")
        return retire_entry(*arguments, **named)

    monkeypatch.setattr(learning, "retire_entry", retire)
    (change,) = perform(mia, Operation(Action.END, "", (berlin.id,)))

    assert [entry.id for entry in change.ended] == [berlin.id]
    assert locked == [False, False, True]


def test_run_that_replaced_a_fact_can_be_undone(mia: MemoryCaller, cast: Cast):
    berlin = store(mia, "I live in Berlin.")
    do(mia, Operation(Action.REPLACE, "I live in Lyon.", (berlin.id,), key="m-1"))

    result = undo_run(at_door(cast.alice), run_id="r1")

    assert result.count == 2
    assert holding(mia) == ["I live in Berlin."]


def test_what_the_content_filter_keeps_out_is_a_result(mia: MemoryCaller):
    changes = do(
        mia,
        Operation(Action.ADD, "ok", key="m-1"),
        Operation(Action.ADD, "I live in Lyon.", key="m-2"),
        tier="working",
    )

    assert changes[0].reasons
    assert holding(mia) == ["I live in Lyon."]


def test_proposal_compares_with_what_the_person_may_view(mia: MemoryCaller, cast: Cast):
    store(mia, "I live in Berlin.")
    other = in_run(cast.alice, user_id="bob", conversation_id="c2", outside=True)

    turn = judge_turn(None, "I live in Lyon now.")
    own = propose_facts(mia, scope="user", turn=turn)
    theirs = propose_facts(other, scope="user", turn=turn)

    assert [fact.text for fact in own.known_facts] == ["I live in Berlin."]
    assert (theirs.known_facts, own.method) == ((), "rules")


def test_who_moves_in_a_group_moves_nobody_else(cast: Cast, settings: Any) -> None:
    settings.MEMORY_EMBEDDER = "local"
    workflow = make_workflow(cast.alice)

    def say(person: str, message: str) -> list[LearnedChange]:
        run = make_run(cast.alice, workflow, subject=person)
        caller = replace(
            in_run(cast.alice, user_id=person), origin=CallOrigin(str(run.pk), "node", message)
        )
        proposal = propose_facts(caller, scope="global", turn=judge_turn(find_judge(), message))
        keyed = [
            replace(operation, key=f"m-{message}") if operation.text else operation
            for operation in proposal.operations
        ]
        return learn(caller, scope="global", request=LearnRequest(keyed, {}, "long_term", None))

    say("tom", "I live in Berlin.")
    say("mia", "I live in Rome.")
    (moved,) = say("tom", "I moved to Porto.")
    (forgot,) = say("mia", "Please forget where I live.")

    assert [entry.value for entry in moved.ended] == ["I live in Berlin."]
    assert [entry.value for entry in forgot.forgotten] == ["I live in Rome."]
    with tenant([cast.team_a.pk]):
        assert not ProposalRow.objects.unscoped().exists()
