"""Finds an access token that holds, and renews it once for all processes.

An authorization server that gives a new refresh token each time takes the old one only once, and may end the whole sign-in if it
comes again. So whoever renews the tokens says so in the row first, for a limited time, and the others wait for the result. The row
is not locked meanwhile, and nobody holds a connection of the database.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt, encrypt
from workflows.engine.errors import ToolFailed
from workflows.models import ToolSignIn
from workflows.tools.challenges import Challenge, SignInEnded
from workflows.tools.signed_in.tokens import Grant, Tokens
from workflows.tools.signed_in.urls import have_same_origin
from workflows.tools.threads import RunInThread


# A token that ends so soon could end on its way to the server.
MARGIN: Final = timedelta(seconds=30)
# Longer than an exchange takes; a process that has died is no longer waited for then.
RENEWAL: Final = timedelta(seconds=45)
POLL_SECONDS: Final = 0.25
EXPIRED: Final = "The sign-in has expired"


@dataclass(frozen=True, slots=True)
class SignInReference:
    """The sign-in of a connection. ``name`` is the connection's, for errors."""

    team_id: UUID
    pk: UUID
    name: str


async def find_token(
    reference: SignInReference, run_in_thread: RunInThread, *, rejected: str = ""
) -> str:
    """Return an access token that holds and isn't the one that a server has rejected. Raise ``ToolFailed`` if there is none."""
    while True:
        step = await run_in_thread(_take_step, reference, rejected)
        if isinstance(step, str):
            return step
        if step is not None:
            return await _finish(_renew(reference, run_in_thread, step))
        await _wait_for_others()


def read_token(sign_in: ToolSignIn) -> str | None:
    """Return the access token of a sign-in, unless it ends soon or is one for another server."""
    if sign_in.access_token is None or not _is_for_server(sign_in):
        return None
    if sign_in.expires_at is not None and sign_in.expires_at <= timezone.now() + MARGIN:
        return None
    return decrypt(bytes(sign_in.access_token))


def read_grant(sign_in: ToolSignIn) -> Grant:
    """Return the tokens of a sign-in with what is needed to renew or revoke them."""
    return Grant(
        url=sign_in.connection.url,
        server=sign_in.server,
        client=sign_in.client,
        client_secret=_decrypt(sign_in.client_secret) or None,
        resource=sign_in.resource,
        scope=sign_in.scope,
        access_token=_decrypt(sign_in.access_token),
        refresh_token=_decrypt(sign_in.refresh_token),
    )


def set_tokens(sign_in: ToolSignIn, tokens: Tokens) -> None:
    """Give the row these tokens, which nobody renews at the moment. The caller saves it."""
    sign_in.access_token = encrypt(tokens.access_token)
    sign_in.refresh_token = encrypt(tokens.refresh_token) if tokens.refresh_token else None
    sign_in.expires_at, sign_in.scope = tokens.expires_at, tokens.scope[:2000]
    sign_in.renewed_until = None


def end_sign_in(reference: SignInReference, access_token: str, error: str) -> None:
    """Delete these tokens, which no server takes any more, so that somebody has to sign in again."""
    with tenant([reference.team_id]):
        row = _lock_tokens(reference, access_token)
        if row is not None:
            _delete_tokens(row, error)


def note_missing_scope(reference: SignInReference, challenge: Challenge) -> None:
    """Note which permissions a tool needs beside those that the tokens give. Other tools can be called as before."""
    error = f"The MCP server wants more permissions: {challenge.scope}".rstrip(": ")
    with tenant([reference.team_id]):
        rows = ToolSignIn.objects.unscoped().filter(pk=reference.pk)
        rows.update(error=error[:1000], missing_scope=challenge.scope[:2000])


def describe_end(reference: SignInReference, reason: str = "") -> str:
    """Return what people are told whose run needs a sign-in."""
    text = f"The connection {reference.name!r} needs a new sign-in: an admin signs in again on its page under Tools"
    return f"{text} ({reason})" if reason else text


async def _wait_for_others() -> None:
    await asyncio.sleep(POLL_SECONDS)


def _take_step(reference: SignInReference, rejected: str) -> str | Grant | None:
    """Return a token, or what the caller has to renew now, or None as long as another process renews the tokens."""
    with tenant([reference.team_id]):
        rows = ToolSignIn.objects.unscoped().select_for_update(of=("self",), no_key=True)
        row = rows.select_related("connection").filter(pk=reference.pk).first()
        if row is None or row.access_token is None:
            raise SignInEnded(describe_end(reference, row.error if row else ""))
        if not _is_for_server(row):
            raise SignInEnded(describe_end(reference, "The address of the server has changed"))
        token = read_token(row)
        if token is not None and token != rejected:
            return token
        now = timezone.now()
        if row.renewed_until is not None and row.renewed_until > now:
            return None
        if row.refresh_token is not None:
            row.renewed_until = now + RENEWAL
            row.save(update_fields=["renewed_until"])
            return read_grant(row)
        reason = EXPIRED
        _delete_tokens(row, reason)
    raise SignInEnded(describe_end(reference, reason))


async def _finish(work: Coroutine[object, object, str]) -> str:
    """Do the work to its end even if the run is cancelled: tokens that came would be lost, and with them the sign-in."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _renew(reference: SignInReference, run_in_thread: RunInThread, grant: Grant) -> str:
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp.sign_in.tokens import renew  # noqa: PLC0415

    try:
        tokens = await renew(grant)
    except SignInEnded as end:
        reason = f"The sign-in could not be renewed: {end.message}"
        await run_in_thread(end_sign_in, reference, grant.access_token, reason)
        raise SignInEnded(describe_end(reference, reason)) from None
    except ToolFailed as fault:
        await run_in_thread(_let_others_renew, reference, grant.access_token)
        message = f"The sign-in of the connection {reference.name!r} could not be renewed: {fault.message}"
        raise ToolFailed(message, retryable=fault.retryable) from None
    await run_in_thread(_store, reference, grant.access_token, tokens)
    return tokens.access_token


def _store(reference: SignInReference, earlier_token: str, tokens: Tokens) -> None:
    with tenant([reference.team_id]):
        row = _lock_tokens(reference, earlier_token)
        if row is not None:
            set_tokens(row, tokens)
            row.save()


def _let_others_renew(reference: SignInReference, access_token: str) -> None:
    with tenant([reference.team_id]):
        row = _lock_tokens(reference, access_token)
        if row is not None:
            row.renewed_until = None
            row.save(update_fields=["renewed_until"])


def _lock_tokens(reference: SignInReference, access_token: str) -> ToolSignIn | None:
    """Return the row, locked, as long as it has this token: somebody may have signed out, or in again, meanwhile."""
    rows = ToolSignIn.objects.unscoped().select_for_update(of=("self",), no_key=True)
    row = rows.filter(pk=reference.pk).first()
    return row if row is not None and _decrypt(row.access_token) == access_token else None


def _delete_tokens(row: ToolSignIn, error: str) -> None:
    row.access_token = row.refresh_token = row.expires_at = row.renewed_until = None
    row.error = error[:1000]
    row.save()


def _is_for_server(sign_in: ToolSignIn) -> bool:
    """Return whether the tokens are for the server of the connection, whose address may have been changed."""
    return have_same_origin(sign_in.resource, sign_in.connection.url)


def _decrypt(secret: "bytes | memoryview | None") -> str:
    return decrypt(bytes(secret)) if secret else ""
