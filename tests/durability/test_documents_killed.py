"""A worker is killed while it makes the pages of an uploaded document: the next one makes all of them, once."""

from typing import Any

from memory import services
from memory.services.documents.uploading import upload_document
from memory.tasks import read_waiting_documents
from tests.durability.conftest import Cluster
from tests.memory.services.conftest import at_door
from tests.memory.services.documents.uploading import BASE, TEXT
from tests.support.cast import Cast


def test_document_is_ready_once_after_its_worker_was_killed(
    cluster: Cluster, cast: Cast, settings: Any
) -> None:
    cluster.environment["FILES_DIR"] = str(settings.FILES_DIR)
    caller = at_door(cast.alice)
    cluster.start("first")
    with cluster.db.transaction():
        # The worker has read the document, and waits here before it writes the first page.
        cluster.db.execute("lock table memory_entry in share row exclusive mode")
        upload_document(caller, namespace=BASE, name="Handbook.md", content=TEXT.encode())
        cluster.until(lambda: is_waiting(cluster))
        cluster.kill("first")
    assert read_upload(cluster) == ("running", 1)
    assert services.get_knowledge_base(caller, namespace=BASE).pages == ()
    # As if its time had come: the claim of a worker that is gone ends by itself.
    cluster.db.execute("update memory_documentupload set held_until = now() - interval '1 hour'")

    cluster.start("second")
    read_waiting_documents.delay()
    cluster.until(lambda: read_upload(cluster)[0] == "done")

    assert read_upload(cluster) == ("done", 2)
    pages = services.get_knowledge_base(caller, namespace=BASE).pages
    assert [page.title for page in pages] == ["Handbook › Leave › Illness", "Handbook › Leave › Vacation"]  # fmt: skip
    assert count(cluster, "memory_entry") == 3  # two pages, and the document that is their source
    assert count(cluster, "workflows_storedfile") == 1
    read_waiting_documents.delay()  # and nothing is left for another one
    assert read_upload(cluster) == ("done", 2)


def is_waiting(cluster: Cluster) -> bool:
    """Return whether a session of a worker waits for the lock.

    The table has the same number in the databases of other tests, which are copies of the same one.
    """
    query = (
        "select 1 from pg_locks where relation = 'memory_entry'::regclass and not granted"
        " and database = (select oid from pg_database where datname = current_database())"
    )
    return cluster.db.execute(query).fetchone() is not None


def read_upload(cluster: Cluster) -> tuple[str, int]:
    row = cluster.db.execute("select status, attempts from memory_documentupload").fetchone()
    assert row is not None
    return str(row[0]), int(row[1])


def count(cluster: Cluster, table: str) -> int:
    row = cluster.db.execute(f"select count(*) from {table}").fetchone()
    assert row is not None
    return int(row[0])
