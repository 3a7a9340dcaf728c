"""用户甲 and the group 项目:甲, from the start of a run over its memory and the API to their erasure."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory.models import Namespace
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from workflows.execution.worker import Worker
from workflows.models import Run, Workflow


pytestmark = pytest.mark.django_db(transaction=True)

PERSON, GROUP = "用户甲", "项目:甲"
DECOMPOSED, COMPOSED = "Jose\u0301", "José"


@pytest.fixture
def execute(settings: Any, valkey_url: str) -> Iterator[Callable[[str], Run]]:
    settings.REDIS_URL = valkey_url
    worker = Worker(capacity=1)

    def executed(run_id: str) -> Run:
        run = Run.objects.unscoped().get(pk=run_id)
        worker.execute_run(run.pk)
        run.refresh_from_db()
        return run

    yield executed
    worker.stop(0)


def remembering(cast: Cast) -> Workflow:
    """Stores under a key of any text, for the person, the group and the conversation, and recalls."""
    text = ["start", "text"]
    scopes = ("user", "workflow", "conversation")
    stores = [
        {"id": f"to_{scope}", "data": {"type": "memory-store", "title": scope, "scope": scope,
            "key": " 最喜欢的茶 ", "value_selector": text}}
        for scope in scopes
    ]  # fmt: skip
    recalls = [
        {"id": f"of_{scope}", "data": {"type": "memory-recall", "title": scope, "scope": scope,
            "key": "最喜欢的茶"}}
        for scope in scopes
    ]  # fmt: skip
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "Start",
            "variables": [{"variable": "text", "type": "string"}]}},
        *stores,
        *recalls,
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": scope, "value_selector": [f"of_{scope}", "results"]} for scope in scopes
        ]}},
    ]  # fmt: skip
    pairs = pairwise(nodes)
    edges = [{"id": str(n), "source": a["id"], "target": b["id"]} for n, (a, b) in enumerate(pairs)]
    return make_workflow(
        cast.alice, "remembering", {"version": "0.1.0", "nodes": nodes, "edges": edges}
    )


def test_person_group_and_conversation_of_any_text_from_run_to_erasure(
    cast: Cast, api_key: Any, execute: Callable[[str], Run]
) -> None:
    client, workflow = api_key(cast.alice), remembering(cast)
    body = {
        "inputs": {"text": "龙井茶"}, "user": f" {PERSON}\n", "group_id": GROUP,
        "conversation_id": "对话/一", "version": "draft",
    }  # fmt: skip

    started = client.post(
        f"/api/v1/workflows/{workflow.pk}/runs", body, content_type="application/json"
    )
    assert started.status_code == 202, started.content
    assert (started.json()["user"], started.json()["conversation_id"]) == (PERSON, "对话/一")
    with tenant([cast.team_a.pk]):
        run = execute(started.json()["id"])
        namespaces = set(
            Namespace.objects.unscoped()
            .filter(entry_count__gt=0)
            .exclude(scope="run_metadata")
            .values_list("text", flat=True)
        )
    assert run.status == "succeeded", run.error
    for scope in ("user", "workflow", "conversation"):
        [found] = run.outputs[scope]
        assert (found["key"], found["value"]) == ("最喜欢的茶", "龙井茶")
    assert namespaces == {
        f"user:{PERSON}", f"ai:memory:{workflow.stream_name}:项目%3A甲", "conv:对话/一",
    }  # fmt: skip

    recalled = client.post(
        "/api/v1/memory/recall",
        {"namespace": f"user:{PERSON}", "key": "最喜欢的茶 "},
        content_type="application/json",
    )
    assert [entry["value"] for entry in recalled.json()["items"]] == ["龙井茶"]
    subject = f"/api/v1/memory/subjects/{quote(PERSON)}"
    exported = client.get(f"{subject}/export")
    assert "龙井茶" in b"".join(exported).decode()

    erased = client.post(f"{subject}/erase", {"dry_run": False}, content_type="application/json")
    assert erased.status_code == 200, erased.content
    assert client.get(f"/api/v1/runs/{run.pk}").status_code == 404
    with tenant([cast.team_a.pk]):
        assert not Namespace.objects.unscoped().filter(text=f"user:{PERSON}").exists()
        subjects = AuditEntry.objects.unscoped().values_list("subject", "detail")
        assert PERSON not in str(list(subjects))


def test_two_spellings_of_a_person_are_one_memory_and_two_people_are_two(
    cast: Cast, api_key: Any
) -> None:
    client = api_key(cast.alice)

    def store(user: str, value: str) -> str:
        answer = client.post(
            "/api/v1/memory/entries",
            {"namespace": f"user:{user}", "key": "k", "value": value},
            content_type="application/json",
        )
        assert answer.status_code < 300, answer.content
        return str(answer.json()["namespace"])

    spelled = [
        store(DECOMPOSED, "first"),
        store(COMPOSED, "second"),
        store(f"{COMPOSED} ", "third"),
    ]

    assert spelled == [f"user:{COMPOSED}"] * 3
    assert store("Ｊosé", "wide") == "user:Ｊosé"
    assert store("Jose", "plain") == "user:Jose"
    with tenant([cast.team_a.pk]):
        assert Namespace.objects.unscoped().filter(scope="user").count() == 3


@pytest.mark.parametrize("subject", ["a/b", "项目:甲", "Zoë Smith", "100%"])
def test_subject_in_a_url_is_any_text(cast: Cast, api_key: Any, subject: str) -> None:
    client = api_key(cast.alice)
    address = f"/api/v1/memory/subjects/{quote(subject, safe='')}/pause"

    paused = client.post(address, {"what": "both"}, content_type="application/json")

    assert paused.status_code == 200, paused.content
    assert client.get(address).json()["pause"]
