"""The cast: alice owns team A; ada is its admin, bob an editor, vic a viewer; carol is a stranger who owns team B.

Made through the services, as people make them: once a process, and each test repeats what they wrote, with ids and times of
its own. Each person brings a principal, a signed-in client, and the team's key.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.crypto import get_random_string

from config.ids import uuid7


_UUID = re.compile(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?7[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?\+00:00")


@dataclass(frozen=True)
class Person:
    """Somebody of the cast. `client` is a browser that is signed in; `principal` is what services want."""

    user: Any
    team: Any

    @property
    def principal(self) -> Any:
        from accounts.principals import load_user_principal

        return load_user_principal(self.user)

    @property
    def client(self) -> Client:
        return signed_in(self.user)


@dataclass(frozen=True)
class Cast:
    team_a: Any
    team_b: Any
    alice: Person
    ada: Person
    bob: Person
    vic: Person
    carol: Person

    @property
    def people(self) -> dict[str, Person]:
        return {name: getattr(self, name) for name in ("alice", "ada", "bob", "vic", "carol")}


def signed_in(user: Any) -> Client:
    """A browser with the session that a sign-in leaves behind: one row instead of all that `force_login` does."""
    store = SessionStore()
    content = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: "allauth.account.auth_backends.AuthenticationBackend",
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    session = store.model(
        session_key=get_random_string(32, VALID_KEY_CHARS),
        session_data=store.encode(content),
        expire_date=store.get_expiry_date(),
    )
    session.save(force_insert=True)
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


def make_cast() -> Cast:
    from accounts.models import Role, User
    from accounts.services import add_member, create_team

    def person(name: str) -> Any:
        return User.objects.create_user(f"{name}@example.org", name=name.title())

    alice, carol = person("alice"), person("carol")
    team_a, team_b = (
        create_team(owner=alice, name="Team A"),
        create_team(owner=carol, name="Team B"),
    )
    members = {}
    for name, role in {"ada": Role.ADMIN, "bob": Role.EDITOR, "vic": Role.VIEWER}.items():
        members[name] = Person(person(name), team_a)
        add_member(team=team_a, user=members[name].user, role=role)
    return Cast(team_a, team_b, alice=Person(alice, team_a), carol=Person(carol, team_b), **members)


@dataclass(frozen=True)
class RecordedCast:
    """The cast as the services made it, and the statements in which they wrote it."""

    cast: Cast
    statements: str

    def repeat(self) -> Cast:
        """Write the cast anew, in one statement instead of forty."""
        former_ids = sorted({UUID(text) for text in _UUID.findall(self.statements)})
        ids = {former: uuid7() for former in former_ids}
        now = timezone.now()
        statements = _UUID.sub(lambda found: str(ids[UUID(found[0])]), self.statements)
        with connection.cursor() as cursor:
            cursor.execute(_TIME.sub(now.isoformat(), statements))
        made = deepcopy(self.cast)
        for row, time in [
            *((team, "created_at") for team in (made.team_a, made.team_b)),
            *((person.user, "date_joined") for person in made.people.values()),
        ]:
            row.pk = ids[row.pk]
            setattr(row, time, now)
        return made


def record_cast() -> RecordedCast:
    """Make the cast through the services, and take it back."""
    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        cast = make_cast()
        transaction.set_rollback(True)
    written = [
        query["sql"]
        for query in captured
        if query["sql"].startswith("INSERT") or "set_config" in query["sql"]
    ]
    return RecordedCast(cast, ";".join(written))


@pytest.fixture(scope="session")
def recorded_cast(django_db_setup: None, django_db_blocker: Any) -> RecordedCast:
    with django_db_blocker.unblock():
        return record_cast()


@pytest.fixture
def cast(db: None, recorded_cast: RecordedCast) -> Cast:
    return recorded_cast.repeat()


@pytest.fixture
def alice(cast: Cast) -> Person:
    return cast.alice


@pytest.fixture
def ada(cast: Cast) -> Person:
    return cast.ada


@pytest.fixture
def bob(cast: Cast) -> Person:
    return cast.bob


@pytest.fixture
def vic(cast: Cast) -> Person:
    return cast.vic


@pytest.fixture
def carol(cast: Cast) -> Person:
    return cast.carol


@pytest.fixture
def api_key(cast: Cast) -> Callable[..., Any]:
    """`api_key(person, scopes=…)` → a client that sends a fresh key of the person's team, `.secret` beside it.

    Only admins may issue keys, so the team's owner does.
    """

    def issue(person: Person, *, scopes: set[str] | None = None) -> KeyClient:
        return KeyClient(*make_key(cast, person, scopes=scopes))

    return issue


def make_key(cast: Cast, person: Person, *, scopes: set[str] | None = None) -> tuple[Any, str]:
    from accounts.roles import SCOPES
    from accounts.services import issue_key

    owner = cast.alice if person.team == cast.team_a else cast.carol
    return issue_key(
        principal=owner.principal, team=person.team, name="test", scopes=scopes or set(SCOPES)
    )


class KeyClient(Client):
    """A programme: no session, no cookie, only its key."""

    def __init__(self, key: Any, secret: str) -> None:
        super().__init__(headers={"Authorization": f"Bearer {secret}"}, enforce_csrf_checks=True)
        self.key, self.secret = key, secret
