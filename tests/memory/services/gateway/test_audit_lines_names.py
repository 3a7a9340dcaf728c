"""No outside person's id is in the trail's table; who may read the trail reads it, until they are erased."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import audit
from accounts.models import AuditEntry, AuditPerson
from accounts.principals import KeyPrincipal
from accounts.roles import SCOPES
from accounts.services.trail import AuditFilter, export, read_page
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import MemoryFault
from memory.logic.curation.work import FinishedWork
from memory.logic.review.review_rules import ReviewMode
from memory.models import Namespace
from memory.naming import name_for_audit_log
from memory.services.access import emergency_access
from memory.services.entries.bulk import BulkAction, Selection, preview_action
from memory.services.history import snapshot, timeline
from memory.services.recall import search
from memory.services.recall.search import EntrySearch
from memory.services.review import proposals
from tests.memory.services.conftest import at_door, in_run
from tests.memory.services.curating import answer, curated, learns, scripted
from tests.memory.services.exchanging import entry, file_of, space
from tests.support.cast import Cast
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

SPEAKS = {*SCOPES, "memory:speak"}  # so that the key may apply proposals
WHO = "zoe-canary"
OWN = f"user:{WHO}"


def raw(cast: Cast) -> str:
    with tenant([cast.team_a.pk]), connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(e::text, E'\n') FROM accounts_auditentry e")
        return str(cursor.fetchone()[0])


def shown(cast: Cast, **asked: Any) -> list[Any]:
    with tenant([cast.team_a.pk]):
        return list(
            read_page(
                cast.ada.principal, team=cast.team_a, filters=AuditFilter(**asked), limit=500
            ).lines
        )


def lived(cast: Cast, api_key: Any) -> set[str]:
    """All that is done with somebody's memory, done for them, and refused; the actions it left."""
    team = cast.team_a.pk
    run = in_run(cast.alice, user_id=WHO)
    key = replace(
        at_door(cast.alice), principal=KeyPrincipal(api_key(cast.alice, scopes=SPEAKS).key)
    )
    for number in range(4):
        services.remember(run, scope="user", key=f"k{number}", value="green tea")
    services.recall(run, scope="user", query_text="tea")
    services.forget(run, scope="user", key="k1")
    kept = services.list_entries(key, namespace=OWN).entries
    services.get_entry(key, entry_id=kept[0].id)
    services.list_revisions(key, entry_id=kept[0].id)
    services.move(key, move="quarantine", entry_ids=[str(kept[0].id)], reason=f"{WHO} said so")
    services.pause(key, subject=WHO, what="recalling")
    services.resume(key, subject=WHO)
    refused: list[tuple[Any, dict[str, Any]]] = [
        (services.recall, {"namespace": f"{OWN}:x"}),
        (services.recall, {"namespace": OWN}),
        (services.remember, {"namespace": OWN, "key": "k", "value": "v"}),
    ]
    for service, given in refused:
        with pytest.raises(MemoryFault):
            service(at_door(cast.bob), **given)
    emergency_access.start_emergency_access(
        at_door(cast.ada), namespace=OWN, reason=f"{WHO} asked us", minutes=15
    )
    services.list_entries(at_door(cast.ada), namespace=OWN)
    list(services.export_namespace(key, namespace=OWN).read_chunks())
    with tenant([team]):
        audit.record(team_id=team, actor="x", action="memory.expired", subject=OWN)
    list(export(cast.ada.principal, team=cast.team_a, filters=AuditFilter(subject=OWN), kind="csv"))
    with tenant([team]):
        return set(AuditEntry.objects.unscoped().values_list("action", flat=True))


def worked(cast: Cast, api_key: Any, who: str = WHO) -> set[str]:
    """Pages, talks, what runs taught, and files about somebody."""
    team, own = cast.team_a.pk, f"user:{who}"
    run = in_run(cast.alice, user_id=who, conversation_id="c1")
    key = replace(
        at_door(cast.alice), principal=KeyPrincipal(api_key(cast.alice, scopes=SPEAKS).key)
    )
    _pages(run, key, who)
    _learnt(cast, run, key, who)
    for action in ("append", "read", "clear"):
        said = [{"role": "user", "content": f"{who} drinks tea"}] if action == "append" else []
        services.converse(run, action=action, messages=said)
    services.load_history(at_door(cast.alice), namespace="conv:c1")
    _files(cast, key, who)
    preview_action(
        key, action=BulkAction.FORGET, selection=Selection(own, search=EntrySearch(text=who))
    )
    search.search_entries(key, namespace=own, search=EntrySearch(text=who))
    timeline.read_timeline(key, namespace=own, search=EntrySearch())
    snapshot.search_snapshot(
        key, namespace=own, moment=timezone.now(), search=EntrySearch(text=who)
    )
    services.undo_run(key, run_id="r1", reason=f"{who} asked us")
    services.erase(key, subject=who, dry_run=True)
    with pytest.raises(MemoryFault):
        services.erase(at_door(cast.bob), subject=who)
    with tenant([team]):
        return set(AuditEntry.objects.unscoped().values_list("action", flat=True))


def _pages(run: Any, key: Any, who: str) -> None:
    own, asked = f"user:{who}", f"{who} asked us"
    page = {"title": f"What {who} drinks", "content": "Green tea.", "tags": [who]}
    (kept,) = services.write_pages(run, scope="user", pages=[page], reason=asked)
    services.find_pages(run, scope="user", query=f"What does {who} drink?")
    services.search_all_pages(key, query="green tea")
    opened = services.open_page(key, entry_id=kept.entry.id)
    said = {"content": f"{who} drinks black tea."}
    changes: dict[str, Any] = {"if_revision": opened.entry.revision, "changes": said}
    services.rewrite_page(key, entry_id=kept.entry.id, **changes, reason=asked)
    with pytest.raises(MemoryFault):
        services.rewrite_page(key, entry_id=kept.entry.id, **changes)
    packed = services.export_pages(key, namespace=own)
    services.delete_page(key, entry_id=kept.entry.id, reason=asked)
    services.import_pages(key, namespace=own, archive=packed, reason=asked)


def _learnt(cast: Cast, run: Any, key: Any, who: str) -> None:
    learns(cast.alice, review=ReviewMode.ALL)
    said = [f"{who} likes oolong tea in the morning.", f"{who} lives in a house in Lisbon."]
    ask, _asked = scripted(answer(key_learnings=said, summary=f"{who} was asked about tea."))
    curated(cast.alice, FinishedWork(f"Ask {who}", outputs=said), ask=ask, caller=run)
    one, other, *_more = proposals.list_proposals(key, namespace=f"user:{who}").proposals
    reason = {"reason": f"{who} says so"}
    proposals.apply_proposal(key, proposal_id=one.pk, **reason)
    proposals.undo_proposal(key, proposal_id=one.pk, **reason)
    proposals.reject_proposal(key, proposal_id=other.pk, always=True, **reason)
    proposals.reopen_proposal(key, proposal_id=other.pk, **reason)


def _files(cast: Cast, key: Any, who: str) -> None:
    own, elsewhere = f"user:{who}", f"user:{who}-elsewhere"
    lines = [space(elsewhere), entry(namespace=elsewhere, value=f"{who} drinks tea")]
    for dry_run in (True, False):
        done = services.import_file(key, file_of(*lines), into={elsewhere: own}, dry_run=dry_run)
    services.undo_import(key, changes=done.changes)
    refused = services.import_file(at_door(cast.bob), file_of(*lines))
    assert (done.refused_count, refused.refused_count) == (0, 1)
    list(services.export_person(key, subject=who).read_chunks())
    with pytest.raises(MemoryFault):
        services.export_person(at_door(cast.bob), subject=who)


@pytest.fixture
def life(cast: Cast, api_key: Any) -> set[str]:
    return lived(cast, api_key)


def test_id_is_nowhere_in_the_table_whatever_is_done(cast: Cast, life: set[str]):
    assert {
        "memory.stored", "memory.recalled", "memory.forgotten", "memory.listed", "memory.refused",
        "memory.quarantined", "memory.paused", "memory.emergency_access_started", "memory.exported",
        "memory.expired", "audit.exported",
    } <= life  # fmt: skip
    assert "canary" not in raw(cast)
    assert audit.verify(cast.team_a.pk).intact


# Programmes elsewhere number people, too, and a number names them as well as a word does.
@pytest.mark.parametrize("who", [WHO, "5d2c7a1e-9a3b-4c4d-8e5f-0123456789ab"])
def test_id_is_nowhere_in_the_table_whatever_is_worked_on(cast: Cast, api_key: Any, who: str):
    done = worked(cast, api_key, who)

    assert {
        "memory.stored", "memory.recalled", "memory.refused", "memory.proposal_applied",
        "memory.proposal_rejected", "memory.proposal_reopened", "memory.undone", "memory.cleared",
        "memory.imported", "memory.rehearsed", "memory.exported", "memory.forgotten",
    } <= done  # fmt: skip
    assert who not in raw(cast)
    assert "canary" not in raw(cast)
    assert audit.verify(cast.team_a.pk).intact
    assert len(shown(cast, subject=f"user:{who}")) > 20


def test_who_may_read_the_trail_reads_whom_it_means(cast: Cast, life: set[str]):
    lines = shown(cast, subject=OWN)

    assert {line.entry.subject for line in lines} == {OWN}
    assert len(lines) > 10
    assert f"{WHO} asked us" in [line.rest.get("reason") for line in lines]
    answer = cast.ada.client.get("/api/v1/audit", {"subject": OWN, "limit": "200"}).json()
    assert {one["subject"] for one in answer["items"]} == {OWN}
    page = markup_of(cast.ada.client.get("/team/audit/", {"subject": OWN}))
    assert OWN in page
    assert "erased user" not in page
    pieces = export(cast.ada.principal, team=cast.team_a, filters=AuditFilter(), kind="jsonl")
    told = [json.loads(line) for line in b"".join(pieces).decode().splitlines()]
    assert OWN in [one["subject"] for one in told]


def test_erased_person_is_somebody_and_the_chain_holds(cast: Cast, life: set[str]):
    before = len(shown(cast, subject=OWN))

    receipt = services.erase(at_door(cast.ada), subject=WHO)

    assert (receipt.tables["accounts_auditperson"], receipt.left["accounts_auditperson"]) == (1, 0)
    assert receipt.kept["accounts_auditentry"] == before
    assert "canary" not in raw(cast)
    with tenant([cast.team_a.pk]):
        assert not AuditPerson.objects.unscoped().filter(person__contains="canary").exists()
    assert shown(cast, subject=OWN) == []
    lines = shown(cast)
    assert "canary" not in str([(one.entry.subject, one.subject, one.rest) for one in lines])
    assert [one.subject.text for one in lines].count("erased user") >= before
    page = markup_of(cast.ada.client.get("/team/audit/"))
    assert "erased user" in page
    assert "canary" not in page
    assert audit.verify(cast.team_a.pk).intact
    with pytest.raises(MemoryFault):
        services.erase(at_door(cast.ada), subject=WHO, dry_run=True)


def test_who_comes_back_after_an_erasure_is_somebody_new(cast: Cast, life: set[str]):
    with tenant([cast.team_a.pk]):
        old = AuditPerson.objects.unscoped().get(person=WHO).pseudonym
    services.erase(at_door(cast.ada), subject=WHO)

    services.remember(in_run(cast.alice, user_id=WHO), scope="user", key="k", value="v")

    with tenant([cast.team_a.pk]):
        assert AuditPerson.objects.unscoped().get(person=WHO).pseudonym != old
    assert len(shown(cast, subject=OWN)) == 1


def test_two_teams_call_one_person_differently(cast: Cast):
    for person in (cast.alice, cast.carol):
        services.remember(in_run(person, user_id=WHO), scope="user", key="k", value="v")

    found = set()
    for team in (cast.team_a, cast.team_b):
        with tenant([team.pk]):
            found |= set(AuditPerson.objects.unscoped().values_list("person", "pseudonym"))

    assert len(found) == 2


def test_refusal_keeps_whom_it_means_when_all_around_it_is_taken_back(cast: Cast):
    with tenant([cast.team_a.pk]), pytest.raises(MemoryFault), transaction.atomic():
        services.remember(at_door(cast.bob), namespace=OWN, key="k", value="v")

    assert [line.entry.action for line in shown(cast, subject=OWN)] == ["memory.refused"]


def test_entry_of_before_is_found_and_stays_as_it_is(cast: Cast):
    with tenant([cast.team_a.pk]):
        audit.record(
            team_id=cast.team_a.pk, actor="x", action="memory.stored", subject=OWN, is_hidden=True
        )
        audit.record(team_id=cast.team_a.pk, actor="x", action="memory.recalled", subject=OWN)

    assert {line.entry.action for line in shown(cast, subject=OWN)} == {
        "memory.stored", "memory.recalled",
    }  # fmt: skip
    services.erase(at_door(cast.ada), subject=WHO)
    assert [line.entry.action for line in shown(cast, subject=OWN)] == ["memory.stored"]


def test_account_erased_takes_the_keys_of_their_test_persons(cast: Cast):
    play = f"ben@{cast.alice.user.pk}"
    services.remember(in_run(cast.alice, user_id=play), scope="user", key="k", value="v")
    assert play not in raw(cast)

    receipt = services.erase(at_door(cast.alice), subject=str(cast.alice.user.pk))

    assert receipt.tables["accounts_auditperson"] == 1
    assert shown(cast, subject=f"user:{play}") == []


def test_known_person_costs_one_query_and_an_account_none(cast: Cast):
    def asked(who: str, key: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            services.remember(in_run(cast.alice, user_id=who), scope="user", key=key, value="v")
        return sum("accounts_auditperson" in one["sql"] for one in queries)

    asked(WHO, "first")

    assert (asked(WHO, "k"), asked(str(cast.alice.user.pk), "k")) == (1, 0)


def test_generated_id_is_no_name(cast: Cast) -> None:
    run, shared = "ai:workflow:0d9f7c3e-0000-4000-8000-000000000001", "global:harbour"
    with tenant([cast.team_a.pk]):
        for text, scope in ((run, "run_metadata"), (shared, "global")):
            Namespace.objects.create(team=cast.team_a, text=text, scope=scope)
        names = name_for_audit_log(cast.ada.principal, cast.team_a.pk, [run, shared])

    assert names[run].text == "Run metadata"
    assert names[shared].text.endswith(": harbour")
