"""Databases where a team has one of everything already: made once a run, copied for each worker, rolled back a test.

One of everything takes seconds, and hundreds of tests want it. It is committed, in a database of its own, rather than
kept in one transaction as long as a module: there PostgreSQL's `now()` would stand still.
"""

import fcntl
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.test.client import ClientHandler

from tests.architecture.matrix_objects import CANARY_A, CANARY_B, OBJECTS
from tests.support import servers
from tests.support.cast import Cast, Person, make_cast, make_key, signed_in
from tests.support.database import database_name


# A client would load the middleware anew, which takes longer than a refusal.
_BROWSERS = ClientHandler(enforce_csrf_checks=False)
_PROGRAMS = ClientHandler(enforce_csrf_checks=True)


@dataclass(frozen=True)
class World:
    """Carol's team has one of everything, `theirs` by the maker's name; alice's too where it was asked for."""

    cast: Cast
    theirs: Mapping[str, Any]
    sessions: Mapping[str, str]
    stranger_key: str

    def principals(self) -> dict[str, Client]:
        """Fresh browsers and programmes, signed in long ago."""
        program = Client(
            headers={"Authorization": f"Bearer {self.stranger_key}"}, enforce_csrf_checks=True
        )
        program.handler = _PROGRAMS
        return {
            "anonymous": self._browser(None),
            "outsider": self._browser("carol"),
            "viewer": self._browser("vic"),
            "editor": self._browser("bob"),
            "admin": self._browser("ada"),
            "other team's key": program,
        }

    def _browser(self, name: str | None) -> Client:
        client = Client()
        client.handler = _BROWSERS
        if name is not None:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[name]
        return client


# This process's, by whether both teams have one of everything.
_KEPT: dict[bool, World] = {}


@contextmanager
def world(*, of_both: bool) -> Iterator[World]:
    """This process's connections lead there until the block ends. Nobody may be within a transaction, nor commit."""
    kind = "both" if of_both else "theirs"
    database = f"{database_name()}_{kind}"
    if of_both not in _KEPT:
        made = _provide(f"world_{kind}", of_both=of_both)
        servers.clone_database(database, template=f"world_{kind}")
        _KEPT[of_both] = made
    servers.use_database(database)
    try:
        yield _KEPT[of_both]
    finally:
        servers.use_database(database_name())


def _provide(name: str, *, of_both: bool) -> World:
    """Return what is in the database of this name, which the first process of the run to need it makes for all."""
    content = servers.HOME / f"{name}.pickle"
    with (servers.HOME / "world.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not content.exists():
            servers.clone_database(name)
            servers.use_database(name)
            try:
                made = _made(of_both)
            finally:
                servers.use_database(database_name())
            content.write_bytes(pickle.dumps(made))
    stored: World = pickle.loads(content.read_bytes())
    return stored


def _made(of_both: bool) -> World:
    with transaction.atomic():
        cast = make_cast()
        theirs = {}
        for name, maker in OBJECTS.items():
            if of_both:
                maker(cast.alice, CANARY_A)
            theirs[name] = maker(cast.carol, CANARY_B)
        made = World(cast, theirs, _sessions(cast), make_key(cast, cast.carol)[1])
        # What would be sent to a worker is sent by no test that is rolled back either.
        connection.run_on_commit.clear()
    return made


def _sessions(cast: Cast) -> dict[str, str]:
    return {name: _session(person) for name, person in cast.people.items()}


def _session(person: Person) -> str:
    return str(signed_in(person.user).cookies[settings.SESSION_COOKIE_NAME].value)
