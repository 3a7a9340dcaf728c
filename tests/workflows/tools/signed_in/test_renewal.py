"""Tokens that have expired or that a server refuses are renewed once, whoever needs them at the same time."""

import asyncio
import base64
import datetime as dt
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from tests.workflows.tools.signed_in.conftest import (
    call,
    change_sign_in,
    read_tokens,
    refuse,
    reload,
    sign_in,
)
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.execution.threads import run_in_thread
from workflows.models import SignInStatus, ToolSignIn
from workflows.services import tools
from workflows.tools.challenges import SignInEnded
from workflows.tools.connections import find_sign_in
from workflows.tools.echoed_secrets import REDACTED
from workflows.tools.mcp.sign_in import tokens
from workflows.tools.secret_finder import SecretFinder
from workflows.tools.signed_in import renewal
from workflows.tools.signed_in.renewal import find_token
from workflows.tools.threads import run_in_thread as run_in_web_thread


pytestmark = pytest.mark.django_db

RENEWAL = "POST /token"


def expire(connection):
    change_sign_in(connection, expires_at=timezone.now())


def test_expired_token_is_renewed_before_the_call(signed_in, server):
    before, before_call = read_tokens(signed_in), timezone.now()
    expire(signed_in)

    assert call(signed_in, a=1, b=2).text == "3"

    after = read_tokens(signed_in)
    assert after[0] != before[0]
    assert after[1] != before[1]  # rotated
    assert (reload(signed_in).sign_in.expires_at or before_call) > before_call
    assert len(server.mcp.calls) == 1


def test_token_that_ends_on_its_way_is_renewed_before(signed_in, server):
    change_sign_in(signed_in, expires_at=timezone.now() + renewal.MARGIN)
    count = server.requests.count(RENEWAL)

    call(signed_in, a=1, b=2)
    call(signed_in, a=1, b=2)

    assert server.requests.count(RENEWAL) == count + 1


def test_token_that_the_server_refuses_is_renewed_and_the_call_is_made_once(signed_in, server):
    server.end_tokens()

    assert call(signed_in, a=1, b=2).text == "3"
    assert len(server.mcp.calls) == 1


def test_refresh_token_stays_if_the_server_gives_no_other(signed_in, server):
    _access_token, refresh_token = read_tokens(signed_in)
    give = server._give

    def give_without(*arguments):
        return give(*arguments).model_copy(update={"refresh_token": None, "scope": None})

    server._give = give_without
    expire(signed_in)
    call(signed_in, a=1, b=2)

    assert read_tokens(signed_in)[1] == refresh_token
    assert reload(signed_in).sign_in.scope == "tools"


def test_refused_renewal_asks_a_person_to_sign_in_again(cast, signed_in, server):
    expire(signed_in)
    server.refresh_tokens.clear()

    with pytest.raises(ToolFailed, match="'Desk' needs a new sign-in") as failure:
        call(signed_in, a=1, b=2)

    row = reload(signed_in).sign_in
    assert not failure.value.retryable
    assert (row.status, row.access_token, row.refresh_token) == (SignInStatus.AGAIN, None, None)
    assert "invalid_grant" in row.error
    count = server.requests.count(RENEWAL)
    with pytest.raises(ToolFailed, match="invalid_grant"):
        call(signed_in, a=1, b=2)
    assert server.requests.count(RENEWAL) == count  # nobody asks in vain

    sign_in(cast.ada, reload(signed_in), server)
    assert call(signed_in, a=1, b=2).text == "3"


@pytest.mark.parametrize("encode", [str, lambda text: base64.b64encode(text.encode()).decode()])
def test_refusal_that_repeats_the_request_is_told_without_its_secrets(
    signed_in, server, encode: Callable[[str], str]
):
    change_sign_in(signed_in, client_secret=encrypt("secret-of-the-client-42"))
    _access_token, refresh_token = read_tokens(signed_in)
    expire(signed_in)
    told = encode(f"token={refresh_token}&client_secret=secret-of-the-client-42")
    server.on_request["/token"] = refuse(400, "invalid_grant", f"No: {told}")

    with pytest.raises(SignInEnded, match="invalid_grant: No: ") as failure:
        call(signed_in, a=1, b=2)

    for text in (str(failure.value), reload(signed_in).sign_in.error):
        assert REDACTED in text
        assert not SecretFinder([refresh_token, "secret-of-the-client-42"]).is_in(text)


@pytest.mark.parametrize(
    ("status", "retryable"), [(500, True), (503, True), (429, True), (400, False), (302, False)]
)
def test_renewal_that_fails_may_succeed_later(signed_in, server, status, retryable):
    expire(signed_in)
    server.on_request["/token"] = refuse(status)

    with pytest.raises(ToolFailed, match="'Desk' could not be renewed") as failure:
        call(signed_in, a=1, b=2)

    assert failure.value.retryable is retryable
    del server.on_request["/token"]
    assert call(signed_in, a=1, b=2).text == "3"


def test_expired_token_without_refresh_token_ends_the_sign_in(signed_in):
    change_sign_in(signed_in, refresh_token=None, expires_at=timezone.now())

    with pytest.raises(SignInEnded, match="expired"):
        call(signed_in, a=1, b=2)
    assert reload(signed_in).sign_in.status == SignInStatus.AGAIN


def test_server_that_refuses_every_token_ends_the_sign_in(signed_in, server):
    server.on_request["/mcp"] = refuse(401)
    count = server.requests.count(RENEWAL)

    with pytest.raises(SignInEnded, match="refuses the token"):
        call(signed_in, a=1, b=2)

    assert server.requests.count(RENEWAL) == count + 1
    assert reload(signed_in).sign_in.status == SignInStatus.AGAIN


def test_failed_refresh_of_the_list_tells_to_sign_in_again(cast, signed_in, server):
    server.on_request["/mcp"] = refuse(401)

    with pytest.raises(InvalidValue, match="needs a new sign-in"):
        tools.refresh_connection(cast.ada.principal, connection=reload(signed_in))


def test_token_of_another_server_is_not_sent(signed_in, server):
    with tenant([signed_in.team_id]):
        type(signed_in).objects.unscoped().filter(pk=signed_in.pk).update(
            url="http://127.0.0.1:9/mcp"
        )
    count = len(server.requests)

    with pytest.raises(ToolFailed):
        call(signed_in, a=1, b=2)
    assert len(server.requests) == count


@pytest.mark.django_db(transaction=True)
def test_workers_that_renew_at_the_same_time_use_one_renewal(signed_in, server, monkeypatch):
    expire(signed_in)
    reference = find_sign_in(reload(signed_in))
    assert reference is not None
    count = server.requests.count(RENEWAL)
    both = asyncio.Event()
    renew = tokens.renew

    async def renew_when_the_others_wait(grant):
        await both.wait()
        return await renew(grant)

    async def pause():
        both.set()
        await asyncio.sleep(0)

    monkeypatch.setattr(tokens, "renew", renew_when_the_others_wait)
    monkeypatch.setattr(renewal, "_wait_for_others", pause)

    async def find_all():
        return await asyncio.gather(*(find_token(reference, run_in_thread) for _ in range(3)))

    found_tokens = async_to_sync(find_all)()

    assert len(set(found_tokens)) == 1
    assert server.requests.count(RENEWAL) == count + 1
    assert found_tokens[0] == read_tokens(signed_in)[0]


def test_renewal_of_a_process_that_died_is_taken_over(signed_in, server):
    expire(signed_in)
    change_sign_in(signed_in, renewed_until=timezone.now() - dt.timedelta(seconds=1))

    assert call(signed_in, a=1, b=2).text == "3"


def test_cancelled_run_keeps_the_tokens_that_came(signed_in, server, monkeypatch):
    expire(signed_in)
    reference = find_sign_in(reload(signed_in))
    assert reference is not None
    renew = tokens.renew
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def renew_slowly(grant):
        begun.set()
        await goes_on.wait()
        return await renew(grant)

    monkeypatch.setattr(tokens, "renew", renew_slowly)

    async def cancel():
        task = asyncio.ensure_future(find_token(reference, run_in_web_thread))
        await begun.wait()
        task.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    async_to_sync(cancel)()

    assert read_tokens(signed_in)[0] == server.tokens[-1].token
    assert call(signed_in, a=1, b=2).text == "3"


def test_person_who_signs_out_meanwhile_stays_signed_out(cast, signed_in, server, monkeypatch):
    expire(signed_in)
    renew = tokens.renew

    async def renew_after_the_sign_out(grant):
        result = await renew(grant)
        await run_in_web_thread(
            lambda: (
                ToolSignIn.objects.unscoped()
                .filter(connection=signed_in)
                .update(access_token=None, refresh_token=None)
            )
        )
        return result

    monkeypatch.setattr(tokens, "renew", renew_after_the_sign_out)
    with tenant([cast.team_a.pk]):
        call(signed_in, a=1, b=2)

        assert reload(signed_in).sign_in.access_token is None
