"""Whether entries enter prompts, over HTTP: stored, edited, left out, exported and refused."""

import io
from typing import Any

import pytest

from memory import services
from tests.memory.services.conftest import at_door
from tests.memory.services.exchanging import exported
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/memory"
SHARED = "global:app"
HERE = {"namespace": SHARED}


def test_choice_is_stored_edited_and_left_out_of_what_a_key_recalls(send: Any) -> None:
    stored = send("post", "/entries", {**HERE, "key": "a", "value": "green tea"}).json()
    send("post", "/entries", {**HERE, "key": "b", "value": "black tea"})

    edited = send("patch", f"/entries/{stored['id']}", {"prompt_use": "never"}, **{"If-Match": "1"})

    assert (stored["prompt_use"], edited.json()["prompt_use"]) == ("auto", "never")
    for path, query in (
        ("/recall", {}),
        ("/recall", {"query_text": "tea"}),
        ("/recall", {"key": "a"}),
    ):
        items = send("post", path, {**HERE, **query}).json()["items"]
        assert "a" not in [item["key"] for item in items]
        every = send("post", path, {**HERE, **query, "for_prompt": False}).json()["items"]
        assert "a" in [item["key"] for item in every]
    assert [item["key"] for item in send("get", "/search?q=tea").json()["items"]] == ["b"]


@pytest.mark.parametrize("use", ["sometimes", None, 1])
def test_choice_that_is_none_is_refused(send: Any, use: Any) -> None:
    answer = send("post", "/entries", {**HERE, "key": "k", "value": "v", "prompt_use": use})

    assert answer.status_code == 422
    assert "prompt_use" in answer.content.decode()


def test_choice_leaves_and_comes_back_with_a_file(send: Any, alice: Person) -> None:
    send("post", "/entries", {**HERE, "key": "a", "value": "tea", "prompt_use": "never"})
    file = exported(services.export_namespace(at_door(alice), namespace=SHARED))

    services.import_file(
        at_door(alice), io.BytesIO(file), into={SHARED: "global:new"}, on_conflict="theirs",
        dry_run=False,
    )  # fmt: skip

    (entry,) = services.recall(at_door(alice), namespace="global:new", key="a")
    assert entry.prompt_use == "never"
