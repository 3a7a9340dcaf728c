"""Shared memories of an erased person with words of others: who decides about them, what that does, and what is undone."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, AlreadyExists, NotFound
from memory.models import Entry, Erasure, Revision
from memory.services.erasure.erasure_decisions import (
    Decision,
    decide,
    list_decisions,
    list_pending_decisions,
)
from memory.services.erasure.erasure_jobs import erase_at_once
from tests.memory.services.conftest import at_door
from tests.memory.services.erasure.test_run_writes import runs, write_all
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

__all__ = ["runs"]  # the fixture
BOTH = "Alice and Bob drink tea"


@pytest.fixture
def pending(cast: Cast, runs: dict[str, Any]) -> tuple[UUID, UUID]:
    """The ids of an erasure and of the memory that it left to decide."""
    write_all(cast, runs)
    receipt = erase_at_once(
        at_door(cast.alice), subject=str(cast.alice.user.pk), dry_run=False, runs=True
    )
    (state,) = list_pending_decisions(at_door(cast.alice))
    assert (str(state.entry_id),) == receipt.to_decide
    return state.erasure_id, state.entry_id


def act(person: Person, pending: tuple[UUID, UUID], decision: Decision) -> str:
    erasure_id, entry_id = pending
    return decide(
        at_door(person), erasure_id=erasure_id, entry_id=entry_id, decision=decision
    ).decision


def list_keys(person: Person) -> list[str]:
    return [state.entry.key for state in list_pending_decisions(at_door(person)) if state.entry]


def find_values(cast: Cast) -> tuple[list[Any], list[Any]]:
    with tenant([cast.team_a.pk]):
        entries = Entry.objects.unscoped().filter(key="both").values_list("value", flat=True)
        revisions = Revision.objects.unscoped().filter(value=BOTH).values_list("value", flat=True)
        return list(entries), list(revisions)


def test_erased_memory_is_gone_with_its_history_and_the_decision_stays_with_the_receipt(
    cast: Cast, pending: tuple[UUID, UUID]
) -> None:
    assert act(cast.people["bob"], pending, Decision.ERASE) == "erase"

    assert find_values(cast) == ([], [])
    assert list_keys(cast.alice) == []
    with tenant([cast.team_a.pk]):
        row = Erasure.objects.unscoped().get()
        entry = AuditEntry.objects.unscoped().get(action="memory.erasure_decided")
    (state,) = list_decisions(at_door(cast.alice), row)
    assert (state.decision, state.entry, state.decided_by) == (
        "erase",
        None,
        cast.people["bob"].principal.actor,
    )
    assert (entry.subject, entry.success) == ("global:app", True)
    assert entry.detail["decision"] == "erase"
    assert (entry.detail["erasure"], entry.detail["entry"]) == tuple(map(str, pending))
    with pytest.raises(NotFound):
        act(cast.alice, pending, Decision.KEEP)


def test_kept_memory_stays_until_the_decision_is_reopened(
    cast: Cast, pending: tuple[UUID, UUID]
) -> None:
    assert act(cast.alice, pending, Decision.KEEP) == "keep"
    assert act(cast.people["bob"], pending, Decision.KEEP) == "keep"  # as it is already
    assert list_keys(cast.alice) == []
    with pytest.raises(AlreadyExists):
        act(cast.people["bob"], pending, Decision.ERASE)
    assert find_values(cast)[0] == [BOTH]

    assert act(cast.alice, pending, Decision.REOPEN) == ""

    assert list_keys(cast.alice) == ["both"]
    with pytest.raises(AlreadyExists):
        act(cast.alice, pending, Decision.REOPEN)
    assert act(cast.alice, pending, Decision.ERASE) == "erase"


def test_only_those_who_may_forget_it_decide(cast: Cast, pending: tuple[UUID, UUID]) -> None:
    with pytest.raises(AccessDenied):
        act(cast.vic, pending, Decision.ERASE)
    for erasure_id, entry_id in ((pending[0], uuid4()), (uuid4(), pending[1])):
        with pytest.raises(NotFound):
            act(cast.alice, (erasure_id, entry_id), Decision.ERASE)
    with pytest.raises(NotFound):
        act(cast.carol, pending, Decision.ERASE)

    assert (list_keys(cast.vic), list_keys(cast.carol)) == ([], [])
    assert list_keys(cast.people["bob"]) == ["both"]
    assert find_values(cast)[0] == [BOTH]
    with tenant([cast.team_a.pk]):
        refused = AuditEntry.objects.unscoped().filter(action="memory.refused", success=False)
        assert refused.filter(subject="global:app").exists()


def test_other_memories_are_not_decided_about(cast: Cast, pending: tuple[UUID, UUID]) -> None:
    with tenant([cast.team_a.pk]):
        other = Entry.objects.unscoped().get(key="theirs")

    with pytest.raises(NotFound):
        act(cast.alice, (pending[0], other.pk), Decision.ERASE)


def test_page_asks_before_it_erases_and_offers_to_undo_what_was_kept(
    cast: Cast, pending: tuple[UUID, UUID]
) -> None:
    """Bob, who didn't ask for the erasure, reads what the memory says, but isn't told who was erased."""
    client, (erasure_id, entry_id) = cast.people["bob"].client, pending
    url, page = f"/memory/erase/{erasure_id}/decisions/{entry_id}/", "/memory/erase/decisions/"

    listed = client.get(page).content.decode()
    asked = client.get(f"{page}?erase={entry_id}").content.decode()
    kept = client.post(url, {"decision": "keep"}, follow=True).content.decode()
    reopened = client.post(url, {"decision": "reopen"}, follow=True).content.decode()
    wrong = client.post(url, {"decision": "burn"})
    erased = client.post(url, {"decision": "erase"}, follow=True).content.decode()

    assert f">{BOTH}</a>" in listed
    assert cast.alice.user.email not in listed
    assert ('value="erase"' in listed, 'value="erase"' in asked) == (False, True)
    assert ('value="reopen"' in kept, BOTH in kept) == (True, False)
    assert f">{BOTH}</a>" in reopened
    assert wrong.status_code == 422
    assert BOTH not in erased
    assert find_values(cast) == ([], [])


def test_receipt_says_that_something_is_left_until_somebody_has_decided(
    cast: Cast, pending: tuple[UUID, UUID]
) -> None:
    erasure_id, entry_id = pending
    page, done = f"/memory/erase/{erasure_id}/", "Erased and verified: nothing is left"

    undecided = cast.alice.client.get(page).content.decode()
    cast.alice.client.post(f"{page}decisions/{entry_id}/", {"decision": "keep"})
    decided = cast.alice.client.get(page).content.decode()

    assert ("are left, to decide about" in undecided, done in undecided) == (True, False)
    assert ("are left, to decide about" in decided, done in decided) == (False, True)


def test_api_lists_and_decides(cast: Cast, pending: tuple[UUID, UUID]) -> None:
    client, (erasure_id, entry_id) = cast.alice.client, pending
    url = f"/api/v1/memory/erasures/{erasure_id}/decisions/{entry_id}"

    (item,) = client.get("/api/v1/memory/erasures/decisions").json()["items"]
    kept = client.post(url, {"decision": "keep"}, content_type="application/json").json()
    conflict = client.post(url, {"decision": "erase"}, content_type="application/json")
    wrong = client.post(url, {"decision": "burn"}, content_type="application/json")

    assert (item["erasure"], item["entry"]) == (str(erasure_id), str(entry_id))
    assert (item["key"], item["namespace"], item["decision"]) == ("both", "global:app", "")
    assert (kept["decision"], conflict.status_code, wrong.status_code) == ("keep", 409, 422)
    assert client.get("/api/v1/memory/erasures/decisions").json()["items"] == []
