"""How an API wants to be shown a credential: in a header or in the query, as a bearer token, or as user and password."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from workflows.engine.language.document import Json
from workflows.tools.operations import clean_text
from workflows.tools.parameter_schemas import SchemaReader


MAX_SCHEMES: Final = 20

SecurityType = Literal["none", "bearer", "basic", "header", "query"]

# A secret in one of these headers could change where the request ends or goes.
_RESERVED_HEADERS: Final = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "cookie",
    }
)


@dataclass(frozen=True, slots=True)
class Security:
    """A security scheme. ``name`` is that of the header or the query parameter."""

    type: SecurityType = "none"
    name: str = ""

    def build_header(self, secret: str) -> tuple[str, str] | None:
        """Return the header that shows the secret, if it is shown in a header."""
        if self.type == "bearer":
            return "Authorization", f"Bearer {secret}"
        if self.type == "basic":
            return "Authorization", f"Basic {b64encode(secret.encode()).decode()}"
        if self.type == "header" and self.name.lower() not in _RESERVED_HEADERS:
            return self.name, secret
        return None

    def build_query(self, secret: str) -> tuple[str, str] | None:
        return (self.name, secret) if self.type == "query" else None


def read_security(document: Mapping[str, Json], reader: SchemaReader) -> Security:
    """Return the first supported scheme that the document declares, those that all operations require before others."""
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
    if not isinstance(schemes, Mapping):
        return Security()
    required = [
        name
        for requirement in _list_mappings(document.get("security"))
        for name in list(requirement)[:MAX_SCHEMES]
        if name in schemes
    ]
    for name in (*required, *list(schemes)[:MAX_SCHEMES]):
        security = _read_scheme(reader.read_reference(schemes[name]))
        if security.type != "none":
            return security
    return Security()


def _list_mappings(value: Json) -> list[Mapping[str, Json]]:
    items = value[:MAX_SCHEMES] if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def _read_scheme(scheme: Json) -> Security:
    if not isinstance(scheme, Mapping):
        return Security()
    type_, place = scheme.get("type"), scheme.get("in")
    if type_ == "http":
        method = str(scheme.get("scheme")).lower()
        return Security(method) if method in ("bearer", "basic") else Security()  # type: ignore[arg-type]
    if type_ == "apiKey" and place in ("header", "query"):
        return Security(place, clean_text(scheme.get("name"), 100))
    # A token of these was obtained elsewhere, and is sent like any bearer token.
    return Security("bearer") if type_ in ("oauth2", "openIdConnect") else Security()
