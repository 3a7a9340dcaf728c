"""The permissions that the description of the API names for keys let a key in, and one without them is kept out."""

from collections.abc import Iterator
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
        keys = Keys(made)
        wrong = [
            (row.name, *each)
            for row in rows
            for each in find_misfits(row, scopes_of(row), values, keys)
        ]

    assert wrong == []


class Keys(dict[tuple[str, ...], KeyClient]):
    """A key for each set of permissions that is asked for."""

    def __init__(self, made: World) -> None:
        self._made = made

    def __missing__(self, scopes: tuple[str, ...]) -> KeyClient:
        cast = self._made.cast
        self[scopes] = KeyClient(*make_key(cast, cast.alice, scopes=set(scopes)))
        return self[scopes]


def find_misfits(
    row: Row, scopes: tuple[str, ...] | None, values: dict[str, Any], keys: Keys
) -> Iterator[tuple[object, ...]]:
    def ask(permissions: tuple[str, ...]) -> int:
        return int(answer_of(keys[permissions], row, values).status_code)

    whole = ask(ALL)
    if scopes is None:
        if whole < 400:
            yield "is done by a key", whole
    elif (named := ask(scopes or UNRELATED)) != whole:
        yield scopes, named, whole
    elif needs_a_permission(row, scopes) and (other := ask(UNRELATED)) < 400:
        yield "is done without a permission", other, whole


def needs_a_permission(row: Row, scopes: tuple[str, ...]) -> bool:
    """Tell whether the row is refused to a key without any of them. What is read may be empty instead."""
    return bool(scopes) and row.method != "GET" and row.name not in HARMLESS
