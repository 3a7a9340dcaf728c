"""Signs in to the MCP server of a connection, with OAuth in the person's browser. The tokens belong to the team's connection."""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from config.encryption.crypto import decrypt, encrypt
from workflows import permissions
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.models import ConnectionKind, SignInAttempt, ToolConnection, ToolSignIn
from workflows.services import audit_lines
from workflows.services.outside_calls import call_outside, lock_row
from workflows.services.tools.changing import delete_credential, list_at_first
from workflows.tools.challenges import ClientNeeded
from workflows.tools.connections import get_sign_in
from workflows.tools.operations import clean_text
from workflows.tools.signed_in.installation import Installation
from workflows.tools.signed_in.renewal import read_grant, set_tokens
from workflows.tools.signed_in.tokens import Grant, Tokens


ATTEMPT: Final = timedelta(minutes=10)  # for a person to sign in
_CANCELLED: Final = "access_denied"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a person goes to sign in, and the permissions that the person is asked for there."""

    url: str = field(repr=False)
    host: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The parameters with which a person comes back."""

    code: str = field(default="", repr=False)
    issuer: str | None = None
    error: str = ""
    error_description: str = ""


def start_sign_in(
    principal: Principal,
    *,
    connection: ToolConnection,
    session_key: str,
    installation: Installation,
    client_id: str = "",
    client_secret: str = "",
) -> Destination:
    """Begin a sign-in, which replaces one that the person has begun before. Only this session can finish it.

    ``client_id`` is for servers that register no clients by themselves. Raise ``InvalidValue`` for what is wrong.
    """
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp.sign_in.clients import TypedClient  # noqa: PLC0415
    from workflows.tools.mcp.sign_in.steps import begin  # noqa: PLC0415

    permissions.check_manage(principal, connection)
    if principal.user_id is None or not session_key:
        raise NotAllowed(_("Only a person can sign in."))
    if connection.kind != ConnectionKind.MCP_HTTP:
        raise InvalidValue(_("Only MCP servers over HTTP offer a sign-in."))
    client_id = client_id.strip()
    sign_in = get_sign_in(connection)
    earlier = read_grant(sign_in) if sign_in is not None and sign_in.client else None
    try:
        with call_outside(principal, connection.team_id):
            beginning = async_to_sync(begin)(
                connection.url,
                installation,
                typed=TypedClient(client_id, client_secret.strip()) if client_id else None,
                earlier=earlier,
                missing_scope=sign_in.missing_scope if sign_in is not None else "",
            )
    except ClientNeeded as fault:
        raise InvalidValue(str(fault), field="client_id") from None
    except ToolFailed as fault:
        raise InvalidValue(str(fault)) from None
    with tenant([connection.team_id]):
        lock_row(connection)
        connection.sign_in_attempts.filter(user_id=principal.user_id).delete()
        SignInAttempt.objects.create(
            team_id=connection.team_id,
            connection=connection,
            user_id=principal.user_id,
            state_hash=_hash(beginning.state),
            session_hash=_hash(session_key),
            code_verifier=encrypt(beginning.code_verifier),
            redirect_uri=installation.redirect_uri,
            expires_at=timezone.now() + ATTEMPT,
            server=beginning.server,
            client=beginning.client,
            client_secret=_encrypt(beginning.client_secret),
            resource=beginning.resource,
            scope=beginning.scope,
        )
    host = urlsplit(beginning.url).netloc
    return Destination(beginning.url, host, tuple(beginning.scope.split()))


def take_attempt(principal: Principal, *, session_key: str, state: str) -> SignInAttempt:
    """Return the attempt that this person has begun in this session, which nobody can take again. Raise ``NotFound``."""
    if principal.user_id is None:
        raise NotFound
    with tenant(principal.team_ids):
        rows = SignInAttempt.objects.visible_to(principal).select_for_update(of=("self",))
        rows = rows.filter(state_hash=_hash(state), session_hash=_hash(session_key))
        rows = rows.filter(user_id=principal.user_id).select_related(
            "connection__credential", "connection__sign_in"
        )
        attempt = rows.first()
        if attempt is None:
            raise NotFound
        permissions.check_manage(principal, attempt.connection)
        SignInAttempt.objects.unscoped().filter(pk=attempt.pk).delete()
    return attempt


def finish_sign_in(principal: Principal, *, attempt: SignInAttempt, answer: Answer) -> None:
    """Store the tokens for the code with which the person came back. Raise ``InvalidValue`` if there are none.

    The tools of a new connection are listed then.
    """
    # Inline import: as in start_sign_in.
    from workflows.tools.mcp.sign_in.steps import check_issuer, finish  # noqa: PLC0415

    connection = attempt.connection
    permissions.check_manage(principal, connection)
    grant = _read_grant(attempt)
    try:
        check_issuer(grant, answer.issuer)
        _check_answer(attempt, answer)
        with call_outside(principal, connection.team_id):
            tokens = async_to_sync(finish)(
                grant,
                code=answer.code,
                code_verifier=decrypt(bytes(attempt.code_verifier)),
                redirect_uri=attempt.redirect_uri,
            )
    except ToolFailed as fault:
        raise InvalidValue(str(fault)) from None
    _save(principal, attempt, tokens)
    if not connection.operations:
        list_at_first(principal, connection)


def _check_answer(attempt: SignInAttempt, answer: Answer) -> None:
    if answer.error == _CANCELLED:
        raise InvalidValue(_("The sign-in was cancelled."))
    if answer.error or not answer.code:
        reason = clean_text(answer.error_description, 300) or clean_text(answer.error, 100)
        sentence = _("The server didn't sign you in: %(reason)s")
        raise InvalidValue(sentence % {"reason": reason or _("it sent no code")})
    if attempt.is_expired:
        raise InvalidValue(_("The sign-in took too long. Start it again."))


def _save(principal: Principal, attempt: SignInAttempt, tokens: Tokens) -> None:
    connection = attempt.connection
    with tenant([connection.team_id]):
        lock_row(connection)
        rows = ToolSignIn.objects.unscoped().select_for_update(of=("self",))
        row = rows.filter(connection_id=connection.pk).first()
        sign_in = row or ToolSignIn(team_id=connection.team_id, connection=connection)
        for name in ("server", "client", "client_secret", "resource"):
            setattr(sign_in, name, getattr(attempt, name))
        set_tokens(sign_in, tokens)
        sign_in.error = sign_in.missing_scope = ""
        sign_in.signed_in_by_id, sign_in.signed_in_at = principal.user_id, timezone.now()
        sign_in.save()
        connection.sign_in = sign_in
        credential, connection.credential = connection.credential, None
        connection.save(update_fields=["credential", "updated_at"])
        delete_credential(principal, credential)
        host = urlsplit(str(attempt.server["issuer"])).netloc
        audit_lines.record(principal, connection, "tool.signed_in", server=host)


def _read_grant(attempt: SignInAttempt) -> Grant:
    secret = attempt.client_secret
    return Grant(
        url=attempt.connection.url,
        server=attempt.server,
        client=attempt.client,
        client_secret=decrypt(bytes(secret)) if secret else None,
        resource=attempt.resource,
        scope=attempt.scope,
        access_token="",
        refresh_token="",
    )


def _encrypt(secret: str | None) -> bytes | None:
    return encrypt(secret) if secret else None


def _hash(secret: str) -> str:
    return hashlib.sha256(f"mnemoflow:sign-in:{secret}".encode()).hexdigest()
