"""Calls a server with the access token of a sign-in."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import SignInEnded, SignInNeeded
from workflows.tools.signed_in.renewal import (
    SignInReference,
    describe_end,
    end_sign_in,
    find_token,
    note_missing_scope,
)
from workflows.tools.threads import RunInThread


T = TypeVar("T")


async def call_signed_in(
    reference: SignInReference,
    token: str | None,
    call: Callable[[str], Awaitable[T]],
    run_in_thread: RunInThread,
) -> T:
    """Make the call, with a renewed token if there is none that holds, or if the server refuses it: then it did nothing.

    Raise ``SignInEnded`` if somebody has to sign in again.
    """
    token = token or await find_token(reference, run_in_thread)
    try:
        return await call(token)
    except SignInNeeded as refusal:
        challenge = refusal.challenge
    if challenge.lacks_scope:
        await run_in_thread(note_missing_scope, reference, challenge)
        raise ToolFailed(describe_end(reference, "the MCP server wants more permissions"))
    token = await find_token(reference, run_in_thread, rejected=token)
    try:
        return await call(token)
    except SignInNeeded:
        reason = "The MCP server refuses the token"
        await run_in_thread(end_sign_in, reference, token, reason)
        raise SignInEnded(describe_end(reference, reason)) from None
