"""Chooses as which client this installation asks for tokens: by a document of our own, a registration, or an id that somebody typed."""

import time
from dataclasses import dataclass
from typing import Any, Final

from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    create_client_info_from_metadata_url,
    handle_registration_response,
    is_valid_client_metadata_url,
    issuers_match,
    should_use_client_metadata_url,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata

from workflows.tools.challenges import ClientNeeded
from workflows.tools.mcp.sign_in.exchanges import Exchanges, is_on_this_machine
from workflows.tools.signed_in.installation import Installation


Client = OAuthClientInformationFull

CLIENT_NAME: Final = "Mnemoflow"
# What is stored of a client beside its secret.
_FIELDS: Final = {
    *("client_id", "token_endpoint_auth_method", "redirect_uris", "issuer"),
    *("scope", "client_secret_expires_at"),
}


@dataclass(frozen=True, slots=True)
class TypedClient:
    """A client that somebody has registered with the authorization server by hand."""

    client_id: str
    client_secret: str = ""


def describe_installation(installation: Installation) -> dict[str, Any]:
    """Return the document that tells authorization servers who this installation is."""
    metadata = _dump_metadata(_build_metadata(installation))
    return {"client_id": installation.metadata_url, **metadata}


async def choose_client(
    exchanges: Exchanges,
    server: OAuthMetadata,
    installation: Installation,
    scope: str,
    *,
    typed: TypedClient | None,
    earlier: Client | None,
) -> Client:
    """Return the client to sign in as. Raise ``ClientNeeded`` if somebody has to register one by hand."""
    if typed is not None:
        return _build_typed(server, installation, typed)
    if earlier is not None and _can_be_used_again(earlier, server, installation, scope):
        return earlier
    url = installation.metadata_url
    if is_valid_client_metadata_url(url) and should_use_client_metadata_url(server, url):
        client = create_client_info_from_metadata_url(url)
    elif server.registration_endpoint:
        client = await _register(exchanges, server, installation, scope)
    else:
        raise ClientNeeded(
            "The authorization server doesn't register applications by itself. Register one there and enter its client ID"
        )
    return _complete(client, server, installation)


def dump_client(client: Client) -> dict[str, Any]:
    """Return the client as it is stored, without its secret."""
    return client.model_dump(mode="json", include=_FIELDS, exclude_none=True)


def load_client(stored: Any, secret: str | None) -> Client:  # Any: JSON
    return Client.model_validate({**stored, "client_secret": secret})


def _build_metadata(
    installation: Installation, method: str = "none", scope: str = ""
) -> OAuthClientMetadata:
    is_local = is_on_this_machine(installation.redirect_uri)
    return OAuthClientMetadata.model_validate(
        {
            "client_name": CLIENT_NAME,
            "client_uri": installation.base_url,
            "redirect_uris": [installation.redirect_uri],
            "token_endpoint_auth_method": method,
            "application_type": "native" if is_local else "web",
            "scope": scope or None,
        }
    )


def _dump_metadata(metadata: OAuthClientMetadata) -> dict[str, Any]:
    return metadata.model_dump(mode="json", exclude_none=True)


def _build_typed(server: OAuthMetadata, installation: Installation, typed: TypedClient) -> Client:
    client = Client(client_id=typed.client_id, client_secret=typed.client_secret or None)
    return _complete(client, server, installation)


async def _register(
    exchanges: Exchanges, server: OAuthMetadata, installation: Installation, scope: str
) -> Client:
    methods = server.token_endpoint_auth_methods_supported
    method = "none" if methods is None or "none" in methods else _choose_method(server)
    metadata = _dump_metadata(_build_metadata(installation, method, scope))
    response = await exchanges.send("POST", str(server.registration_endpoint), json=metadata)
    try:
        client = await handle_registration_response(response)
        check_registration_usable(client)
    except OAuthRegistrationError:
        # Its message has the body of the response.
        raise ClientNeeded(
            f"The authorization server doesn't register this installation (status {response.status_code})."
            " Register an application there and enter its client ID"
        ) from None
    return client


def _complete(client: Client, server: OAuthMetadata, installation: Installation) -> Client:
    """Return the client with what a later sign-in has to know, and with the way in which it proves itself."""
    method = client.token_endpoint_auth_method
    if method is None:
        method = _choose_method(server) if client.client_secret else "none"
    values = {
        "token_endpoint_auth_method": method,
        "redirect_uris": [installation.redirect_uri],
        "issuer": str(server.issuer),
    }
    return Client.model_validate({**client.model_dump(mode="json", exclude_none=True), **values})


def _choose_method(server: OAuthMetadata) -> str:
    methods = server.token_endpoint_auth_methods_supported or []
    return "client_secret_post" if "client_secret_post" in methods else "client_secret_basic"


def _can_be_used_again(
    client: Client, server: OAuthMetadata, installation: Installation, scope: str
) -> bool:
    """Return whether this server has given out the client, for this address to come back to and these permissions."""
    redirect_uris = [str(uri) for uri in client.redirect_uris or ()]
    expiry = client.client_secret_expires_at or 0  # 0 stands for never
    return (
        redirect_uris == [installation.redirect_uri]
        and issuers_match(client.issuer or "", str(server.issuer))
        and not 0 < expiry <= time.time()
        and (client.scope is None or set(scope.split()) <= set(client.scope.split()))
    )
