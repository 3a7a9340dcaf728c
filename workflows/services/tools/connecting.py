"""Connects an API by its OpenAPI document, or an MCP server."""

import re
from typing import Final, get_args
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.tools.web.services import SERVICES
from workflows.errors import InvalidValue, NameTaken
from workflows.models import ConnectionKind, ToolConnection, ToolSignIn
from workflows.services import audit_lines
from workflows.services.credentials import clean_url
from workflows.services.tools import secrets
from workflows.services.tools.listing import Listing, check_listing, list_server, read_api
from workflows.tools.challenges import SignInNeeded
from workflows.tools.mcp.commands import STDIO_SCHEME, list_commands
from workflows.tools.openapi.security import Security, SecurityType
from workflows.tools.operations import Operation


MAX_CONNECTIONS: Final = 100  # of one team
_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def connect_openapi(
    principal: Principal,
    *,
    team_id: UUID,
    name: str = "",
    slug: str = "",
    document: str = "",
    document_url: str = "",
    base_url: str = "",
    secret: str = "",
    authentication: str = "",
    authentication_name: str = "",
) -> ToolConnection:
    """Connect the API of a document. Operations that only read are enabled; others need the approval of a person."""
    permissions.check_manage(principal, team_id)
    document_url = _clean_document_url(document_url)
    api = read_api(principal, team_id, document, document_url)
    listing = check_listing(Listing(api.title, api.operations, api.total))
    url = _choose_base_url(base_url, api.base_url, document_url, has_secret=bool(secret))
    security = build_security(authentication, authentication_name, default=api.security)
    row = ToolConnection(
        team_id=team_id,
        name=_clean_name(name or api.title or (urlsplit(url).hostname or "")),
        slug=slug,
        kind=ConnectionKind.OPENAPI,
        url=url,
        document_url=document_url,
    )
    approvals = [operation.name for operation in listing.operations if not _is_reading(operation)]
    return _save(principal, row, listing, security, secret, approvals)


def connect_mcp(
    principal: Principal,
    *,
    team_id: UUID,
    name: str = "",
    slug: str = "",
    url: str = "",
    secret: str = "",
    authentication: str = "",
    authentication_name: str = "",
) -> ToolConnection:
    """Connect an MCP server at a URL. Each call of its tools needs approval at first.

    If it wants somebody to sign in, the connection has no tools until somebody has (``services.tools.signing_in``).

    A server's own hint that a tool only reads is the server's word, on which no permission should depend.
    """
    permissions.check_manage(principal, team_id)
    security = build_security(authentication, authentication_name, default=Security("bearer"))
    if security.type in ("query", "basic"):
        raise InvalidValue(_("An MCP server takes a token or a header."), field="authentication")
    row = ToolConnection(
        team_id=team_id,
        name=name,
        slug=slug,
        kind=ConnectionKind.MCP_HTTP,
        url=_clean_url_field(url, "url"),
    )
    return _connect_server(principal, row, security, secret)


def connect_process(
    principal: Principal,
    *,
    team_id: UUID,
    name: str = "",
    slug: str = "",
    command: str = "",
    secret: str = "",
    authentication: str = "",
    authentication_name: str = "",
) -> ToolConnection:
    """Connect an MCP server that runs as one of the operator's commands. Its secret is an environment variable."""
    permissions.check_manage(principal, team_id)
    if command not in list_commands():
        raise InvalidValue(_("The operator doesn't allow this command."), field="command")
    security = _build_variable(authentication_name, has_secret=bool(secret))
    row = ToolConnection(
        team_id=team_id,
        name=name,
        slug=slug,
        kind=ConnectionKind.MCP_STDIO,
        url=f"{STDIO_SCHEME}{command}",
    )
    return _connect_server(principal, row, security, secret)


def connect_service(
    principal: Principal, *, team_id: UUID, service: str, url: str = "", secret: str = ""
) -> ToolConnection:
    """Connect an account with a service on the web, which the built-in tools of that service use."""
    permissions.check_manage(principal, team_id)
    known = SERVICES.get(service)
    if known is None:
        raise InvalidValue(_("There is no such service."), field="service")
    if not url.strip() and not known.base_url:
        raise InvalidValue(_("Enter the URL of your server."), field="url")
    if known.key == "required" and not secret:
        raise InvalidValue(_("Enter the API key."), field="secret")
    row = ToolConnection(
        team_id=team_id,
        name=known.title,
        slug=known.name,
        kind=ConnectionKind.WEB,
        url=_clean_url_field(url, "url") if url.strip() else known.base_url,
    )
    return _save(principal, row, Listing(known.title, (), 0), Security(), secret, [])


def _connect_server(
    principal: Principal, row: ToolConnection, security: Security, secret: str
) -> ToolConnection:
    try:
        listing = list_server(principal, row.team_id, row.url, security, secret.strip() or None)
    except SignInNeeded:  # nobody may list its tools before
        row.name = _clean_name(row.name or urlsplit(row.url).hostname or "")
        empty_listing = Listing(row.name, (), 0)
        return _save(principal, row, empty_listing, security, "", [], needs_sign_in=True)
    row.name = _clean_name(row.name or listing.title or urlsplit(row.url).hostname or "")
    approvals = [operation.name for operation in listing.operations]
    return _save(principal, row, listing, security, secret, approvals)


def build_security(type_: str, name: str, *, default: Security) -> Security:
    """Return how a secret is sent, as a person chose it, or else as the document says."""
    if not type_:
        return default
    if type_ not in get_args(SecurityType):
        raise InvalidValue(_("Unknown type of authentication."), field="authentication")
    security = Security(type_, name.strip())  # type: ignore[arg-type]
    if type_ in ("header", "query") and not _HEADER_NAME.fullmatch(security.name):
        raise InvalidValue(
            _("Enter the name of the header or parameter."), field="authentication_name"
        )
    if type_ == "header" and security.build_header("x") is None:
        raise InvalidValue(_("This header can't be set."), field="authentication_name")
    return security


def _save(
    principal: Principal,
    row: ToolConnection,
    listing: Listing,
    security: Security,
    secret: str,
    approvals: list[str],
    *,
    needs_sign_in: bool = False,
) -> ToolConnection:
    row.operations = [operation.to_json() for operation in listing.operations]
    row.total_operations = listing.total
    row.revision, row.check_note = listing.revision, listing.note[:1000]
    row.enabled_operations = [operation.name for operation in listing.operations]
    row.approval_operations = approvals
    row.authentication = {"type": security.type, "name": security.name}
    row.checked_at = timezone.now()
    row.created_by_id = principal.user_id
    with tenant([row.team_id]):
        _check_count(row.team_id)
        row.slug = _clean_slug(row)
        if secret:
            row.credential = secrets.create_secret(principal, row, secret)
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            raise NameTaken(field="slug") from error
        if needs_sign_in:
            ToolSignIn.objects.create(team_id=row.team_id, connection=row)
        audit_lines.record(
            principal, row, "tool.connected", name=row.name, operations=len(row.operations)
        )
    return row


def _check_count(team_id: UUID) -> None:
    if ToolConnection.objects.unscoped().filter(team_id=team_id).count() >= MAX_CONNECTIONS:
        sentence = _("A team can have at most %(limit)d connections.")
        raise InvalidValue(sentence % {"limit": MAX_CONNECTIONS})


def _clean_slug(row: ToolConnection) -> str:
    """Return the given slug, or a free one made from the name."""
    if row.slug:
        if not _SLUG.fullmatch(row.slug):
            sentence = _("Use lowercase letters, digits and dashes, up to 64 characters.")
            raise InvalidValue(sentence, field="slug")
        return row.slug
    default = "api" if row.kind == ConnectionKind.OPENAPI else "mcp"
    base = slugify(row.name)[:56].replace("_", "-").strip("-") or default
    rows = ToolConnection.objects.unscoped().filter(team_id=row.team_id, slug__startswith=base)
    taken = set(rows.values_list("slug", flat=True))
    candidates = [base, *(f"{base}-{number}" for number in range(2, MAX_CONNECTIONS + 2))]
    return next(slug for slug in candidates if slug not in taken)


def _choose_base_url(entered: str, documented: str, document_url: str, *, has_secret: bool) -> str:
    """Return the URL of the API. A document can't choose the host that a secret is sent to; a person confirms it."""
    if entered.strip():
        return _clean_url_field(entered, "base_url")
    if not documented:
        raise InvalidValue(_("The document names no server. Enter the base URL."), field="base_url")
    url = _clean_url_field(documented, "base_url")
    if has_secret and urlsplit(url)[:2] != urlsplit(document_url)[:2]:  # scheme and host
        sentence = _("The document names the server %(url)s. Enter it as base URL to confirm it.")
        raise InvalidValue(sentence % {"url": url}, field="base_url")
    return url


def _clean_url_field(url: str, field: str) -> str:
    try:
        return clean_url(url)
    except InvalidValue as error:
        raise InvalidValue(error.message, field=field) from None


def _clean_document_url(url: str) -> str:
    url = url.strip()
    if url and not (url.startswith(("http://", "https://")) and len(url) <= 2048):
        raise InvalidValue(_("Enter a URL like https://example.com/v1."), field="document_url")
    return url


def _build_variable(name: str, *, has_secret: bool) -> Security:
    """Return a security that names the variable of the process's environment that holds the secret."""
    name = name.strip()
    if has_secret and not re.fullmatch(r"[A-Z][A-Z0-9_]{2,60}(KEY|TOKEN|SECRET|PASSWORD)", name):
        # A variable such as LD_PRELOAD or PATH would change which program runs.
        sentence = _("Enter the environment variable; it ends in KEY, TOKEN, SECRET or PASSWORD.")
        raise InvalidValue(sentence, field="authentication_name")
    return Security("none", name if has_secret else "")


def _clean_name(name: str) -> str:
    return " ".join(name.split())[:255] or _("Connection")


def _is_reading(operation: Operation) -> bool:
    return operation.call.get("method") in _READING_METHODS
