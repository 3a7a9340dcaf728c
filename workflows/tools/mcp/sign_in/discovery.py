"""Finds the authorization server of an MCP server: by the metadata of the resource (RFC 9728), and by its own (RFC 8414)."""

from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    get_client_metadata_scopes,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    issuers_match,
    union_scopes,
    validate_authorization_response_iss,
)
from mcp.shared.auth import DEFAULT_GRANT_TYPES, OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import LATEST_PROTOCOL_VERSION

from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import Challenge
from workflows.tools.mcp.sign_in.exchanges import Exchanges, check_url
from workflows.tools.operations import clean_text
from workflows.tools.signed_in.urls import normalize_url


MAX_SCOPE: Final = 2000  # characters
MAX_URL: Final = 2048
_HEADERS: Final = {MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION}
_ENDPOINTS: Final = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "revocation_endpoint",
)
# What is stored of the metadata of an authorization server.
_FIELDS: Final = {
    *("issuer", *_ENDPOINTS, "token_endpoint_auth_methods_supported"),
    *("client_id_metadata_document_supported", "authorization_response_iss_parameter_supported"),
}


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """It says where somebody signs in for a resource, and which permissions are asked for."""

    metadata: OAuthMetadata
    resource: str
    scope: str

    @classmethod
    def from_json(cls, metadata: Any, resource: str, scope: str) -> Self:  # Any: JSON
        return cls(OAuthMetadata.model_validate(metadata), resource, scope)

    def to_json(self) -> dict[str, Any]:
        return self.metadata.model_dump(mode="json", include=_FIELDS, exclude_none=True)

    def check_issuer(self, issuer: str | None) -> None:
        """Raise ``ToolFailed`` if another server than this one answers a request to sign in (RFC 9207)."""
        name = None if issuer is None else normalize_url(issuer)  # as the metadata's is
        try:
            validate_authorization_response_iss(name, self.metadata)
        except OAuthFlowError:
            raise ToolFailed("The answer doesn't come from the server that was asked") from None


async def discover(
    exchanges: Exchanges, url: str, challenge: Challenge, missing_scope: str = ""
) -> AuthorizationServer:
    """Return the authorization server of the MCP server at the URL. Raise ``ToolFailed`` if it describes none that can be used."""
    url = normalize_url(url)
    resource = await _find_resource(exchanges, url, challenge)
    issuer = str(resource.authorization_servers[0]) if resource else None
    metadata = await _find_server(exchanges, url, issuer)
    _check_server(metadata, url)
    scope = get_client_metadata_scopes(
        challenge.scope or None, resource, metadata, list(DEFAULT_GRANT_TYPES)
    )
    return AuthorizationServer(
        metadata,
        str(resource.resource) if resource else url,
        (union_scopes(missing_scope, scope) or "")[:MAX_SCOPE],
    )


async def _find_resource(
    exchanges: Exchanges, url: str, challenge: Challenge
) -> ProtectedResourceMetadata | None:
    """Return what the MCP server says about itself. Raise ``ToolFailed`` if that is about another server."""
    for address in build_protected_resource_metadata_discovery_urls(
        challenge.metadata_url or None, url
    ):
        response = await exchanges.send("GET", address, headers=_HEADERS)
        if response.status_code >= 500:
            raise ToolFailed(
                f"The MCP server answered with the status {response.status_code}", retryable=True
            )
        metadata = await handle_protected_resource_response(response)
        if metadata is None:
            continue
        resource = str(metadata.resource)
        if len(resource) > MAX_URL or not check_resource_allowed(
            requested_resource=url, configured_resource=resource
        ):
            raise ToolFailed(
                f"The MCP server describes another server: {clean_text(resource, 200)}"
            )
        return metadata
    return None


async def _find_server(exchanges: Exchanges, url: str, issuer: str | None) -> OAuthMetadata:
    for address in build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        response = await exchanges.send("GET", address, headers=_HEADERS)
        goes_on, metadata = await handle_auth_metadata_response(response)
        if metadata is not None:
            _check_metadata_issuer(metadata, url, issuer)
            return metadata
        if not goes_on:
            message = f"The authorization server answered with the status {response.status_code}"
            raise ToolFailed(message, retryable=True)
    raise ToolFailed("The MCP server wants a sign-in, but doesn't say where")


def _check_metadata_issuer(metadata: OAuthMetadata, url: str, issuer: str | None) -> None:
    """Raise ``ToolFailed`` if the metadata is about another server than the one that was asked for it."""
    name = str(metadata.issuer)
    if issuer is None:
        # An MCP server that says nothing about itself is its own authorization server.
        parts = urlsplit(url)
        is_right = issuers_match(name, f"{parts.scheme}://{parts.netloc}")
    else:
        is_right = name == issuer  # RFC 8414, section 3.3: compared as they are written
    if not is_right:
        raise ToolFailed(
            f"The authorization server says that it is another one: {clean_text(name, 200)}"
        )


def _check_server(metadata: OAuthMetadata, url: str) -> None:
    """Raise ``ToolFailed`` if a sign-in with this server would not be safe."""
    for name in _ENDPOINTS:
        endpoint = getattr(metadata, name)
        if endpoint is None:
            continue
        if len(str(endpoint)) > MAX_URL:
            raise ToolFailed("An address of the authorization server is too long")
        check_url(str(endpoint), url)
    # OAuth 2.1: without it, somebody else could use the code of a person's sign-in.
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise ToolFailed("The authorization server doesn't support PKCE with S256")
