"""Sign-ins that are refused: answers of the wrong server, states that were used, and servers that describe others."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone
from mcp.server.auth.provider import AccessToken
from starlette.responses import JSONResponse, RedirectResponse, Response

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from config.env import env
from tests.fakes.http_server import FakeHttp
from tests.fakes.mcp_sign_in import SCOPE
from tests.workflows.tools.signed_in.conftest import (
    begin,
    come_back,
    count_attempts,
    reload,
    sign_in,
)
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.models import SignInAttempt, SignInStatus
from workflows.services import tools
from workflows.tools.mcp.sign_in.exchanges import MAX_BODY, open_exchanges
from workflows.tools.signed_in.attempts import delete_expired_attempts


pytestmark = pytest.mark.django_db

SERVER_METADATA = "/.well-known/oauth-authorization-server"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"
TOKEN_REQUEST = "POST /token"


def test_state_is_taken_once(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    come_back(cast.ada, parameters)

    with pytest.raises(NotFound):
        come_back(cast.ada, parameters)
    assert server.requests.count(TOKEN_REQUEST) == 1


def test_state_of_another_session_is_not_found(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))

    with pytest.raises(NotFound):
        come_back(cast.ada, parameters, session_key="another session")
    come_back(cast.ada, parameters)


@pytest.mark.parametrize("name", ["alice", "bob", "vic", "carol"])
def test_state_of_another_person_is_not_found(cast, connection, server, name):
    parameters = server.sign_in(begin(cast.ada, connection))

    with pytest.raises(NotFound):
        come_back(cast.people[name], parameters)
    assert TOKEN_REQUEST not in server.requests
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


@pytest.mark.parametrize("name", ["bob", "vic"])
def test_only_admins_sign_in_and_out(cast, signed_in, name):
    person = cast.people[name]

    with pytest.raises(NotAllowed):
        begin(person, signed_in)
    with pytest.raises(NotAllowed):
        tools.sign_out(person.principal, connection=signed_in)
    assert reload(signed_in).sign_in.status == SignInStatus.SIGNED_IN


def test_person_begins_anew_and_the_earlier_address_is_worthless(cast, connection, server):
    first = server.sign_in(begin(cast.ada, connection))
    second = server.sign_in(begin(cast.ada, connection))

    assert count_attempts(connection) == 1
    with pytest.raises(NotFound):
        come_back(cast.ada, first)
    come_back(cast.ada, second)


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
def test_answer_of_another_issuer_is_refused(cast, connection, server, issuer):
    parameters = {**server.sign_in(begin(cast.ada, connection)), "iss": issuer}

    with pytest.raises(InvalidValue, match="server that was asked"):
        come_back(cast.ada, parameters)
    assert TOKEN_REQUEST not in server.requests


def test_answer_without_issuer_is_refused_where_the_server_promised_one(cast, connection, server):
    server.metadata["authorization_response_iss_parameter_supported"] = True
    parameters = server.sign_in(begin(cast.ada, connection))
    without_issuer = {name: value for name, value in parameters.items() if name != "iss"}

    with pytest.raises(InvalidValue, match="server that was asked"):
        come_back(cast.ada, without_issuer)
    assert TOKEN_REQUEST not in server.requests


def test_error_of_the_server_is_told_without_invisible_characters(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    answer = {"state": parameters["state"], "error": "server_error"}

    with pytest.raises(InvalidValue) as error:
        come_back(cast.ada, {**answer, "error_description": "Come\u202e back\u200b later"})

    assert str(error.value) == "The server didn't sign you in: Come back later"


def test_person_who_takes_too_long_starts_again(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    with tenant([connection.team_id]):
        SignInAttempt.objects.unscoped().update(expires_at=timezone.now())

    with pytest.raises(InvalidValue, match="took too long"):
        come_back(cast.ada, parameters)
    assert TOKEN_REQUEST not in server.requests


def test_attempts_that_nobody_finishes_are_deleted(cast, connection):
    begin(cast.ada, connection)
    assert delete_expired_attempts() == 0
    with tenant([connection.team_id]):
        SignInAttempt.objects.unscoped().update(expires_at=timezone.now())

    assert delete_expired_attempts() == 1
    assert count_attempts(connection) == 0


def test_code_of_another_sign_in_is_worthless(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    other_code = server.sign_in(begin(cast.alice, connection))["code"]

    with pytest.raises(InvalidValue, match="invalid_grant"):
        come_back(cast.ada, {**parameters, "code": other_code})
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


# What the servers say of themselves → what the person is told.
DESCRIPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "resource on another host": ({"resource": "https://elsewhere.example/mcp"}, {}, "another server"),
    "resource of another path": ({"resource": "{origin}/other"}, {}, "another server"),
    "no authorization server": ({"authorization_servers": []}, {"issuer": "https://x.example"}, "another one"),
    "issuer of another": ({}, {"issuer": "https://elsewhere.example"}, "another one"),
    "issuer with a slash": ({}, {"issuer": "{origin}/"}, "another one"),
    "no PKCE": ({}, {"code_challenge_methods_supported": None}, "PKCE"),
    "plain PKCE": ({}, {"code_challenge_methods_supported": ["plain"]}, "PKCE"),
    "script to sign in": ({}, {"authorization_endpoint": "javascript:alert(1)"}, "doesn't say where"),
    "file for tokens": ({}, {"token_endpoint": "file:///etc/passwd"}, "doesn't say where"),
    "address that looks like another": ({}, {"authorization_endpoint": "http://bank.example@evil.example/"}, "user name"),
    "endless address": ({}, {"token_endpoint": "https://x.example/" + "y" * 5000}, "too long"),
}  # fmt: skip


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_description_that_does_not_fit_is_refused(cast, connection, server, name):
    resource, metadata, message = DESCRIPTIONS[name]
    server.resource_metadata = fill(resource, server.origin)
    server.metadata = fill(metadata, server.origin)

    with pytest.raises(InvalidValue, match=message):
        begin(cast.ada, connection)
    assert "POST /register" not in server.requests
    assert count_attempts(connection) == 0


def fill(values: dict[str, Any], origin: str) -> dict[str, Any]:
    return {
        name: value.format(origin=origin) if isinstance(value, str) else value
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254",
        "http://10.0.0.1/as",
        "http://[::ffff:10.0.0.1]",
        "http://metadata.internal.invalid",
        "http://[fd00:ec2::254]/as",
    ],
)
def test_authorization_server_at_a_private_address_is_refused(cast, connection, server, address):
    server.resource_metadata = {"authorization_servers": [address]}

    with pytest.raises(InvalidValue):
        begin(cast.ada, connection)
    assert count_attempts(connection) == 0


PRIVATE = "http://169.254.169.254/latest/meta-data"


def test_registration_at_a_private_address_is_refused(cast, connection, server):
    server.metadata["registration_endpoint"] = PRIVATE

    with pytest.raises(InvalidValue, match="NET_ALLOW"):
        begin(cast.ada, connection)


def test_code_is_not_sent_to_a_private_address(cast, connection, server):
    server.metadata["token_endpoint"] = PRIVATE
    parameters = server.sign_in(begin(cast.ada, connection))

    with pytest.raises(InvalidValue, match="NET_ALLOW"):
        come_back(cast.ada, parameters)


def test_tokens_are_not_sent_to_a_private_address_to_be_revoked(cast, connection, server):
    server.metadata["revocation_endpoint"] = PRIVATE
    sign_in(cast.ada, connection, server)

    assert not tools.sign_out(cast.ada.principal, connection=reload(connection))
    assert reload(connection).sign_in.access_token is None


def answer_hostile(kind: str, target: str) -> Callable[[], Response]:
    answers: dict[str, Callable[[], Response]] = {
        "redirect": lambda: RedirectResponse(target),
        "huge": lambda: Response(b"[" * (MAX_BODY + 1), media_type="application/json"),
        "nested": lambda: Response(b'{"a":' * 40_000, media_type="application/json"),
        "no JSON": lambda: Response(b"\x00\xff", media_type="application/json"),
        "list": lambda: JSONResponse(["issuer"]),
        "numbers": lambda: JSONResponse({"resource": 1, "issuer": 2}),
        "error": lambda: Response(status_code=500),
    }
    return answers[kind]


KINDS = ("redirect", "huge", "nested", "no JSON", "list", "numbers", "error")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [RESOURCE_METADATA, SERVER_METADATA, "/register"])
def test_hostile_answer_is_an_error_and_leads_nowhere(cast, connection, server, path, kind):
    with FakeHttp() as inner:
        server.on_request[path] = answer_hostile(kind, inner.base_url)
        if path == RESOURCE_METADATA:  # the same at every address where it may be
            server.on_request["/.well-known/oauth-protected-resource"] = server.on_request[path]
            server.metadata["issuer"] = "https://elsewhere.example"

        with pytest.raises(InvalidValue):
            begin(cast.ada, connection)

        assert not inner.requests
    assert count_attempts(connection) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_answer_to_the_code_stores_nothing(cast, connection, server, kind):
    with FakeHttp() as inner:
        parameters = server.sign_in(begin(cast.ada, connection))
        server.on_request["/token"] = answer_hostile(kind, inner.base_url)

        with pytest.raises(InvalidValue):
            come_back(cast.ada, parameters)

        assert not inner.requests
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "x" * 40_000},
        {"access_token": "a\r\nX-Evil: 1"},
        {"access_token": "käse"},
        {"access_token": "token", "token_type": "mac"},
        {"access_token": "token", "refresh_token": "r\x00"},
        {"token_type": "Bearer"},
    ],
)
def test_token_that_cannot_be_sent_is_not_stored(cast, connection, server, answer):
    parameters = server.sign_in(begin(cast.ada, connection))
    server.on_request["/token"] = lambda: JSONResponse({"token_type": "Bearer", **answer})

    with pytest.raises(InvalidValue):
        come_back(cast.ada, parameters)
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


@pytest.mark.parametrize("seconds", [3600, 10**18])
def test_lifetime_of_a_token_is_bounded(cast, connection, server, seconds):
    parameters = server.sign_in(begin(cast.ada, connection))
    server.tokens.append(
        AccessToken(token="token", client_id="any", scopes=[SCOPE], resource=server.url)
    )
    answer = {"access_token": "token", "token_type": "bearer", "expires_in": seconds}
    server.on_request["/token"] = lambda: JSONResponse(answer)
    before = timezone.now()

    come_back(cast.ada, parameters)

    longest = timezone.now() + dt.timedelta(days=366)
    assert before < reload(connection).sign_in.expires_at < longest


def test_server_elsewhere_cannot_name_this_machine(monkeypatch):
    monkeypatch.setattr(env(), "local_mcp", True)

    async def get(server_url, url):
        async with open_exchanges(server_url) as exchanges:
            return await exchanges.send("GET", url)

    with FakeHttp() as inner:
        with pytest.raises(ToolFailed, match="NET_ALLOW"):
            async_to_sync(get)("http://mcp.example.com/mcp", inner.base_url)
        assert not inner.requests
        async_to_sync(get)("http://127.0.0.1:1/mcp", inner.base_url)
        assert len(inner.requests) == 1


def test_sign_in_of_an_encrypted_server_is_encrypted():
    async def get():
        async with open_exchanges("https://mcp.example.com/mcp") as exchanges:
            return await exchanges.send("GET", "http://auth.example.com/")

    with pytest.raises(ToolFailed, match="without encryption"):
        async_to_sync(get)()


def test_session_is_needed_to_sign_in(cast, connection):
    with pytest.raises(NotAllowed):
        begin(cast.ada, connection, session_key="")
