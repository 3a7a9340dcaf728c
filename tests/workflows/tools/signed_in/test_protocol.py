"""What is said to the servers of a sign-in, and what hostile ones can't do."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from mcp.shared.auth import OAuthClientInformationFull
from starlette.responses import JSONResponse, RedirectResponse, Response

from config.env import Env
from config.net import clients
from tests.fakes.http_server import FakeHttp
from tests.fakes.mcp_sign_in import SCOPE, SignInServer, serve_sign_in
from tests.workflows.tools.signed_in.conftest import HERE, refuse
from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import Challenge, ClientNeeded, SignInEnded, SignInNeeded
from workflows.tools.mcp.session import Server, list_tools
from workflows.tools.mcp.sign_in.clients import TypedClient, describe_installation
from workflows.tools.mcp.sign_in.exchanges import MAX_BODY, open_exchanges
from workflows.tools.mcp.sign_in.steps import Beginning, begin, check_issuer, finish
from workflows.tools.mcp.sign_in.tokens import renew, revoke
from workflows.tools.signed_in.tokens import Grant, Tokens


pytestmark = pytest.mark.usefixtures("loopback")

SERVER_METADATA = "/.well-known/oauth-authorization-server"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource/mcp"
PRIVATE = "http://169.254.169.254/latest/meta-data"


def build_grant(server: SignInServer, beginning: Beginning, tokens: Tokens | None = None) -> Grant:
    return Grant(
        url=server.url,
        server=beginning.server,
        client=beginning.client,
        client_secret=beginning.client_secret,
        resource=beginning.resource,
        scope=beginning.scope,
        access_token=tokens.access_token if tokens else "",
        refresh_token=tokens.refresh_token if tokens else "",
    )


async def sign_in(server: SignInServer, **options: Any) -> Grant:
    beginning = await begin(server.url, HERE, **options)
    parameters = server.sign_in(beginning.url)
    grant = build_grant(server, beginning)
    check_issuer(grant, parameters["iss"])
    tokens = await finish(
        grant,
        code=parameters["code"],
        code_verifier=beginning.code_verifier,
        redirect_uri=HERE.redirect_uri,
    )
    return build_grant(server, beginning, tokens)


async def count_tools(server: SignInServer, token: str) -> int:
    listing = await list_tools(Server(server.url, header=("Authorization", f"Bearer {token}")))
    return len(listing.operations)


async def test_server_says_with_its_refusal_where_it_describes_itself(server):
    with pytest.raises(SignInNeeded) as refusal:
        await list_tools(Server(server.url))

    assert refusal.value.challenge == Challenge(f"{server.origin}{RESOURCE_METADATA}")


async def test_tokens_open_the_server_and_are_renewed_once_each(server):
    grant = await sign_in(server)
    assert await count_tools(server, grant.access_token) > 0

    tokens = await renew(grant)

    assert await count_tools(server, tokens.access_token) > 0
    assert tokens.refresh_token != grant.refresh_token
    assert tokens.expires_at is not None
    assert tokens.expires_at > timezone.now()
    with pytest.raises(SignInEnded, match="invalid_grant"):
        await renew(grant)


async def test_revoked_tokens_open_nothing(server):
    grant = await sign_in(server)

    assert await revoke(grant)
    with pytest.raises(SignInNeeded):
        await count_tools(server, grant.access_token)


async def test_server_that_revokes_nothing_is_not_asked_to():
    with serve_sign_in(revokes=False) as server:
        grant = await sign_in(server)

        assert not await revoke(grant)
        assert "POST /revoke" not in server.requests


async def test_nothing_secret_is_shown(server):
    beginning = await begin(server.url, HERE)
    grant = await sign_in(server)

    shown = repr((beginning, grant))
    for secret in (beginning.state, beginning.code_verifier, beginning.client_secret):
        assert str(secret) not in shown
    for secret in (grant.access_token, grant.refresh_token, grant.client_secret):
        assert str(secret) not in shown
        assert str(secret) not in str((grant.server, grant.client))


def test_installation_describes_itself_without_a_secret():
    document = describe_installation(HERE)

    assert document["client_id"] == HERE.metadata_url
    assert document["redirect_uris"] == [HERE.redirect_uri]
    assert document["token_endpoint_auth_method"] == "none"


async def test_own_document_is_the_client_where_the_server_reads_such(server):
    server.metadata["client_id_metadata_document_supported"] = True
    server.clients[HERE.metadata_url] = OAuthClientInformationFull(
        client_id=HERE.metadata_url,
        redirect_uris=[HERE.redirect_uri],
        token_endpoint_auth_method="none",
        scope=SCOPE,
    )

    grant = await sign_in(server)

    assert (grant.client["client_id"], grant.client_secret) == (HERE.metadata_url, None)
    assert "POST /register" not in server.requests
    assert (await renew(grant)).access_token != grant.access_token


async def test_client_is_used_again_for_the_same_permissions_only(server):
    first = await sign_in(server)
    second = await sign_in(server, earlier=first)
    third = await begin(server.url, HERE, earlier=second, missing_scope="admin")

    assert second.client["client_id"] == first.client["client_id"]
    assert third.client["client_id"] != first.client["client_id"]
    assert set(third.scope.split()) == {"admin", SCOPE}


async def test_client_of_another_server_is_not_used(server):
    with serve_sign_in() as other:
        grant = await sign_in(other)

    beginning = await begin(server.url, HERE, earlier=grant)

    assert beginning.client["client_id"] in server.clients


async def test_typed_client_proves_itself_with_its_secret():
    with serve_sign_in(registers=False) as server:
        server.clients["typed"] = OAuthClientInformationFull(
            client_id="typed",
            client_secret="typed secret",
            redirect_uris=[HERE.redirect_uri],
            token_endpoint_auth_method="client_secret_post",
            scope=SCOPE,
        )
        with pytest.raises(ClientNeeded):
            await begin(server.url, HERE)
        with pytest.raises(SignInEnded, match="invalid_client"):
            await sign_in(server, typed=TypedClient("typed", "another secret"))

        grant = await sign_in(server, typed=TypedClient("typed", "typed secret"))

        assert await count_tools(server, grant.access_token) > 0


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
    "registration inside": ({}, {"registration_endpoint": PRIVATE}, "NET_ALLOW"),
}  # fmt: skip


@pytest.mark.parametrize("name", DESCRIPTIONS)
async def test_description_that_does_not_fit_is_refused(server, name):
    resource, metadata, message = DESCRIPTIONS[name]
    server.resource_metadata = fill(resource, server.origin)
    server.metadata = fill(metadata, server.origin)

    with pytest.raises(ToolFailed, match=message):
        await begin(server.url, HERE)
    assert "POST /register" not in server.requests


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
        "http://[fd00:ec2::254]/as",
    ],
)
async def test_authorization_server_at_a_private_address_is_refused(server, address):
    server.resource_metadata = {"authorization_servers": [address]}

    with pytest.raises(ToolFailed, match="NET_ALLOW"):
        await begin(server.url, HERE)


async def test_code_is_not_sent_to_a_private_address(server):
    server.metadata["token_endpoint"] = PRIVATE

    with pytest.raises(ToolFailed, match="NET_ALLOW"):
        await sign_in(server)


async def test_tokens_are_not_sent_to_a_private_address_to_be_revoked(server):
    server.metadata["revocation_endpoint"] = PRIVATE

    with pytest.raises(ToolFailed, match="NET_ALLOW"):
        await revoke(await sign_in(server))


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
async def test_answer_of_another_issuer_is_refused(server, issuer):
    grant = await sign_in(server)

    with pytest.raises(ToolFailed, match="server that was asked"):
        check_issuer(grant, issuer)
    check_issuer(grant, None)  # this server didn't promise to name itself


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
@pytest.mark.parametrize("path", [RESOURCE_METADATA, SERVER_METADATA, "/register", "/token"])
async def test_hostile_answer_is_an_error_and_leads_nowhere(server, path, kind):
    with FakeHttp() as inner:
        server.on_request[path] = answer_hostile(kind, inner.base_url)
        if path == RESOURCE_METADATA:  # the same at every address where it may be
            server.on_request["/.well-known/oauth-protected-resource"] = server.on_request[path]
            server.metadata["issuer"] = "https://elsewhere.example"

        with pytest.raises(ToolFailed):
            await sign_in(server)

        assert not inner.requests


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
async def test_token_that_cannot_be_sent_is_refused(server, answer):
    server.on_request["/token"] = lambda: JSONResponse({"token_type": "Bearer", **answer})

    with pytest.raises(ToolFailed):
        await sign_in(server)


@pytest.mark.parametrize(("seconds", "days"), [(-5, 0), (0, 0), (86400, 1), (10**18, 365)])
async def test_lifetime_of_a_token_is_bounded(server, seconds, days):
    grant = await sign_in(server)
    answer = {"access_token": "token", "token_type": "bearer", "expires_in": seconds}
    server.on_request["/token"] = lambda: JSONResponse(answer)
    before = timezone.now()

    tokens = await renew(grant)

    life = dt.timedelta(days=days)
    assert tokens.expires_at is not None
    assert before + life <= tokens.expires_at <= timezone.now() + life
    assert (tokens.refresh_token, tokens.scope) == (grant.refresh_token, grant.scope)


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (400, "invalid_grant", SignInEnded, False),
        (401, "invalid_client", SignInEnded, False),
        (400, "", ToolFailed, False),
        (429, "", ToolFailed, True),
        (503, "temporarily_unavailable", ToolFailed, True),
    ],
)
async def test_refused_renewal_says_whether_another_may_succeed(
    server, status, error, kind, retryable
):
    grant = await sign_in(server)
    server.on_request["/token"] = refuse(status, error)

    with pytest.raises(ToolFailed) as failure:
        await renew(grant)

    assert (type(failure.value), failure.value.retryable) == (kind, retryable)


async def test_server_elsewhere_cannot_name_this_machine(monkeypatch):
    monkeypatch.undo()  # no entry of NET_ALLOW
    allowing = Env(local_mcp=True, _env_file=None)
    monkeypatch.setattr(clients, "env", lambda: allowing)

    with FakeHttp() as inner:
        async with open_exchanges("http://mcp.example.com/mcp") as exchanges:
            with pytest.raises(ToolFailed, match="NET_ALLOW"):
                await exchanges.send("GET", inner.base_url)
        assert not inner.requests
        async with open_exchanges("http://127.0.0.1:1/mcp") as exchanges:
            await exchanges.send("GET", inner.base_url)
        assert len(inner.requests) == 1


async def test_sign_in_of_an_encrypted_server_is_encrypted():
    async with open_exchanges("https://mcp.example.com/mcp") as exchanges:
        with pytest.raises(ToolFailed, match="without encryption"):
            await exchanges.send("GET", "http://auth.example.com/")
