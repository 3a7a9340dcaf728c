"""Whether a database can keep vectors is found out without a migration failing for it."""

import pytest
from django.db import connection

from memory.embedding import vector_column


pytestmark = pytest.mark.django_db

# Where nothing of the extension is seen, as it lies in the schema that is left out.
ELSEWHERE = "SET LOCAL search_path = pg_temp, pg_catalog"


def test_server_that_lists_the_extension_and_refuses_it_is_one_without() -> None:
    creating = vector_column.QUERIES["create_extension"]
    refusing = creating.replace(
        "CREATE EXTENSION IF NOT EXISTS vector", "RAISE feature_not_supported"
    )
    assert refusing != creating
    with connection.cursor() as cursor:
        cursor.execute(ELSEWHERE)
        cursor.execute(refusing)
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_column_whose_type_the_connection_does_not_see_is_not_there() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ELSEWHERE)
        cursor.execute("CREATE TEMP TABLE memory_embedding (vector int)")
        assert not vector_column._has_column("default")


@pytest.mark.parametrize(
    ("offers", "installed", "could"),
    [
        ("0.8.1", None, True),
        ("0.10.0", None, True),
        ("0.6.2", None, False),
        ("0.8.0", "0.6.2", False),
    ],
)
def test_only_a_version_that_has_the_type_could_be(
    offers: str, installed: str | None, could: bool
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(ELSEWHERE)
        cursor.execute(
            "CREATE TEMP TABLE pg_available_extensions AS SELECT 'vector'::name AS name,"
            " %s::text AS default_version, %s::text AS installed_version",
            [offers, installed],
        )
    assert vector_column.can_exist("default") is could
