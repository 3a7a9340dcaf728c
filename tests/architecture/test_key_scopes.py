"""The permissions that the description of the API names for keys let a key in, and one without them is kept out."""

from collections.abc import Sequence
from typing import Any

import pytest

from accounts.roles import SCOPES, SERVICE_SCOPES
from config.http.key_scopes import get_scopes
from tests.architecture.matrix_core import PARAMETER, Row
from tests.architecture.matrix_objects import CANARY_A, ROWS
from tests.architecture.test_access_matrix import (
    Rows,
    about,
    answer_of,
    make,
    together,
    undone,
)
from tests.architecture.world import World, world
from tests.support.cast import KeyClient, make_key


pytestmark = pytest.mark.django_db

ALL = (*SCOPES, *SERVICE_SCOPES)
UNRELATED = ("audit:read",)
# They undo what the key may write to, which is nothing, and say what a file has.
HARMLESS = {"POST api/v1/memory/runs/<uuid:run_id>/undo", "POST api/v1/memory/import"}
API_ROWS = [row for row in ROWS if row.route.startswith("api/v1/")]


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Any:
    with django_db_blocker.unblock(), world(of_both=False) as there:
        yield there


def scopes_of(row: Row) -> tuple[str, ...] | None:
    scopes = get_scopes(row.method, PARAMETER.sub(r"{\1}", row.route.removeprefix("api/v1")))
    is_filter = row.method == "GET" and "workflow" in row.ids
    return (*scopes, "workflows:read") if scopes and is_filter else scopes


@pytest.mark.parametrize("rows", together(API_ROWS), ids=about)
def test_key_is_let_in_by_the_permissions_that_are_named(rows: Rows, made: World) -> None:
    with undone():
        values = make(rows[0], made.cast.alice, CANARY_A)
        whole = ask_all(made, rows, values, [ALL] * len(rows))
        named = ask_all(made, rows, values, [scopes_of(row) or UNRELATED for row in rows])
        others = ask_all(made, rows, values, [UNRELATED] * len(rows))

    wrong: list[tuple[object, ...]] = []
    for row, all_, some, other in zip(rows, whole, named, others, strict=True):
        scopes = scopes_of(row)
        if scopes is None:
            wrong += [(row.name, "is done by a key", all_)] if all_ < 400 else []
        elif some != all_:
            wrong.append((row.name, scopes, some, all_))
        elif scopes and row.method != "GET" and other < 400 and row.name not in HARMLESS:
            wrong.append((row.name, "is done without a permission", other, all_))
    assert wrong == []


def ask_all(
    made: World, rows: Rows, values: dict[str, Any], scopes: Sequence[tuple[str, ...]]
) -> list[int]:
    clients = {
        each: KeyClient(*make_key(made.cast, made.cast.alice, scopes=set(each)))
        for each in set(scopes)
    }
    return [
        answer_of(clients[each], row, values).status_code
        for each, row in zip(scopes, rows, strict=True)
    ]
