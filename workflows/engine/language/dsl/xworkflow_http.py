"""HTTP requests between xworkflow's words and Dify's, which are those used inside.

Where one side has no word for it, the other's stays beside the translation (under ``as_dify``), so
that reading back what was written gives what there was.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.loaded import without


Data = dict[str, Json]

AS_DIFY: Final = "as_dify"  # field → how Dify writes it, for what is lost on the way
DEFAULT_SECONDS: Final = 10
LONGEST_SECONDS: Final = 600

_BODIES: Final[Mapping[str, str]] = {
    "raw_text": "raw-text",
    "form_data": "form-data",
    "x_www_form_urlencoded": "x-www-form-urlencoded",
}
_BODIES_OUT: Final[Mapping[str, str]] = {ours: theirs for theirs, ours in _BODIES.items()}
_TEXTS: Final = frozenset({"json", "raw-text"})


def http_inward(data: Data) -> Data:
    kept = data.get(AS_DIFY)
    kept = kept if isinstance(kept, Mapping) else {}
    result = without(data, AS_DIFY)
    for name, translate in _INWARD.items():
        if name in kept and _OUTWARD[name](kept[name]) == data.get(name):
            result[name] = kept[name]
        elif name in data:
            result[name] = translate(data[name])
    if "timeout" not in data:
        result["timeout"] = DEFAULT_SECONDS
    elif kept.get("timeout", 0) is None and data["timeout"] == LONGEST_SECONDS:
        del result["timeout"]  # there was none
    return result


def http_outward(data: Data) -> Data:
    result, kept = dict(data), {}
    for name, translate in _OUTWARD.items():
        if name not in data:
            continue
        result[name] = translate(data[name])
        if _INWARD[name](result[name]) != data[name]:
            kept[name] = data[name]
    if "timeout" not in data:
        # xworkflow's own default is ten seconds, Dify's ten minutes.
        result["timeout"], kept["timeout"] = LONGEST_SECONDS, None
    return {**result, AS_DIFY: kept} if kept else result


def _lines_inward(written: Json) -> Json:
    """A list becomes lines, unless lines couldn't hold it."""
    if not isinstance(written, list) or not all(map(_is_pair, written)):
        return written
    lines = "\n".join(f"{item['key']}:{item['value']}" for item in written)
    return lines if _lines_outward(lines) == written else written


def _lines_outward(written: Json) -> Json:
    if not isinstance(written, str):
        return written
    pairs = (line.partition(":") for line in written.splitlines() if line.strip())
    return [
        {"key": key.strip(), "value": value.strip()} for key, _colon, value in pairs if key.strip()
    ]


def _body_inward(body: Json) -> Json:
    if not isinstance(body, Mapping) or body.get("type") not in _BODIES:
        return body
    return {**body, "type": _BODIES[body["type"]]}


def _body_outward(body: Json) -> Json:
    if not isinstance(body, Mapping):
        return body
    kind, data = body.get("type"), body.get("data")
    result = {**body, "type": _BODIES_OUT.get(kind, kind) if isinstance(kind, str) else kind}
    if (
        kind in _TEXTS
        and isinstance(data, list)
        and len(data) == 1
        and isinstance(data[0], Mapping)
    ):
        result["data"] = data[0].get("value", "")
    elif kind in ("form-data", "x-www-form-urlencoded") and isinstance(data, list):
        result["data"] = [
            {"key": item.get("key", ""), "value": item.get("value", "")}
            for item in data
            if isinstance(item, Mapping) and item.get("type", "text") == "text"
        ]
    elif kind == "none":
        result = {"type": "none"}
    return result


def _authorization_inward(written: Json) -> Json:
    if not isinstance(written, Mapping):
        return written
    kind = written.get("type")
    return _AUTHORIZATIONS[kind](written) if kind in _AUTHORIZATIONS else written


def _api_key(written: Mapping[str, Json]) -> Json:
    if written.get("position", "header") == "query":
        return {
            "type": "in-query",
            "key": written.get("key", ""),
            "value": written.get("value", ""),
        }
    return _config("custom", written.get("value", ""), written.get("key", ""))


def _basic(written: Mapping[str, Json]) -> Json:
    name, password = written.get("username", ""), written.get("password", "")
    return _config("basic", f"{name}:{password}", "")


def _config(kind: str, key: Json, header: Json) -> Json:
    return {"type": "api-key", "config": {"type": kind, "api_key": key, "header": header}}


_AUTHORIZATIONS: Final[Mapping[Json, Callable[[Mapping[str, Json]], Json]]] = {
    "no_auth": lambda written: {"type": "no-auth", "config": None},
    "api_key": _api_key,
    "bearer_token": lambda written: _config("bearer", written.get("token", ""), ""),
    "basic_auth": _basic,
    "custom_headers": lambda written: {**written, "type": "custom-headers"},
}


def _authorization_outward(written: Json) -> Json:
    if not isinstance(written, Mapping):
        return written
    kind, config = written.get("type"), written.get("config")
    if kind == "no-auth":
        return {"type": "no_auth"}
    if kind == "custom-headers":
        return {**written, "type": "custom_headers"}
    if kind == "in-query":
        return {**without(written, "type"), "type": "api_key", "position": "query"}
    if kind != "api-key" or not isinstance(config, Mapping):
        return written
    return _config_outward(config, written)


def _config_outward(config: Mapping[str, Json], written: Mapping[str, Json]) -> Json:
    key, header = str(config.get("api_key") or ""), str(config.get("header") or "")
    kind = config.get("type")
    plain = header in ("", "Authorization")
    if kind == "bearer" and plain:
        return {"type": "bearer_token", "token": key}
    if kind == "basic" and plain and ":" in key:
        name, _colon, password = key.partition(":")
        return {"type": "basic_auth", "username": name, "password": password}
    if kind == "custom":
        name = header or "Authorization"
        return {"type": "api_key", "key": name, "value": key, "position": "header"}
    prefix = {"bearer": "Bearer ", "basic": "Basic "}.get(str(kind))
    if prefix is None:
        return dict(written)
    headers = [{"key": header or "Authorization", "value": prefix + key}]
    return {"type": "custom_headers", "headers": headers}


def _timeout_inward(written: Json) -> Json:
    return written


def _timeout_outward(written: Json) -> Json:
    if not isinstance(written, Mapping):
        return written
    given = [written.get(name) for name in ("read", "write", "connect")]
    return next(
        (value for value in given if isinstance(value, int | float) and value), LONGEST_SECONDS
    )


def _is_pair(item: Json) -> bool:
    return (
        isinstance(item, Mapping)
        and set(item) == {"key", "value"}
        and all(isinstance(part, str) for part in item.values())
    )


_INWARD: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _lines_inward,
    "params": _lines_inward,
    "body": _body_inward,
    "authorization": _authorization_inward,
    "timeout": _timeout_inward,
}
_OUTWARD: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _lines_outward,
    "params": _lines_outward,
    "body": _body_outward,
    "authorization": _authorization_outward,
    "timeout": _timeout_outward,
}
