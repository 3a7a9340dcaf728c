"""Erasing a person: nothing of theirs is left in any table, and nothing of anybody else's is gone."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone

from accounts import access, audit
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, NotFound
from memory.models import Curation, EmergencyAccess, Namespace, Proposal, WikiJob
from memory.services.erasure.erase import TABLES
from memory.views.erasure_lines import TABLE_LABELS
from tests.factories.workflows import make_conversation, make_journal, make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny
from workflows.errors import StillRunning
from workflows.models import Conversation, Message, Run, RunWait


pytestmark = pytest.mark.django_db


def remembered(person: Person, who: str, /, **scopes: Any) -> None:
    """In every table: overwritten, forgotten, recalled by a run, in a group; where one is in use, for an embedder too."""
    caller = in_run(person, outside=False, user_id=who, **scopes)
    for scope in ("user", *(["conversation"] if "conversation_id" in scopes else [])):
        for number in range(3):
            services.remember(
                caller, scope=scope, key=f"k{number}", value="green tea", metadata={"group": "g"}
            )
        services.remember(caller, scope=scope, key="k0", value="black tea")
        services.forget(caller, scope=scope, key="k1")
        assert services.recall(caller, scope=scope, query_text="tea")
    with tenant([person.team.pk]):
        rows = Namespace.objects.unscoped().filter(team=person.team, text=f"user:{who}")
        for row in rows:
            Curation.objects.unscoped().create(
                team=person.team, run_id=f"run of {who}", place=row.text
            )
            Proposal.objects.unscoped().create(
                team=person.team, namespace=row, kind="forget", targets=["k0"], fingerprint=who
            )
            WikiJob.objects.unscoped().create(team=person.team, namespace=row, task="lint")
            EmergencyAccess.objects.unscoped().create(
                team=person.team,
                namespace=row,
                by=person.user,
                reason="an emergency",
                expires_at=timezone.now() + timedelta(minutes=15),
            )


def counts(team_id: Any) -> dict[str, int]:
    with tenant([team_id]), connection.cursor() as cursor:
        found = {}
        for table in TABLES:
            cursor.execute(f"SELECT count(*) FROM {table}")
            found[table] = cursor.fetchone()[0]
        return found


def test_dry_run_counts_and_leaves_all(alice: Person, tiny: Tiny):
    remembered(alice, str(alice.user.pk))
    before = counts(alice.team.pk)
    assert all(before.values())

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk), dry_run=True)

    assert counts(alice.team.pk) == before
    assert {table: receipt.tables[table] for table in TABLES} == before
    assert receipt.dry_run
    assert set(receipt.tables) <= set(TABLE_LABELS)  # people's words for each


def test_erased_person_is_in_no_table_and_the_trail_still_holds(cast: Cast, tiny: Tiny):
    alice, bob = cast.alice, cast.people["bob"]
    workflow = make_workflow(alice)
    with tenant([alice.team.pk]):
        talk = make_conversation(alice, workflow)
        run = make_run(
            alice, workflow, conversation=talk, status="succeeded", finished_at=timezone.now()
        )
        Message.objects.create(
            team_id=run.team_id, conversation=talk, run=run, number=1, query="a", answer="b"
        )
    make_journal(run)
    theirs = make_run(bob, workflow, status="succeeded", finished_at=timezone.now())
    remembered(bob, str(bob.user.pk))
    others = counts(alice.team.pk)
    own = str(alice.user.pk)
    remembered(alice, own, conversation_id=talk.key, run_id=str(run.pk))
    services.remember(in_run(alice, run_id=str(run.pk)), scope="run", key="note", value="tea")
    access.grant(bob.user, "memory.view", _namespace(alice, f"user:{own}"))
    present = counts(alice.team.pk)

    receipt = services.erase(at_door(alice), subject=own)

    assert counts(alice.team.pk) == others
    assert {t: receipt.tables[t] for t in TABLES} == {t: present[t] - others[t] for t in TABLES}
    assert all(receipt.tables[table] for table in TABLES)
    of_runs = ("run", "step", "runcommit", "runpartial", "conversation", "message")
    assert {receipt.tables[f"workflows_{table}"] for table in of_runs} == {1}
    with tenant([alice.team.pk]):
        assert [one.pk for one in Run.objects.unscoped()] == [theirs.pk]
        assert not Conversation.objects.unscoped().exists()
    assert set(receipt.left.values()) == {0}
    assert receipt.tables["sharing"] == 1
    assert receipt.namespaces == 3
    assert receipt.kept["accounts_auditentry"] > 0
    assert audit.verify(alice.team.pk).intact
    with tenant([alice.team.pk]):
        row = AuditEntry.objects.unscoped().filter(action="memory.erased").get()
    assert row.detail["tables"] == dict(receipt.tables)
    services.remember(in_run(alice), scope="user", key="k0", value="a new life")  # begins anew
    assert [e.value for e in services.recall(in_run(alice), scope="user")] == ["a new life"]


def _namespace(person: Person, text: str) -> Any:
    return next(
        one for one in services.list_namespace_page(at_door(person)).rows if one.text == text
    )


def test_owner_erases_an_outside_person_whose_memory_they_may_not_see(alice: Person):
    remembered(alice, "ben@example.org")

    receipt = services.erase(at_door(alice), subject="ben@example.org")

    assert receipt.tables["memory_entry"] == 3
    assert set(counts(alice.team.pk).values()) == {0}


@pytest.mark.parametrize("dry_run", [True, False])
def test_member_of_whom_nothing_is_remembered_gets_an_empty_receipt(cast: Cast, dry_run: bool):
    own = str(cast.bob.user.pk)

    for person in (cast.alice, cast.bob):
        receipt = services.erase(at_door(person), subject=own, dry_run=dry_run)
        assert (receipt.namespaces, set(receipt.tables.values())) == (0, {0})
        body = json.dumps({"dry_run": dry_run})
        address = f"/api/v1/memory/subjects/{own}/erase"
        answer = person.client.post(address, body, content_type="application/json")
        assert (answer.status_code, set(answer.json()["tables"].values())) == (200, {0})
    asked = {"whose": "other", "person": cast.bob.user.email, "runs": "on"}
    page = cast.alice.client.post("/memory/erase/", asked)
    assert (page.status_code, page.context["total"]) == (200, 0)
    for name in ("ada", "vic", "carol"):
        with pytest.raises(NotFound):
            services.erase(at_door(cast.people[name]), subject=own, dry_run=dry_run)


def test_refused_erasure_and_export_of_somebody_are_in_the_trail(cast: Cast):
    remembered(cast.alice, str(cast.alice.user.pk))
    for refused in (services.erase, services.export_person):
        for subject in (str(cast.alice.user.pk), "nobody@example.org"):
            with pytest.raises(NotFound):
                refused(at_door(cast.bob), subject=subject)

    with tenant([cast.team_a.pk]):
        rows = AuditEntry.objects.unscoped().filter(action="memory.refused").order_by("seq")
        told = [(one.actor, one.subject, one.detail["op"]) for one in rows]

    who = (f"user:{cast.bob.user.pk}", f"user:{cast.alice.user.pk}")
    assert told == [(*who, "memory.erased"), (*who, "memory.exported")]


def test_admin_erases_an_outside_person_but_no_member(cast: Cast):
    remembered(cast.alice, "ben@example.org")
    remembered(cast.bob, f"play@{cast.bob.user.pk}")

    receipt = services.erase(at_door(cast.ada), subject="ben@example.org")

    assert receipt.tables["memory_entry"] == 3
    for subject in (f"play@{cast.bob.user.pk}", str(cast.bob.user.pk), "nobody@example.org"):
        with pytest.raises(NotFound):
            services.erase(at_door(cast.ada), subject=subject)


def test_erased_member_takes_their_test_persons_along(cast: Cast):
    own, play = str(cast.alice.user.pk), f"ben@{cast.alice.user.pk}"
    remembered(cast.alice, play)
    make_run(
        cast.alice,
        make_workflow(cast.alice),
        subject=play,
        status="failed",
        finished_at=timezone.now(),
    )

    receipt = services.erase(at_door(cast.alice), subject=own)

    assert (receipt.tables["memory_entry"], receipt.tables["workflows_run"]) == (3, 1)
    assert set(receipt.left.values()) == {0}


def test_nothing_is_erased_while_a_run_goes_on(alice: Person):
    remembered(alice, str(alice.user.pk))
    make_run(alice, make_workflow(alice), status="running")
    before = counts(alice.team.pk)

    with pytest.raises(StillRunning), transaction.atomic():
        services.erase(at_door(alice), subject=str(alice.user.pk))

    assert counts(alice.team.pk) == before


def test_paused_run_is_erased_with_what_it_waits_for(alice: Person):
    run = make_run(alice, make_workflow(alice), status="paused")
    with tenant([alice.team.pk]):
        RunWait.objects.unscoped().create(team=alice.team, run=run, node_key="ask", form={})

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk))

    assert (receipt.tables["workflows_run"], receipt.tables["workflows_runwait"]) == (1, 1)
    assert set(receipt.left.values()) == {0}


def test_runs_stay_where_only_memory_was_to_go(alice: Person):
    remembered(alice, str(alice.user.pk))
    make_run(alice, make_workflow(alice), status="running")

    receipt = services.erase(at_door(alice), subject=str(alice.user.pk), runs=False)

    assert "workflows_run" not in receipt.tables
    assert set(counts(alice.team.pk).values()) == {0}


# What of a person an erasure leaves in the team's tables, and why.
STAYS = {
    "accounts_auditentry": "numbers, and hashes whose keys went; it can't be shortened",
    "accounts_audithead": "the newest number and hash of the trail",
    "accounts_membership": "whether somebody is in the team is no memory of them; removed by leaving",
    "accounts_invitation": "as their membership",
    "accounts_apikey": "a programme's, not a person's",
    "accounts_serviceaccount": "a program's, not a person's",
    "accounts_teamgroup": "the team's order, as their membership",
    "memory_policy": "the team's rules",
    "memory_curationrule": "the team's rules",
    "memory_erasure": "the receipt itself: that it was asked for, and done",
    "workflows_workflow": "the team's work, whoever drew it",
    "workflows_startcount": "numbers of runs by day and key",
    "workflows_activerun": "columns of unfinished runs, which a trigger deletes with them",
    "workflows_streamname": "names of workflows, whoever drew them",
    "workflows_workflowsecret": "the team's work",
    "workflows_runsubscription": "the team's settings",
    "workflows_delivery": "ids of runs, and numbers; gone after a month",
    "workflows_folder": "the team's order",
    "workflows_node": "the team's work",
    "workflows_edge": "the team's work",
    "workflows_variable": "the team's work",
    "workflows_snapshot": "the team's work",
    "workflows_version": "the team's work",
    "workflows_publicpage": "the team's settings",
    "workflows_revision": "the team's work",
    "workflows_comment": "what colleagues said to each other about a workflow; the receipt counts it",
    "workflows_modelprovider": "the team's settings",
    "workflows_providermodel": "the team's settings",
    "workflows_credential": "the team's settings",
    "workflows_toolconnection": "the team's settings",
    "workflows_toolsignin": "the team's settings",
    "workflows_signinattempt": "gone after ten minutes, with the account at the latest",
    "workflows_modelmapping": "the team's settings",
    "workflows_knowledgemapping": "the team's settings",
    "workflows_modelcall": "calls that are being made, without a person",
    "workflows_runusage": "a day's numbers; the person is taken out of them",
    "workflows_modelusage": "a day's numbers; the person is taken out of them",
    "workflows_dataset": "the team's work; a person's cases are erased",
    "workflows_evaluation": "the team's work",
    "workflows_evaluationresult": "goes with its case",
}


def test_every_table_of_a_team_is_erased_or_says_why_not(alice: Person):
    receipt = services.erase(at_door(alice), subject=str(alice.user.pk), dry_run=True)
    tables = {
        model._meta.db_table
        for model in apps.get_models()
        if model._meta.managed and any(field.column == "team_id" for field in model._meta.fields)
    }

    assert tables - set(receipt.tables) - set(STAYS) == set()
    assert set(STAYS) & set(receipt.tables) == set()
    assert set(STAYS) - tables == set()


@pytest.mark.parametrize("name", ["bob", "vic", "ada", "carol"])
def test_nobody_else_erases_anybody(cast: Cast, name: str):
    remembered(cast.alice, str(cast.alice.user.pk))
    person = cast.people[name]
    before = counts(cast.team_a.pk)

    for caller in (at_door(person), replace(at_door(person), team_id=cast.team_a.pk)):
        with pytest.raises((NotFound, AccessDenied)):
            services.erase(caller, subject=str(cast.alice.user.pk))

    assert counts(cast.team_a.pk) == before


def test_function_of_the_database_sees_no_other_team(cast: Cast):
    remembered(cast.alice, str(cast.alice.user.pk))
    with tenant([cast.team_a.pk]), connection.cursor() as cursor:
        cursor.execute("SELECT id FROM memory_namespace")
        (which,) = cursor.fetchone()
    before = counts(cast.team_a.pk)

    with transaction.atomic(), tenant([cast.team_b.pk]), connection.cursor() as cursor:
        cursor.execute("SELECT name, rows FROM memory_erase_namespace(%s)", [which])
        assert cursor.fetchall() == []

    assert counts(cast.team_a.pk) == before
