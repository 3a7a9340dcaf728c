"""Real workers: what is written is embedded in the background, though the first answers fail and a worker dies."""

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from memory import services
from memory.embedding import notify
from memory.services.recall.embedding_status import load_embedding_state
from tests.durability.conftest import Cluster
from tests.fakes.openai_server import Failure, FakeOpenAI, Request, Vectors
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from tests.support.embedding import forget, vector
from tests.support.waiting import LIMIT


HERE = "global:durable"


@pytest.fixture
def embedder(cluster: Cluster, ledger: FakeOpenAI, settings: Any) -> Iterator[None]:
    """The same endpoint for the workers and for this process, which asks."""
    chosen = {
        "MEMORY_EMBEDDER": "openai_compatible",
        "MEMORY_EMBEDDER_URL": ledger.base_url,
        "MEMORY_EMBEDDER_KEY": "sk-canary",
        "MEMORY_EMBEDDER_MODEL": "tiny",
    }
    cluster.environment.update(chosen)
    for name, value in chosen.items():
        setattr(settings, name, value)
    forget()
    notify._NOTIFIED_UNTIL.clear()
    yield
    close()
    forget()


def waiting(cluster: Cluster) -> int:
    found = cluster.db.execute(
        "select count(*) from memory_embedding where embedded_at is null or due_at is not null"
    ).fetchone()
    return int(found[0]) if found else 0


def test_what_is_written_is_found_by_meaning_soon_whatever_happens_in_between(
    cluster: Cluster,
    cast: Cast,
    ledger: FakeOpenAI,
    embedder: None,
    gate: Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from config.net import clients
    from config.net.allow import parse_allowed

    monkeypatch.setattr(clients, "_load_allow_list", lambda: parse_allowed([ledger.allow]))
    fates = ["fails", "is never answered"]  # of the first requests for several texts

    def scripted(request: Request) -> Failure | Vectors:
        fate = fates.pop(0) if len(request.body["input"]) > 1 and fates else ""
        if fate == "fails":
            return Failure(500)
        if fate:
            gate.wait(LIMIT)
        return Vectors(vector)

    ledger.script(scripted)
    alice = at_door(cast.alice)
    for key, value in (("a", "a boat at the pier"), ("b", "a kitten"), ("c", "bread")):
        services.remember(alice, namespace=HERE, key=key, value=value)
    assert [hit.key for hit in services.recall(alice, namespace=HERE, query_text="pier")] == ["a"]
    cluster.start("first")
    cluster.until(lambda: failed(cluster))  # the endpoint answered 500; they wait
    again(cluster)
    services.remember(alice, namespace=HERE, key="d", value="a loaf")
    cluster.until(lambda: not fates)  # the worker waits for an answer, and dies
    cluster.kill("first")
    again(cluster)
    notify._NOTIFIED_UNTIL.clear()
    services.remember(alice, namespace=HERE, key="e", value="an automobile")
    cluster.start("second")
    cluster.until(lambda: not waiting(cluster))

    (hit,) = services.recall(alice, namespace=HERE, query_text="vessel", top_k=1)

    assert (hit.key, hit.explain["words"]) == ("a", 0.0)
    state = load_embedding_state(cast.team_a.pk)
    assert state is not None
    assert (state.entries, state.embedded, state.failing) == (5, 5, 0)
    assert {one.headers["authorization"] for one in ledger.requests} == {"Bearer sk-canary"}


def failed(cluster: Cluster) -> bool:
    return bool(
        cluster.db.execute("select 1 from memory_embedding where attempts > 0 limit 1").fetchone()
    )


def again(cluster: Cluster) -> None:
    """As if their time had come: that of those put off, and of those a dead worker had taken."""
    cluster.db.execute("update memory_embedding set due_at = now() where due_at is not null")


def close() -> None:
    from memory.embedding.embedders import get_configured_embedder
    from memory.embedding.openai_compatible import OpenAICompatible

    made = get_configured_embedder()
    if isinstance(made, OpenAICompatible):
        made.close()
