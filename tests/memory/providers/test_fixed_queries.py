from uuid import uuid4

import pytest
from django.db import connection

from memory.providers.postgres.fixed_queries import MAX_LIST_LENGTH, fetch_prepared
from tests.support.cases import for_each


pytestmark = pytest.mark.django_db(transaction=True)


@for_each("length, is_prepared", [(MAX_LIST_LENGTH, True), (MAX_LIST_LENGTH + 1, False)])
def test_statement_is_prepared_unless_a_list_is_long(length: int, is_prepared: bool):
    mark = uuid4().int

    rows = fetch_prepared(f"SELECT count(*) AS c{mark} FROM unnest(%s::int[])", [[7] * length])

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s", [f"%c{mark}%"]
        )
        assert (rows, cursor.fetchone()) == ([(length,)], (int(is_prepared),))
