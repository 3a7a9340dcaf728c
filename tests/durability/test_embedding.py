"""Real workers: what is written is embedded in the background, though the first answers fail and a worker dies."""

from typing import Any

from memory import services
from memory.embedding import notify
from memory.services.recall.embedding_status import load_embedding_state
from tests.durability.conftest import Cluster
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI, Request, Vectors
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from tests.support.embedding import forget, vector


HERE = "global:durable"


def use(cluster: Cluster, ledger: FakeOpenAI, settings: Any) -> None:
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


def waiting(cluster: Cluster) -> int:
    found = cluster.db.execute(
        "select count(*) from memory_embedding where embedded_at is null or due_at is not null"
    ).fetchone()
    return int(found[0]) if found else 0


def test_what_is_written_is_found_by_meaning_soon_whatever_happens_in_between(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, settings: Any, monkeypatch: Any
) -> None:
    from config.net import clients
    from config.net.allow import parse_allowed

    monkeypatch.setattr(clients, "_load_allow_list", lambda: parse_allowed([ledger.allow]))
    answers: list[Any] = [Failure(500), Vectors(vector, delay=30)]

    def scripted(request: Request) -> Answer | Failure | Vectors:
        texts = request.body["input"]
        if len(texts) > 1 and answers:
            return answers.pop(0)
        return Vectors(vector)

    ledger.script(scripted)
    use(cluster, ledger, settings)
    alice = at_door(cast.alice)
    try:
        for key, value in (("a", "a boat at the pier"), ("b", "a kitten"), ("c", "bread")):
            services.remember(alice, namespace=HERE, key=key, value=value)
        assert [hit.key for hit in services.recall(alice, namespace=HERE, query_text="pier")] == [
            "a"
        ]
        cluster.start("first")
        cluster.until(lambda: failed(cluster))  # the endpoint answered 500; they wait
        again(cluster)
        services.remember(alice, namespace=HERE, key="d", value="a loaf")
        cluster.until(lambda: not answers)  # the worker waits for an answer, and dies
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
    finally:
        close()
        forget()


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
