"""Of two memories that contradict each other, a person chooses which one holds."""

from functools import partial

from memory.core.records import Source
from memory.logic.entries.write_batch import find_entry
from memory.logic.review.contradictions import find_contradictions
from memory.logic.review.proposal_execution import apply_proposal
from memory.logic.review.proposal_plans import PlanProblem, plan_changes
from memory.logic.review.proposal_rules import propose_replacement
from memory.logic.review.proposals import Choice, choose_holder
from tests.memory.logic.review.test_proposals import state, stored
from tests.memory.logic.support import counting, provider


def test_older_of_two_that_contradict_each_other_may_hold_instead():
    entries = provider()
    old = stored(entries, "old", "Alice lives in Lyon")
    newer = stored(entries, "newer", "Alice lives in Berlin", source=Source(run_id="r2"))
    [found] = find_contradictions(newer, [old])
    one = propose_replacement(found, counting(), author="curation")

    apply_proposal(choose_holder(one, Choice.OLDER), entries)

    assert set(state(entries)) == {"old"}
    former = find_entry(entries, one.namespace, "newer")
    assert former is not None
    assert (former.valid_until, former.replaced_by) == (newer.created_at, old.id)


def test_nothing_is_decided_about_what_holds_no_longer():
    entries = provider()
    old = stored(entries, "old", "Alice lives in Lyon")
    newer = stored(entries, "newer", "Alice lives in Berlin")
    [found] = find_contradictions(newer, [old])
    one = propose_replacement(found, counting(), author="curation")
    apply_proposal(one, entries)

    diff = plan_changes(one, partial(find_entry, entries, one.namespace))

    assert [problem for _key, problem in diff.problems] == [PlanProblem.NOTHING_TO_DO]
