"""Every route × six principals × every id. A route without a row fails with its name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from tests.architecture.matrix_core import METHODS, PARAMETER, Route, Row, ask, fits, routes
from tests.architecture.matrix_objects import CANARY_A, CANARY_B, FAMILIES, OBJECTS, ROWS
from tests.architecture.world import World, world
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Carol's team has one of everything before anybody asks."""
    with django_db_blocker.unblock(), world("theirs", of_both=False) as there:
        yield there


def in_family(path: str) -> bool:
    return path.startswith(FAMILIES) or path == "api/v1/"  # the API's root answers 404 to all


def test_route_without_a_row_fails_the_build():
    known = {(row.route, row.method) for row in ROWS}
    paths = {row.route for row in ROWS}
    missing = []
    for route in routes():
        if in_family(route.path):
            continue
        if route.methods is None:
            missing += [] if route.path in paths else [route.path]
        else:
            missing += [f"{m} {route.path}" for m in route.methods if (route.path, m) not in known]

    assert missing == []


def test_row_without_a_route_fails_the_build():
    paths = {route.path for route in routes()}

    assert [row.name for row in ROWS if row.route not in paths] == []


def test_row_with_an_id_nobody_can_make_fails_the_build():
    unknown = [
        row.name
        for row in ROWS
        if set(row.ids.values()) - set(OBJECTS) or set(PARAMETER.findall(row.route)) - set(row.ids)
    ]

    assert unknown == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_asked_by_each_principal_answers_as_the_table_says(row: Row, made: World):
    clients = made.principals()
    values = make(row, made.cast.alice, CANARY_A)
    wrong, leaks = {}, []
    for principal, outcome in row.outcomes.items():
        with undone():
            answer = ask(clients[principal], row, values)
            if not fits(outcome, answer):
                wrong[principal] = (outcome, answer.status_code, answer.content[:200])
            stranger = principal in ("anonymous", "outsider", "other team's key")
            if (
                stranger
                and answer.status_code >= 400
                and CANARY_A.lower().encode() in body_of(answer)
            ):
                leaks.append(principal)

    assert (wrong, leaks) == ({}, [])


NAMING = [(row, name) for row in ROWS for name in row.ids]


@pytest.mark.parametrize(("row", "name"), NAMING, ids=lambda value: getattr(value, "name", value))
def test_id_of_another_team_named_by_an_admin_is_not_there(row: Row, name: str, made: World):
    own = make(row, made.cast.alice, CANARY_A)

    answer = ask(made.principals()["admin"], row, {**own, name: made.theirs[row.ids[name]]})

    assert answer.status_code == row.foreign_as(name)
    assert row.foreign_as(name) < 400 or CANARY_B.lower().encode() not in body_of(answer)


LISTS = [row for row in ROWS if row.method == "GET" and row.outcomes["admin"] == "200"]


@pytest.mark.parametrize("row", LISTS, ids=lambda row: row.name)
def test_page_read_by_a_member_shows_nothing_of_another_team(row: Row, made: World):
    answer = ask(made.principals()["admin"], row, make(row, made.cast.alice, CANARY_A))

    assert answer.status_code == 200
    assert CANARY_B.lower().encode() not in body_of(answer)


# A route without any row is named by the first test already.
PLAIN = [r for r in routes() if r.methods is None and any(row.route == r.path for row in ROWS)]


@pytest.mark.parametrize("route", PLAIN, ids=lambda route: route.path)
def test_method_without_a_row_is_refused(route: Route, made: World):
    rows = {row.method: row for row in ROWS if row.route == route.path}
    some = next(iter(rows.values()))
    values = make(some, made.cast.alice, CANARY_A)
    admin = made.principals()["admin"]
    answers = {}
    for method in METHODS:
        if method not in rows:
            with undone():
                row = Row(method, route.path, some.expect, some.ids)
                answers[method] = ask(admin, row, values).status_code

    assert set(answers.values()) <= {405}


def family(prefix: str) -> list[Route]:
    return [r for r in routes() if r.path.startswith(prefix) and "(?P" not in r.path]


@pytest.mark.parametrize("route", family("admin/"), ids=lambda route: route.path)
def test_admin_route_asked_by_members_sends_them_to_sign_in(route: Route, made: World):
    path = "/" + PARAMETER.sub("1", route.path)
    answers = {who: client.get(path, follow=False) for who, client in made.principals().items()}
    let_in = [who for who, answer in answers.items() if answer.status_code == 200]

    assert let_in == ([] if route.path != "admin/login/" else list(answers))


@pytest.mark.parametrize("prefix", [p for p in FAMILIES if p not in ("admin/", "static/")])
def test_family_route_asked_by_anyone_tells_nothing_of_a_team(prefix: str, made: World):
    for maker in OBJECTS.values():
        maker(made.cast.alice, CANARY_A)
    clients = made.principals()
    for route in family(prefix):
        for who in ("anonymous", "outsider", "other team's key"):
            answer = clients[who].get("/" + PARAMETER.sub("x", route.path))

            assert answer.status_code < 500, (who, route.path)
            assert CANARY_A.lower().encode() not in body_of(answer), (who, route.path)


def make(row: Row, person: Person, canary: str) -> dict[str, Any]:
    return {name: OBJECTS[kind](person, canary) for name, kind in row.ids.items()}


def body_of(answer: Any) -> bytes:
    if answer.streaming:
        return b""
    content: bytes = answer.content
    return content.lower()


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
