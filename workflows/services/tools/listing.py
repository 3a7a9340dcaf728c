"""Asks a document or a server which operations there are. Nothing is stored here, and no connection is held."""

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.access import Principal
from config import net
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.services.outside_calls import call_outside
from workflows.tools.challenges import SignInNeeded
from workflows.tools.connections import build_server
from workflows.tools.echoed_secrets import build_cleaner, clean_fault, clean_operation
from workflows.tools.openapi.documents import MAX_BYTES, ApiDescription, read_description
from workflows.tools.openapi.security import Security
from workflows.tools.operations import MAX_LISTING_BYTES, Operation, measure_listing
from workflows.tools.signed_in.calling import call_signed_in
from workflows.tools.signed_in.renewal import SignInReference
from workflows.tools.threads import run_in_thread


DOCUMENT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Listing:
    """The operations of a connection. ``total`` counts those beyond the limit, too.

    ``revision`` is that of MCP which the server spoke, and ``note`` says what is odd about it.
    """

    title: str
    operations: tuple[Operation, ...]
    total: int
    revision: str = ""
    note: str = ""


def read_api(
    principal: Principal, team_id: UUID, document: str, document_url: str
) -> ApiDescription:
    """Return the API of a pasted document or of that at the URL. Raise ``InvalidValue`` for the field that is wrong."""
    if document.strip():
        return read_description(document, document_url)
    if not document_url:
        raise InvalidValue(_("Paste a document, select a file or enter its URL."), field="document")
    with call_outside(principal, team_id):
        text = fetch_document(document_url)
    return read_description(text, document_url)


def fetch_document(url: str) -> str:
    """Return the text at a URL, fetched through the guarded client. Raise ``InvalidValue``."""
    try:
        exchange = async_to_sync(net.send_request)(
            "GET",
            url,
            headers=[("Accept", "application/json, application/yaml, text/*;q=0.8")],
            limit=lambda _headers: MAX_BYTES,
            max_body=MAX_BYTES,
            timeout=DOCUMENT_SECONDS,
        )
    except net.ExchangeFailed as failure:
        raise InvalidValue(str(failure), field="document_url") from None
    if exchange.status != 200:
        sentence = _("The server answered with the status %(status)d.")
        raise InvalidValue(sentence % {"status": exchange.status}, field="document_url")
    return exchange.body.decode("utf-8-sig", errors="replace")


def list_server(
    principal: Principal,
    team_id: UUID,
    url: str,
    security: Security,
    secret: str | None,
    sign_in: SignInReference | None = None,
) -> Listing:
    """Return the tools of an MCP server. Raise ``InvalidValue`` if it doesn't answer as one.

    Raise ``SignInNeeded`` if it wants somebody to sign in. With ``sign_in``, the secret is its access token.
    """
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp import session  # noqa: PLC0415

    async def list_tools(token: str | None) -> session.Listing:
        clean = build_cleaner(token, security)
        try:
            listing = await session.list_tools(build_server(url, security, token))
        except SignInNeeded:
            raise
        except ToolFailed as fault:
            raise clean_fault(fault, clean) from None
        operations = tuple(clean_operation(each, clean) for each in listing.operations)
        return replace(listing, title=clean(listing.title), operations=operations)

    async def list_signed_in() -> session.Listing:
        if sign_in is None:
            return await list_tools(secret)
        return await call_signed_in(sign_in, secret, list_tools, run_in_thread)

    try:
        with call_outside(principal, team_id):
            listing = async_to_sync(list_signed_in)()
    except SignInNeeded:
        if secret:
            raise InvalidValue(_("The MCP server refuses this key."), field="secret") from None
        raise
    except ToolFailed as fault:
        raise InvalidValue(str(fault), field="url") from None
    if not listing.operations:
        raise InvalidValue(_("The MCP server offers no tools."), field="url")
    note = _describe_skipped(listing.skipped.count, listing.skipped.first)
    return check_listing(
        Listing(
            listing.title,
            listing.operations,
            listing.total,
            listing.revision,
            build_cleaner(secret, security)(note),
        )
    )


def _describe_skipped(count: int, first: str) -> str:
    """Return the note about lines that a process has written between its messages, or nothing."""
    if not count:
        return ""
    sentence = ngettext(
        "%(n)d line of its standard output is no message and was skipped: %(line)s",
        "%(n)d lines of its standard output are no messages and were skipped. The first one: %(line)s",
        count,
    )
    return sentence % {"n": count, "line": first}


def check_listing(listing: Listing) -> Listing:
    """Return the listing. Raise ``InvalidValue`` if it is too large to be stored."""
    if measure_listing(listing.operations) > MAX_LISTING_BYTES:
        raise InvalidValue(_("The descriptions of all operations together are too large."))
    return listing
