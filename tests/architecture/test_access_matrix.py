"""Every route × six principals × every id. A route without a row fails with its name."""

from collections.abc import Iterable, Iterator
from itertools import chain, cycle, groupby, islice, pairwise
from typing import Any
from zlib import crc32

import pytest
from django.db import transaction

from tests.architecture.matrix_core import (
    METHODS,
    PARAMETER,
    Route,
    Row,
    ask,
    fits,
    has,
    routes,
    undone,
)
from tests.architecture.matrix_keys import Wrong, find_unbound, find_wrong_scopes
from tests.architecture.matrix_objects import CANARY_A, CANARY_B, FAMILIES, OBJECTS, ROWS
from tests.architecture.outside import Door, door
from tests.architecture.world import World, world
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

__all__ = ["door"]  # the fixture

STRANGERS = ("anonymous", "outsider", "other team's key")
MEMBERS = ("viewer", "editor", "admin")  # each may do what those before may

# Of the same objects: these are made once, and every request is taken back after its answer.
Rows = list[Row]


def together(rows: Iterable[Row]) -> list[Rows]:
    return [list(found) for _ids, found in groupby(sorted(rows, key=ids_of), key=ids_of)]


def ids_of(row: Row) -> list[tuple[str, str]]:
    return sorted(row.ids.items())


def about(rows: Rows) -> str:
    return ", ".join(f"{name}={kind}" for name, kind in rows[0].ids.items()) or "nothing"


@pytest.fixture(scope="module", autouse=True)
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Carol's team has one of everything before anybody asks."""
    with django_db_blocker.unblock(), world(of_both=False) as there:
        yield there


def in_family(path: str) -> bool:
    # The roots of the APIs answer the same to all.
    return path.startswith(FAMILIES) or path in ("api/v1/", "hooks/", "openai/v1/", "v1/")


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


@pytest.mark.parametrize("rows", together(ROWS), ids=about)
@pytest.mark.parametrize(
    "everybody",
    [pytest.param(False, id="by day"), pytest.param(True, id="all", marks=pytest.mark.nightly)],
)
def test_rows_answer_as_the_table_says(rows: Rows, everybody: bool, made: World, door: Door):
    """Rows of the same objects are asked together, as most of the time goes into making these.

    1. Each principal is answered as the row says, and nobody waits for what is outside inside a transaction. By day some
       of them are left out: see `choose_outcomes`.
    2. What another team has isn't there for an admin who names it. By day this is left out where the outsider has asked for
       it already.
    3. Methods without a row are refused, by day one of each route.
    4. A key is let in by the permissions that the description names for it, and kept out without them.
    5. A key that is bound to a workflow finds nothing of the others.
    """
    values = make(rows[0], made.cast.alice, CANARY_A)

    wrong = [
        *(each for row in rows for each in find_misfits(row, values, made, door, everybody)),
        *(each for row in rows for each in find_foreign(row, values, made, everybody)),
        *find_methods(rows, values, made, most=len(METHODS) if everybody else 1),
        *find_wrong_scopes(rows, values, made),
        *find_unbound(rows, values, made, CANARY_A),
    ]

    assert wrong == []


def find_misfits(
    row: Row, values: dict[str, Any], made: World, door: Door, everybody: bool
) -> Iterator[Wrong]:
    clients = made.principals()
    for principal, outcome in row.outcomes.items() if everybody else choose_outcomes(row).items():
        with undone(), door.watch() as waits:
            answer = ask(clients[principal], row, values)
        if not fits(outcome, answer):
            yield row.name, principal, outcome, answer.status_code, answer.content[:200]
        elif principal in STRANGERS and answer.status_code >= 400 and has(answer, CANARY_A):
            yield row.name, principal, "was told of the team"
        elif principal == "admin" and is_page(row) and has(answer, CANARY_B):
            yield row.name, principal, "was shown another team"
        if any(waits):
            yield row.name, principal, "waits for what is outside inside its transaction"


REFUSALS = {"-", "401", "403", "404"}
# The one is a person and the other one a program of another team; in both cases the team decides.
OTHER_TEAM = ("outsider", "other team's key")


def choose_outcomes(row: Row) -> dict[str, str]:
    """Return those of the strangers, and of the members on both sides of a change.

    Where strangers have the same reason to be answered alike, they take turns: nobody and a key at a page, of which each takes
    a session only; an outsider and a key of theirs at an address of the API that names what their team doesn't have.
    Where all members are answered alike, the one who may do most is asked for what is refused, and the one who may do least
    for anything else. An admin looks at every page, which may show another team.
    """
    outcomes = row.outcomes
    changes = [pair for pair in pairwise(MEMBERS) if outcomes[pair[0]] != outcomes[pair[1]]]
    decisive = MEMBERS[-1] if outcomes[MEMBERS[0]] in REFUSALS else MEMBERS[0]
    members = {*chain.from_iterable(changes)} or {decisive}
    chosen = {*choose_strangers(row), *members, *(["admin"] if is_page(row) else [])}
    return {name: outcome for name, outcome in outcomes.items() if name in chosen}


def choose_strangers(row: Row) -> set[str]:
    alike = OTHER_TEAM if row.is_api else ("anonymous", "other team's key")
    if {row.outcomes[name] for name in alike} != {"404" if row.is_api else "-"}:
        return {*STRANGERS}
    return {*STRANGERS} - {alike[crc32(row.name.encode()) % 2]}


@pytest.mark.parametrize(
    ("route", "expect", "alike"),
    [
        ("any/{}/", "- 404 200 200 200 -", {"anonymous", "other team's key"}),
        ("any/{}/", "200 200 200 200 200 200", set()),
        ("any/{}/", "- 404 200 200 200 404", set()),
        ("api/v1/{}", "- 404 200 200 200 404", {*OTHER_TEAM}),
        ("api/v1/{}", "- 200 200 200 200 200", set()),
        ("api/v1/{}", "- 404 200 200 200 403", set()),
    ],
)
def test_strangers_with_the_same_reason_take_turns_by_day(route: str, expect: str, alike: set[str]):
    rows = [Row("GET", route.format(number), expect) for number in range(20)]
    left_out = {frozenset({*STRANGERS} - choose_strangers(row)) for row in rows}

    assert left_out == ({frozenset({name}) for name in alike} or {frozenset()})


@pytest.mark.parametrize(
    ("method", "expect", "members"),
    [
        ("POST", "- 404 403 302 302 -", {"viewer", "editor"}),
        ("GET", "- 404 403 200 200 -", {"viewer", "editor", "admin"}),
        ("GET", "- 404 200 200 200 -", {"viewer", "admin"}),
        ("POST", "- 404 403 403 201 -", {"editor", "admin"}),
        ("POST", "- 404 404 404 404 -", {"admin"}),
        ("POST", "- 404 422 422 422 -", {"viewer"}),
        ("POST", "- 404 302 302 302 -", {"viewer"}),
    ],
)
def test_members_on_whom_an_answer_depends_are_asked_by_day(
    method: str, expect: str, members: set[str]
):
    chosen = choose_outcomes(Row(method, "any/", expect))

    assert {*chosen} - {*STRANGERS} == members


def find_foreign(row: Row, own: dict[str, Any], made: World, everybody: bool) -> Iterator[Wrong]:
    for name, kind in row.ids.items():
        if not everybody and is_asked_by_outsider(row):
            continue
        with undone():
            answer = ask(made.principals()["admin"], row, {**own, name: made.theirs[kind]})
        if answer.status_code != row.foreign_as(name):
            yield row.name, name, answer.status_code, answer.content[:200]
        elif row.foreign_as(name) >= 400 and has(answer, CANARY_B):
            yield row.name, name, "was told of the other team"


def is_asked_by_outsider(row: Row) -> bool:
    """Tell whether the outsider, who names the only id as well, is to get the same answer for the same reason."""
    return len(row.ids) == 1 and {row.outcomes["outsider"]} == {
        str(row.foreign_as(name)) for name in row.ids
    }


# A route without any row is named by the first test already.
PLAIN = {r.path for r in routes() if r.methods is None}
FIRSTS = {row.route: row for row in reversed(ROWS) if row.route in PLAIN}


def find_methods(rows: Rows, values: dict[str, Any], made: World, *, most: int) -> Iterator[Wrong]:
    """Ask each route whose first row is among these with methods that have no row. The routes take turns with them."""
    firsts = [row for row in rows if FIRSTS.get(row.route) is row]
    for number, first in enumerate(firsts):
        known = {row.method for row in ROWS if row.route == first.route}
        missing = [method for method in METHODS if method not in known]
        for method in islice(cycle(missing), number, number + min(most, len(missing))):
            row = Row(method, first.route, first.expect, first.ids)
            with undone():
                answer = ask(made.principals()["admin"], row, values)
            if answer.status_code != 405:
                yield row.name, "has no row", answer.status_code


def test_route_that_calls_a_provider_waits_outside_its_transaction(made: World, door: Door):
    """The door sees the calls of a route: the test above needs some that it could find."""
    (row,) = (row for row in ROWS if row.name == "POST api/v1/providers/<uuid:provider_id>/test")
    values = make(row, made.cast.alice, CANARY_A)

    with undone(), door.watch() as waits:
        ask(made.principals()["admin"], row, values)

    assert waits
    assert not any(waits)


def test_call_inside_a_transaction_is_seen(door: Door):
    with door.watch() as waits, transaction.atomic():
        door.note_call()

    assert waits == [True]


def family(prefix: str) -> list[Route]:
    return [r for r in routes() if r.path.startswith(prefix) and "(?P" not in r.path]


ADMIN = sorted({route.path.split("/")[1] for route in family("admin/")})
OURS = ("accounts", "memory", "workflows")
OPEN = {"logout": {"admin/logout/"}}  # the latter wants another method


@pytest.mark.parametrize("app", ADMIN)
@pytest.mark.parametrize(
    "whole",
    [pytest.param(False, id="in turn"), pytest.param(True, id="all", marks=pytest.mark.nightly)],
)
def test_admin_routes_asked_by_members_send_them_to_sign_in(app: str, whole: bool, made: World):
    """No role in a team matters here: by day, pages of ours are asked by nobody and by one member after another."""
    clients = made.principals()
    anonymous, *members = clients
    turn, most = cycle(members), 1 if app in OURS and not whole else len(members)
    let_in = set()
    for route in family("admin/"):
        if route.path.split("/")[1] == app:
            path = "/" + PARAMETER.sub("1", route.path)
            for who in (anonymous, *islice(turn, most)):
                answer = clients[who].get(path, follow=False)
                if "/login/" not in answer.get("Location", ""):
                    let_in.add(route.path)

    assert let_in == OPEN.get(app, set())


def test_family_routes_asked_by_anyone_tell_nothing_of_a_team(made: World):
    for maker in OBJECTS.values():
        maker(made.cast.alice, CANARY_A)
    clients = made.principals()
    for prefix in FAMILIES:
        for route in family(prefix) if prefix not in ("admin/", "static/") else ():
            for who in STRANGERS:
                answer = clients[who].get("/" + PARAMETER.sub("x", route.path))

                assert answer.status_code < 500, (who, route.path)
                assert not has(answer, CANARY_A), (who, route.path)


def make(row: Row, person: Person, canary: str) -> dict[str, Any]:
    return {name: OBJECTS[kind](person, canary) for name, kind in row.ids.items()}


def is_page(row: Row) -> bool:
    """What a member may read, of the API too."""
    return row.method == "GET" and row.outcomes["admin"] == "200"
