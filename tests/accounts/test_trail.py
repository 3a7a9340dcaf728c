"""Reading the trail: narrowed, paged, in words, as a file; by page and by API."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import audit
from accounts.models import AuditEntry
from accounts.services import create_group
from accounts.services.checkpoints import check_head, read_heads
from accounts.services.trail import COLUMNS, AuditFilter, FieldChange, list_changes, read_page
from accounts.tenancy import tenant
from memory import services as memory
from tests.factories.workflows import make_workflow
from tests.memory.services.conftest import in_run
from tests.support.cast import Cast, Person, make_cast
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def record(team: Any, **given: Any) -> None:
    audit.record(
        **{
            "team_id": team.pk,
            "actor": "user:x",
            "action": "workflow.changed",
            "subject": "thing",
            **given,
        }
    )


@pytest.fixture
def trail(cast: Cast) -> Cast:
    """Something of each kind."""
    bob = f"user:{cast.bob.user.pk}"
    record(cast.team_a, actor=bob)
    record(cast.team_a, actor=bob, subject="other", detail={"run": "r1", "node": "n1"})
    record(cast.team_a, action="memory.refused", success=False, detail={"run": "r1", "node": "n2"})
    record(cast.team_a, action="memory.stored", subject="user:nobody", detail={"run": "r2"})
    record(cast.team_b, actor=bob, subject="theirs", detail={"run": "r1"})
    return cast


def found(cast: Cast, **asked: Any) -> list[tuple[str, str]]:
    with tenant([cast.team_a.pk]):
        page = read_page(cast.ada.principal, team=cast.team_a, filters=AuditFilter(**asked))
    return [(line.entry.action, line.entry.subject) for line in page.lines]


CHANGED, OTHER = ("workflow.changed", "thing"), ("workflow.changed", "other")
REFUSED, STORED = ("memory.refused", "thing"), ("memory.stored", "user:nobody")


@pytest.mark.parametrize(
    ("asked", "entries"),
    [
        ({"actor": "bob", "action": "workflow."}, [OTHER, CHANGED]),
        ({"action": "memory.stored"}, [STORED]),
        ({"action": "memory."}, [STORED, REFUSED]),
        ({"subject": "thing"}, [REFUSED, CHANGED]),
        ({"run": "r1"}, [REFUSED, OTHER]),
        ({"run": "r1", "node": "n1"}, [OTHER]),
        ({"success": False}, [REFUSED]),
        ({"run": "r1", "success": True}, [OTHER]),
        ({"subject": "theirs"}, []),
    ],
)
def test_trail_is_narrowed_newest_first(trail: Cast, asked: Any, entries: Any):
    if asked.get("actor") == "bob":
        asked = {**asked, "actor": f"user:{trail.bob.user.pk}"}

    assert found(trail, **asked) == entries


def test_trail_is_narrowed_by_time(trail: Cast):
    with tenant([trail.team_a.pk]):
        at = AuditEntry.objects.unscoped().get(subject="other").at

    assert found(trail, since=at) == [STORED, REFUSED, OTHER]
    assert found(trail, since=at, until=at + timedelta(microseconds=1)) == [OTHER]
    assert found(trail, since=timezone.now() + timedelta(days=1)) == []


def test_pages_go_on_by_number_whatever_is_written_meanwhile(cast: Cast):
    for number in range(7):
        record(cast.team_a, subject=str(number), action="comment.created")
    asked, seen, before = AuditFilter(action="comment.created"), [], None
    with tenant([cast.team_a.pk]):
        while True:
            page = read_page(
                cast.ada.principal, team=cast.team_a, filters=asked, before=before, limit=3
            )
            seen += [line.entry.subject for line in page.lines]
            record(cast.team_a, subject="late", action="comment.created")
            if (before := page.older) is None:
                break

    assert seen == ["6", "5", "4", "3", "2", "1", "0"]


@pytest.mark.parametrize(
    ("detail", "changes"),
    [
        ({"from": "viewer", "to": "admin"}, (FieldChange("", "viewer", "admin"),)),
        (
            {"before": {"a": 1, "b": [1], "c": None}, "after": {"a": 2, "b": [1], "d": "x"}},
            (FieldChange("a", "1", "2"), FieldChange("d", "–", "x")),
        ),
        ({"before": "x", "after": "y"}, (FieldChange("", "x", "y"),)),
        ({"keys": 3}, ()),
    ],
)
def test_change_is_told_field_by_field(detail: Any, changes: Any):
    assert list_changes(detail) == changes


def page_of(person: Person, query: str = "") -> str:
    answer = person.client.get(f"/team/audit/{query}")
    assert answer.status_code == 200
    return markup_of(answer)


def test_page_says_names_not_ids(cast: Cast, api_key: Any):
    memory.remember(in_run(cast.bob), scope="user", key="k", value="bob's secret")
    memory.remember(in_run(cast.bob, conversation_id="c1"), scope="conversation", key="k", value=1)
    workflow = make_workflow(cast.bob, "Answering machine")
    record(cast.team_a, actor=cast.bob.principal.actor, subject=f"workflow:{workflow.pk}")
    key = api_key(cast.alice).key
    create_group(cast.ada.principal, team=cast.team_a, name="Support")

    shown = page_of(cast.ada)

    for words in ("User: Bob", "Conversation: c1", "Answering machine", "Support", "Alice"):
        assert words in shown
    assert str(key) in shown  # the key's own name as the subject of its making
    assert "bob&#x27;s secret" not in shown
    assert f"/workflows/{workflow.pk}/" in shown


def test_page_names_with_as_many_questions_for_many_entries_as_for_few(cast: Cast):
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of(cast.ada)
        return len(queries)

    workflows = [make_workflow(cast.bob, f"w{number}") for number in range(4)]
    record(cast.team_a, subject=f"workflow:{workflows[0].pk}")
    asked()
    once = asked()
    for workflow in workflows[1:]:
        record(cast.team_a, subject=f"workflow:{workflow.pk}")
    assert asked() == once


def test_page_shows_what_changed_and_what_was_refused(cast: Cast):
    record(cast.team_a, detail={"before": {"most": 5}, "after": {"most": 9}})
    record(cast.team_a, success=False)

    shown = page_of(cast.ada, "?subject=thing")

    assert '<td class="was">5</td><td class="is">9</td>' in shown
    assert "failed" in shown
    assert "No results" in page_of(cast.ada, "?subject=nothing")
    for nonsense in ("?before=x", "?since=2026-99-99", "?success=7", "?until=x"):
        page_of(cast.ada, nonsense)


def test_page_calls_details_by_words_and_numbers_of_memory_revisions(cast: Cast):
    record(cast.team_a, action="memory.stored", detail={"before": 2, "after": 3, "bytes": 7})
    record(cast.team_a, detail={"odd": "x"})

    shown = page_of(cast.ada, "")

    assert '<dt>Revision</dt><dd class="break">2 → 3</dd>' in shown
    assert "trail-diff" not in shown
    assert "<dt>Bytes</dt>" in shown
    assert '<dt class="mono">odd</dt>' in shown


@pytest.mark.parametrize(("query", "opened"), [("", False), ("?subject=thing", True)])
def test_rarer_filters_are_open_where_one_of_them_narrows(cast: Cast, query: str, opened: bool):
    assert ('class="trail-rest" open>' in page_of(cast.ada, query)) is opened


def test_button_verifies_and_names_the_first_broken_entry(cast: Cast):
    whole = markup_of(cast.ada.client.post("/team/audit/verify/"))

    assert "all hashes match" in whole


@pytest.mark.django_db(transaction=True)
def test_button_names_the_first_broken_entry(owner_db: Any):
    cast = make_cast()
    with owner_db.transaction():
        owner_db.execute("SET LOCAL session_replication_role = replica")
        owner_db.execute(
            "UPDATE accounts_auditentry SET subject = 'x' WHERE seq = 2 AND team_id = %s",
            [cast.team_a.pk],
        )

    shown = markup_of(cast.ada.client.post("/team/audit/verify/"))

    assert "Verification failed at entry 2: this entry was modified." in shown
    where = re.search(r'href="([^"]+)">Show entry', shown)
    assert where is not None
    assert '<span class="seq">2</span>' in page_of(cast.ada, where[1].removeprefix("/team/audit/"))


def test_links_of_the_verified_trail_lead_to_the_trail(cast: Cast):
    for number in range(60):
        record(cast.team_a, subject=f"thing:{number}")

    verified = markup_of(cast.ada.client.post("/team/audit/verify/"))

    asked = re.findall(r'href="([^"]*\?[^"]*)"', verified)
    assert any("?before=" in address for address in asked)
    for address in {re.sub("=.*", "=", one): one for one in asked}.values():
        assert address.startswith("/team/audit/?")
        assert cast.ada.client.get(address.replace("&amp;", "&")).status_code == 200


def test_way_back_to_the_newest_keeps_what_is_narrowed(cast: Cast):
    record(cast.team_a)

    shown = page_of(cast.ada, "?action=workflow.&before=999")

    assert 'href="/team/audit/?action=workflow.">Newest' in shown
    assert 'href="/team/audit/">Newest' in page_of(cast.ada, "?before=999")


def test_signed_head_is_taken_by_page_and_api(cast: Cast):
    for address in ("/team/audit/head/", "/api/v1/audit/head"):
        answer = cast.ada.client.get(address)
        (head,) = read_heads(answer.content.decode())
        assert check_head(head).is_valid
        assert head.team_id == cast.team_a.pk


def taken(answer: Any) -> str:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def test_export_holds_every_entry_in_order_and_is_recorded(trail: Cast):
    client = trail.ada.client
    with tenant([trail.team_a.pk]):
        before = list(AuditEntry.objects.unscoped().order_by("seq").values_list("seq", "hash"))

    lines = taken(client.get("/api/v1/audit/export")).splitlines()
    trees = [json.loads(line) for line in lines]

    assert [(tree["seq"], tree["hash"]) for tree in trees[:-1]] == before
    assert (trees[-1]["action"], trees[-1]["detail"]) == (
        "audit.exported",
        {"format": "jsonl", "asked": {}},
    )
    rows = list(
        csv.reader(
            io.StringIO(taken(client.post("/team/audit/export/", {"format": "csv", "run": "r1"})))
        )
    )
    assert rows[0] == list(COLUMNS)
    assert [row[5] for row in rows[1:]] == ["other", "thing"]
    assert client.post("/team/audit/export/", {"format": "xls"}).status_code == 422
    assert audit.verify(trail.team_a.pk).intact


@pytest.mark.parametrize("subject", ["=1+1", " =1+1", "\n=1+1", "＝1+1", "\u3000＠SUM(1)"])
def test_export_lets_no_spreadsheet_reckon(trail: Cast, subject: str):
    record(trail.team_a, subject=subject)

    rows = csv.reader(io.StringIO(taken(trail.ada.client.get("/api/v1/audit/export?format=csv"))))

    assert f"'{subject}" in [row[5] for row in rows]


async def test_export_is_sent_piece_by_piece_to_an_asynchronous_server(tmp_path: Any):
    from accounts.services.downloads import FileDownload

    answer = FileDownload(iter([b"a", b"b"]), name="x", kind="csv")

    assert [piece async for piece in answer] == [b"a", b"b"]


def test_api_lists_narrows_pages_and_verifies(trail: Cast):
    client = trail.ada.client

    first = client.get("/api/v1/audit", {"run": "r1", "limit": "1"}).json()
    second = client.get(
        "/api/v1/audit", {"run": "r1", "limit": "1", "cursor": first["next"]}
    ).json()

    assert [one["action"] for one in first["items"] + second["items"]] == [
        "memory.refused",
        "workflow.changed",
    ]
    assert second["next"] is None
    assert client.get("/api/v1/audit/verify").json()["intact"] is True
    wrongs: list[dict[str, str]] = [{"limit": "0"}, {"team": "x"}, {"since": "x"}, {"before": "-1"}]
    for wrong in wrongs:
        assert client.get("/api/v1/audit", wrong).status_code == 422
    assert len(client.get("/api/v1/audit", {"since": "2026-01-01T00:00:00"}).json()["items"]) > 3
    for person in (trail.bob, trail.vic):
        assert person.client.get("/api/v1/audit").status_code == 403
        assert person.client.get("/team/audit/").status_code == 403


def test_key_reads_the_trail_with_the_scope_for_it_and_no_other(cast: Cast, api_key: Any):
    auditor, other = api_key(cast.ada, scopes={"audit:read"}), api_key(cast.ada)

    read = auditor.get("/api/v1/audit", {"action": "key."})

    assert [one["action"] for one in read.json()["items"]] == ["key.issued", "key.issued"]
    assert auditor.get("/api/v1/audit/verify").json()["intact"] is True
    for address in ("/api/v1/me", "/api/v1/audit/head", "/api/v1/audit/export?format=csv"):
        assert auditor.get(address).status_code == 200
    assert auditor.get("/api/v1/memory/namespaces").json()["items"] == []
    assert auditor.get(f"/api/v1/teams/{cast.team_a.pk}/members").status_code == 403
    assert other.get("/api/v1/audit").status_code == 403
    assert auditor.get(f"/api/v1/teams/{cast.team_b.pk}/audit").status_code == 404


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "0001-01-01T00:00:00+14:00"])
def test_day_at_an_end_of_time_narrows_nothing(cast: Cast, name: str, day: str):
    record(cast.team_a, subject="thing one")

    answer = cast.ada.client.get("/team/audit/", {name: day})

    assert (answer.status_code, "thing one" in markup_of(answer)) == (200, True)


def test_subject_with_a_nul_is_written_down_without_it(cast: Cast):
    record(cast.team_a, subject="app:\x00mia")

    with tenant([cast.team_a.pk]):
        assert AuditEntry.objects.unscoped().latest("seq").subject == "app:\ufffdmia"
        assert audit.verify(cast.team_a.pk).intact
