"""Reads OpenAPI documents: text in JSON or YAML, version 3.0 or 3.1, to the operations that it describes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext as _

from config.http import strict_json
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.errors import ContentTooLarge, InvalidValue
from workflows.tools.openapi.security import Security, read_security
from workflows.tools.openapi.signatures import read_signature
from workflows.tools.operations import MAX_OPERATIONS, Operation, build_name, clean_text
from workflows.tools.parameter_schemas import SchemaReader


MAX_BYTES: Final = 2 * 1024 * 1024
MAX_PATHS: Final = 5000
MAX_URL: Final = 2048
MAX_VARIABLES: Final = 20  # of a server's URL
METHODS: Final = ("get", "post", "put", "patch", "delete", "head", "options")

Fields = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """This is what a document says about an API. ``total`` counts the operations beyond the limit, too."""

    title: str
    base_url: str
    security: Security
    operations: tuple[Operation, ...]
    total: int


def read_description(text: str, source_url: str = "") -> ApiDescription:
    """Return the API of a document. ``source_url`` completes a relative server URL. Raise ``InvalidValue``."""
    document = parse_document(text)
    version = document.get("openapi")
    if not (isinstance(version, str) and version.startswith(("3.0", "3.1"))):
        raise _reject(_("This is not an OpenAPI 3.0 or 3.1 document."))
    reader = SchemaReader(document)
    entries = list(_iter_operations(document, reader))
    operations: dict[str, Operation] = {}
    for method, path, operation, shared in entries[:MAX_OPERATIONS]:
        name = build_name(operation.get("operationId") or f"{method}_{path}", operations)
        operations[name] = _read_operation(name, method, path, operation, shared, reader)
    if not operations:
        raise _reject(_("The document describes no operations."))
    info = document.get("info")
    return ApiDescription(
        title=clean_text(info.get("title"), 200) if isinstance(info, Mapping) else "",
        base_url=_read_base_url(document, source_url),
        security=read_security(document, reader),
        operations=tuple(operations.values()),
        total=len(entries),
    )


def parse_document(text: str) -> Fields:
    """Return the mapping in a JSON or YAML text. Raise ``InvalidValue`` with the reason it can't be read."""
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        sentence = _("The document can be at most %(size)d MB.")
        raise ContentTooLarge(sentence % {"size": MAX_BYTES >> 20}, field="document")
    text = text.removeprefix("\ufeff").strip()
    try:
        tree = strict_json.loads(text) if text.startswith("{") else read_yaml(text)
    except (strict_json.NotStrictJson, DocumentInvalid) as error:
        reason = str(error)[:200]
        raise _reject(_("The document can't be read: %(reason)s") % {"reason": reason}) from None
    if not isinstance(tree, Mapping):
        raise _reject(_("This is not an OpenAPI 3.0 or 3.1 document."))
    return tree


def _reject(sentence: str) -> InvalidValue:
    return InvalidValue(sentence, field="document")


def _iter_operations(
    document: Fields, reader: SchemaReader
) -> Iterator[tuple[str, str, Fields, list[Json]]]:
    """Yield method, path, operation and the parameters that all operations of the path share."""
    paths = document.get("paths")
    for path, value in list(paths.items())[:MAX_PATHS] if isinstance(paths, Mapping) else ():
        item = reader.read_reference(value)
        if not isinstance(item, Mapping) or not str(path).startswith("/"):
            continue
        shared = item.get("parameters")
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                yield method, path, operation, shared if isinstance(shared, list) else []


def _read_operation(
    name: str, method: str, path: str, operation: Fields, shared: list[Json], reader: SchemaReader
) -> Operation:
    signature = read_signature(operation, shared, reader)
    summary = clean_text(operation.get("summary"), 200)
    description = clean_text(operation.get("description"))
    return Operation(
        name=name,
        description=clean_text("\n".join(filter(None, (summary, description)))),
        parameters=signature.parameters,
        call={
            "method": method.upper(),
            "path": path[:2000],
            "arguments": {key: list(place) for key, place in signature.places.items()},
            "body_type": signature.body_type,
        },
    )


def _read_base_url(document: Fields, source_url: str) -> str:
    """Return the URL of the first server, with the default values of its variables, or "" if there is none."""
    servers = document.get("servers")
    server = servers[0] if isinstance(servers, list) and servers else {}
    url = server.get("url", "/") if isinstance(server, Mapping) else "/"
    if not isinstance(url, str) or not isinstance(server, Mapping):
        return ""
    try:
        base_url = urljoin(source_url, _fill_variables(url, server.get("variables")))
        is_absolute = bool(urlsplit(base_url).hostname)
    except ValueError:
        return ""
    return base_url.rstrip("/") if is_absolute and len(base_url) <= MAX_URL else ""


def _fill_variables(url: str, variables: Json) -> str:
    """Return the URL with the default values of its variables, or "" as soon as it is too long."""
    items = islice(variables.items(), MAX_VARIABLES) if isinstance(variables, Mapping) else ()
    for name, variable in items:
        if len(url) > MAX_URL:
            return ""
        default = variable.get("default") if isinstance(variable, Mapping) else ""
        url = url.replace(f"{{{name}}}", str(default)[:MAX_URL])
    return url if len(url) <= MAX_URL else ""
