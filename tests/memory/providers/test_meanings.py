"""What a question by meaning reads: the vectors of its namespace, by an index, and no entry at all."""

from typing import Any

import psycopg
import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.records import QueryEmbedding
from memory.models import Namespace
from memory.providers.postgres import vectors
from memory.upkeep import embedding
from memory.upkeep.embedding import embed_team
from tests.memory.providers.test_plans import plan, scans
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from tests.support.embedding import Tiny, vector


pytestmark = pytest.mark.django_db(transaction=True)

PLACES, EACH = 12, 250


@pytest.fixture
def crowded(cast: Cast, tiny: Tiny, owner_db: psycopg.Connection[Any]) -> Cast:
    """A dozen namespaces full of vectors, made by the database; one entry of each is real."""
    for place in range(PLACES):
        services.remember(
            at_door(cast.alice), namespace=f"global:p{place}", key="a", value="a boat"
        )
    embed_team(cast.team_a.pk)
    owner_db.execute(
        "INSERT INTO memory_embedding (id, team_id, namespace_id, entry_id, number, text_hash, model,"
        " dimensions, embedded_at, attempts, problem, vector)"
        " SELECT gen_random_uuid(), team_id, namespace_id, gen_random_uuid(), 1000 + n, 'x', model,"
        " dimensions, embedded_at, 0, '', vector FROM memory_embedding, generate_series(1, %s) AS n",
        [EACH],
    )
    owner_db.execute("ANALYZE memory_embedding")
    return cast


def test_question_reads_the_vectors_of_its_namespace_alone(crowded: Cast) -> None:
    with tenant([crowded.team_a.pk]):
        namespace = Namespace.objects.unscoped().get(text="global:p3")
        meaning = QueryEmbedding("tiny/1", tuple(vector("ship")))
        named = vectors.build_nearest_params(namespace, meaning, None, (7, 8), vectors.MAX_SIMILAR)
        nodes = plan(vectors.QUERIES["nearest"], named=named)

    assert {node["Index Name"] for node in nodes if "Index Name" in node} == {"memory_embedding_of"}
    assert {node["Relation Name"] for node in nodes if "Relation Name" in node} == {
        "memory_embedding"
    }
    assert not any(node["Node Type"] == "Seq Scan" for node in nodes)
    read = [node["Actual Rows"] for node in nodes if node.get("Relation Name")]
    assert read == [EACH + 1]
    assert nodes[0]["Actual Rows"] == vectors.MAX_SIMILAR


def test_worker_finds_what_is_due_without_reading_what_is_done(crowded: Cast) -> None:
    from django.utils import timezone

    services.remember(at_door(crowded.alice), namespace="global:p3", key="b", value="a cat")
    with tenant([crowded.team_a.pk]):
        now = timezone.now()
        nodes = plan(embedding.QUERIES["lock_due"], crowded.team_a.pk, now, 64)

    assert ("memory_embedding", "memory_embedding_due") in scans(nodes)
    ours = [node for node in nodes if node.get("Relation Name") == "memory_embedding"]
    assert not any(node["Node Type"] == "Seq Scan" for node in ours)
    assert max(node["Actual Rows"] for node in ours) == 1


def test_question_reads_nothing_of_entries_more_than_without_meaning(
    crowded: Cast, settings: Any
) -> None:
    """One statement more, whatever the namespace's size."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def asked() -> list[str]:
        with CaptureQueriesContext(connection) as made:
            services.recall(
                at_door(crowded.alice), namespace="global:p3", query_text="ship", top_k=5
            )
        return [one["sql"] for one in made.captured_queries]

    asked()
    with_meaning = asked()
    settings.MEMORY_EMBEDDER = None
    without = asked()

    assert sum("memory_embedding" in sql for sql in with_meaning) == 1
    assert not any("memory_embedding" in sql for sql in without)
    # What it finds by meaning alone has to be fetched as well.
    assert len(with_meaning) - len(without) in (1, 2)
