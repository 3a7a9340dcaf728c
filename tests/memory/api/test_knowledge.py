"""Pages and histories over HTTP, with a key, as a programme would."""

import io
import zipfile
from base64 import b64encode
from typing import Any

import pytest

from memory.services import converse
from tests.memory.services.conftest import in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

API = "/api/v1/knowledge"
WIKI = {"namespace": "global:wiki"}
PLACE = "?namespace=global:wiki"


def write(send: Any, *pages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    answer = send("post", f"{API}/pages", {**WIKI, "pages": list(pages), **more})
    assert answer.status_code == 201, answer.content
    return [one["page"] | {"merged_for": one["merged_for"]} for one in answer.json()]


def test_page_is_written_merged_found_linked_edited_and_deleted(send: Any) -> None:
    deploy, guide = write(
        send,
        {"title": "Deployment", "content": "Ship with the blue button.", "tags": ["ops"]},
        {"title": "Guide", "content": "See [[Deployment]]."},
    )
    (merged,) = write(send, {"title": "deployment", "content": "Roll back with the red one."})
    assert (merged["entry"], merged["merged_for"], merged["revision"]) == (
        deploy["entry"],
        "title",
        2,
    )

    found = send("get", f"{API}/search{PLACE}&query=blue+button&tag=ops").json()
    assert [one["page"]["id"] for one in found["items"]] == ["deployment"]
    assert found["items"][0]["parts"]["bm25"] == 1.0

    path = f"{API}/pages/{deploy['entry']}"
    read = send("get", path)
    assert (read["ETag"], read.json()["backlinks"]) == ('"2"', ["guide"])
    edited = send("patch", path, {"summary": "How we ship"}, **{"If-Match": '"2"'})
    assert (edited["ETag"], edited.json()["page"]["summary"]) == ('"3"', "How we ship")
    assert edited.json()["page"]["content"] == merged["content"]
    assert send("patch", path, {"summary": "x"}, **{"If-Match": '"2"'}).status_code == 409
    assert [one["revision"] for one in send("get", f"{path}/revisions").json()["items"]] == [
        3,
        2,
        1,
    ]

    gone = send("delete", path).json()
    assert gone["count"] == 1
    assert send("get", path).status_code == 404
    knowledge_base = send("get", f"{API}/pages{PLACE}").json()
    assert [one["id"] for one in knowledge_base["items"]] == ["guide"]
    undone = send("post", f"/api/v1/memory/changes/{gone['change']}/undo", {})
    assert (undone.json()["count"], send("get", path).status_code) == (1, 200)
    assert guide["merged_for"] == ""


def test_stale_page_is_confirmed(send: Any) -> None:
    build, guide = write(
        send, {"title": "Build"}, {"title": "Guide", "references": ["build"], "content": "x"}
    )
    path = f"{API}/pages/{build['entry']}"
    send("patch", path, {"content": "make all"}, **{"If-Match": '"1"'})
    links = send("get", f"{API}/pages/{guide['entry']}/links").json()
    assert [(one["reference"], one["why"]) for one in links["stale"]] == [("build", "changed")]

    confirmed = send("post", f"{API}/pages/{guide['entry']}/confirm", {}).json()

    assert (confirmed["stale"], confirmed["page"]["checked_at"] is not None) == ([], True)


def test_exported_archive_is_imported_elsewhere_as_it_was(send: Any) -> None:
    write(send, {"title": "Deployment", "content": "Ship.\r\n"}, {"title": "部署", "content": "x"})
    answer = send("get", f"{API}/export{PLACE}")
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["deployment.md", "部署.md"]

    packed = b64encode(answer.content).decode()
    body = {"namespace": "global:other", "archive": packed, "files": {"note.md": "# Note\n"}}
    done = send("post", f"{API}/import", body)

    assert (done.status_code, done.json()) == (
        201,
        {
            "pages": ["deployment", "部署", "note"],
            "skipped": [],
            "caught": [],
            "dry_run": False,
        },
    )
    again = send("get", f"{API}/export?namespace=global:other").content
    with zipfile.ZipFile(io.BytesIO(again)) as archive:
        assert archive.namelist() == ["deployment.md", "note.md", "部署.md"]
        assert archive.read("note.md") == b"# Note\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**WIKI, "pages": []}, 422),
        ({**WIKI, "pages": [{"content": "no title"}]}, 422),
        ({**WIKI, "pages": [{"title": " "}]}, 422),
        ({**WIKI, "pages": [{"title": "a", "id": "a", "references": ["a"]}]}, 422),
        ({**WIKI, "pages": [{"title": "a"}], "mode": "twice"}, 422),
        ({**WIKI, "pages": [{"title": "a", "colour": "red"}]}, 422),
        ({"namespace": "user:somebody", "pages": [{"title": "a"}]}, 201),
        ({"namespace": "nowhere", "pages": [{"title": "a"}]}, 422),
    ],
)
def test_what_makes_no_sense_is_refused(send: Any, body: dict[str, Any], status: int) -> None:
    assert send("post", f"{API}/pages", body).status_code == status


def test_unknown_query_and_broken_archive_are_refused(send: Any) -> None:
    assert send("get", f"{API}/pages{PLACE}&colour=red").status_code == 422
    assert send("get", f"{API}/search{PLACE}&query=x&limit=201").status_code == 422
    for wrong in ({}, {"archive": "bm8="}, {"archive": "%%"}, {"files": {"a.pdf": "x"}}):
        assert send("post", f"{API}/import", {**WIKI, **wrong}).status_code == 422


def test_history_shows_what_was_folded_whole(api_key: Any, alice: Person, client: Any) -> None:
    rules = {"strategy": "sliding_window", "max_turns": 1}
    run = in_run(alice, conversation_id="c1")
    long = "The pilot waits at the second buoy. " * 20
    said = [{"role": "user", "content": long}, {"role": "user", "content": "And now?"}]
    converse(run, action="append", messages=said, rules=rules)
    client.force_login(alice.user)

    seen = client.get("/api/v1/memory/conversation?namespace=conv:c1").json()

    assert [one["content"] for one in seen["messages"]] == ["And now?"]
    assert [(one["reason"], one["messages"][0]["content"]) for one in seen["folds"]] == [
        ("window", long)
    ]
    other = api_key(alice).get("/api/v1/memory/conversation?namespace=conv:c1")
    assert other.status_code == 404  # a key takes part in its own conversations alone


def test_search_without_a_namespace_looks_on_all_knowledge_bases(send: Any) -> None:
    write(send, {"title": "Deployment", "content": "Ship with the blue button."})
    other = {"namespace": "global:garden", "pages": [{"title": "Seeds", "content": "Blue ones."}]}
    assert send("post", f"{API}/pages", other).status_code == 201

    everywhere = send("get", f"{API}/search?query=blue").json()
    one = send("get", f"{API}/search{PLACE}&query=blue").json()

    assert {hit["page"]["namespace"] for hit in everywhere["items"]} == {
        "global:wiki",
        "global:garden",
    }
    assert [hit["page"]["title"] for hit in one["items"]] == ["Deployment"]
