"""Strangers' words through real workers: what a page says waits, and so does what memory brings back of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Curation, Entry
from memory.public import LearningRule, MemoryCaller, set_learning_rule
from tests.durability.conftest import Cluster
from tests.durability.test_debugging import line, made
from tests.fakes.http_server import FakeHttp, Reply
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run


SAID = "Tea opens at nine"
OFFLINE = {"provider": "offline", "name": "offline", "mode": "chat"}


@pytest.fixture
def page(cluster: Cluster) -> Iterator[FakeHttp]:
    with FakeHttp() as server:
        cluster.environment["NET_ALLOW"] = server.address
        server.answers(Reply(200, SAID.encode()))
        yield server


def node(id_: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"id": id_, "data": {"type": kind, "title": id_, **data}}


def fetching(page: FakeHttp) -> dict[str, Any]:
    return node("web", "http-request", method="get", url=f"{page.base_url}/tea")


def keeping(key: str, value: list[str], **data: Any) -> dict[str, Any]:
    given = {"scope": "user", "key": key, "value_selector": value, **data}
    return node("keep", "memory-store", **given)


RECALL = node("r", "memory-recall", scope="user", key="tea")
ASKING = node(
    "say", "llm", model=OFFLINE,
    prompt_template=[{"role": "user", "text": "{{#start.q#}}"}],
    enhanced_memory={"enabled": True, "scope": "user", "query_selector": ["start", "q"]},
)  # fmt: skip


def ended(cluster: Cluster, cast: Cast, workflow: Workflow) -> tuple[Run, Any]:
    run = start_run(cast.alice.principal, workflow=workflow, inputs={"q": "When does tea open?"})
    row = cluster.until_ended(run)
    assert row["status"] == "succeeded", row
    return run, row["outputs"]["o"]


def kept(cast: Cast) -> dict[str, tuple[str, Any]]:
    with tenant([cast.team_a.pk]):
        rows = Entry.objects.unscoped().living().filter(namespace__text__startswith="user:")
        return {row.key: (row.tier, row.metadata.get("origin")) for row in rows}


def test_page_is_kept_apart_and_so_is_what_is_recalled_of_it_until_somebody_looked(
    cluster: Cluster, cast: Cast, page: FakeHttp
) -> None:
    """security §5.4, end to end: fetched, recalled into a value, recalled into a prompt, approved."""
    out = ["keep", "stored"]
    plain = made(cast, line(fetching(page), keeping("raw", ["web", "body"]), out=out))
    trusting = made(
        cast, line(fetching(page), keeping("tea", ["web", "body"], trusts_outside=True), out=out)
    )
    copying = made(cast, line(RECALL, keeping("copy", ["r", "results"]), out=out))
    answering = made(cast, line(ASKING, keeping("answer", ["say", "text"]), out=out))
    cluster.start()

    first = ended(cluster, cast, plain)[1]
    second = ended(cluster, cast, trusting)[1]
    third = ended(cluster, cast, copying)[1]
    asked, fourth = ended(cluster, cast, answering)

    assert (first, second, third, fourth) == (False, True, False, False)
    assert kept(cast) == {
        "raw": ("quarantine", "web"),
        "tea": ("long_term", "web"),
        "copy": ("quarantine", "web"),
        "answer": ("quarantine", "web"),
    }
    [inputs] = cluster.db.execute(
        "select inputs from workflows_step where run_id = %s and node_key = 'say'", (asked.pk,)
    ).fetchone()
    assert inputs["#from_outside"] == ["tea"]
    assert f'- tea (from outside): "{SAID}"' in inputs["messages"][0]["text"]

    alice = cast.alice
    caller = MemoryCaller(alice.principal, cast.team_a.pk, {"user_id": str(alice.user.pk)})
    [tea] = services.recall(caller, scope="user", key="tea")
    services.move(caller, move="quarantine", entry_ids=[tea.id])
    services.move(caller, move="approve", entry_ids=[tea.id], reason="I asked them")
    assert ended(cluster, cast, copying)[1] is True


def learns(cast: Cast, workflow: Workflow, scope: str = "global") -> None:
    rule = LearningRule(True, scope=scope)
    set_learning_rule(at_door(cast.alice), app_id=str(workflow.pk), learning=rule)


def curated(cluster: Cluster, cast: Cast, run: Run) -> Curation:
    def done() -> Curation | None:
        with tenant([cast.team_a.pk]):
            found = Curation.objects.unscoped().filter(run_id=str(run.pk)).first()
        return found if found and found.finished_at else None

    row: Curation = cluster.until(done)
    assert (row.status, row.problem) == ("done", "")
    return row


def test_what_a_run_learns_of_the_web_waits_where_everybody_would_be_told(
    cluster: Cluster, cast: Cast, page: FakeHttp
) -> None:
    page.answers(Reply(200, b"Found out: the kettle needs 230 volts to boil in four minutes."))
    fetched = made(cast, line(fetching(page), out=["web", "body"]))
    learns(cast, fetched)
    cluster.start()

    curated(cluster, cast, ended(cluster, cast, fetched)[0])

    with tenant([cast.team_a.pk]):
        rows = list(Entry.objects.unscoped().filter(namespace__text__startswith="global:"))
    assert rows
    for row in rows:
        reasons = [one["reason"] for one in row.metadata["quarantined_for"]]
        assert (row.tier, row.metadata["origin"]) == ("quarantine", "web")
        assert "from_outside" in reasons


def test_memory_told_in_prompts_again_and_again_is_learnt_once(
    cluster: Cluster, cast: Cast
) -> None:
    """spec §8b: recall → prompt → answer → curation, by real workers; hundred rounds are in
    ``tests/memory/services/curation/test_curate.py``."""
    caller = MemoryCaller(
        cast.alice.principal, cast.team_a.pk, {"user_id": str(cast.alice.user.pk)}
    )
    fact = "Alice prefers green tea from Japan with 70 degrees"
    services.remember(caller, scope="user", key="likes", value=fact)
    repeating = made(cast, line(ASKING, out=["say", "text"]))
    learns(cast, repeating, "user")
    cluster.start()
    sizes = []

    for _ in range(4):
        run = start_run(
            cast.alice.principal, workflow=repeating, inputs={"q": "What tea does Alice prefer?"}
        )
        row = cluster.until_ended(run)
        assert fact in row["outputs"]["o"]  # the prompt had it, and the answer repeats it
        curated(cluster, cast, run)
        with tenant([cast.team_a.pk]):
            rows = Entry.objects.unscoped().filter(namespace__text__startswith="user:")
            sizes.append([row.value for row in rows.exclude(category="execution")])

    assert sizes == [[fact]] * 4


CHAT = """
version: 0.6.0
kind: app
app: {name: Tea, mode: advanced-chat}
workflow:
  conversation_variables:
    - {id: seen, name: seen, value_type: "array[object]", value: [], selector: [conversation, seen]}
  graph:
    nodes:
      - {id: start, type: custom, data: {type: start, title: Start, variables: []}}
      - {id: r, type: custom, data: {type: memory-recall, title: Recall, scope: user, key: tea}}
      - id: seen
        type: custom
        data:
          type: assigner
          title: Seen
          version: "2"
          items:
            - {variable_selector: [conversation, seen], input_type: variable, operation: over-write, value: [r, results]}
      - id: say
        type: custom
        data:
          type: llm
          title: Say
          model: {provider: offline, name: offline, mode: chat}
          prompt_template: [{role: user, text: "{{#sys.query#}} {{#r.results#}}"}]
          memory: {window: {enabled: false}, query_prompt_template: "{{#sys.query#}}"}
      - {id: keep, type: custom, data: {type: memory-store, title: Keep, scope: user, key: said, value_selector: [say, text]}}
      - {id: answer, type: custom, data: {type: answer, title: Answer, answer: "{{#say.text#}}"}}
    edges:
      - {id: a, source: start, target: r}
      - {id: b, source: r, target: seen}
      - {id: c, source: seen, target: say}
      - {id: d, source: say, target: keep}
      - {id: e, source: keep, target: answer}
"""


def test_what_a_turn_was_told_of_the_web_waits_in_the_turn_after_it_as_well(
    cluster: Cluster, cast: Cast, page: FakeHttp
) -> None:
    """What was recalled is forgotten in between: only the chat itself still has it."""
    trusting = made(
        cast,
        line(
            fetching(page),
            keeping("tea", ["web", "body"], trusts_outside=True),
            out=["web", "body"],
        ),
    )
    chat = made(cast, CHAT)
    cluster.start()
    ended(cluster, cast, trusting)

    def turn(conversation: str) -> tuple[Any, list[str]]:
        run = start_run(
            cast.alice.principal, workflow=chat, query="When?", conversation=conversation
        )
        row = cluster.until_ended(run)
        assert row["status"] == "succeeded", row
        [left] = cluster.db.execute(
            "select outside from workflows_conversation where id = %s", (row["conversation_id"],)
        ).fetchone()
        return kept(cast).get("said"), left

    everything = ["conversation.seen", "sys.answers"]
    assert turn("c1") == (("quarantine", "web"), everything)

    caller = MemoryCaller(
        cast.alice.principal, cast.team_a.pk, {"user_id": str(cast.alice.user.pk)}
    )
    for key in ("tea", "said"):
        services.forget(caller, scope="user", key=key)
    assert kept(cast) == {}

    assert turn("c1") == (("quarantine", "web"), everything)
    services.forget(caller, scope="user", key="said")
    assert turn("c2") == (("long_term", None), [])
