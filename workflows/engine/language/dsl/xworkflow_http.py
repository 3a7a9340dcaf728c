"""Translates HTTP requests between xworkflow's vocabulary and Dify's, which the engine uses.

If one side cannot express a value, the other's is stored next to the translation (under ``as_dify``), so that reading
back what was written gives the original.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.loaded import drop_keys


Data = dict[str, Json]

AS_DIFY: Final = "as_dify"  # field → how Dify writes it, for what is lost on the way
DEFAULT_SECONDS: Final = 10
LONGEST_SECONDS: Final = 600

_BODIES: Final[Mapping[str, str]] = {
    "raw_text": "raw-text",
    "form_data": "form-data",
    "x_www_form_urlencoded": "x-www-form-urlencoded",
}
_BODIES_OUT: Final[Mapping[str, str]] = {
    dify_name: xworkflow_name for xworkflow_name, dify_name in _BODIES.items()
}
_TEXTS: Final = frozenset({"json", "raw-text"})


def translate_http_inward(data: Data) -> Data:
    dify_values = data.get(AS_DIFY)
    dify_values = dify_values if isinstance(dify_values, Mapping) else {}
    result = drop_keys(data, AS_DIFY)
    for name, translate in _INWARD.items():
        if name in dify_values and _OUTWARD[name](dify_values[name]) == data.get(name):
            result[name] = dify_values[name]
        elif name in data:
            result[name] = translate(data[name])
    if "timeout" not in data:
        result["timeout"] = DEFAULT_SECONDS
    elif dify_values.get("timeout", 0) is None and data["timeout"] == LONGEST_SECONDS:
        del result["timeout"]  # there was none
    return result


def translate_http_outward(data: Data) -> Data:
    result, dify_values = dict(data), {}
    for name, translate in _OUTWARD.items():
        if name not in data:
            continue
        result[name] = translate(data[name])
        if _INWARD[name](result[name]) != data[name]:
            dify_values[name] = data[name]
    if "timeout" not in data:
        # xworkflow's own default is ten seconds, Dify's ten minutes.
        result["timeout"], dify_values["timeout"] = LONGEST_SECONDS, None
    return {**result, AS_DIFY: dify_values} if dify_values else result


def _translate_lines_inward(value: Json) -> Json:
    """Turn a list into lines, unless lines cannot hold it."""
    if not isinstance(value, list) or not all(map(_is_pair, value)):
        return value
    lines = "\n".join(f"{item['key']}:{item['value']}" for item in value)
    return lines if _translate_lines_outward(lines) == value else value


def _translate_lines_outward(text: Json) -> Json:
    if not isinstance(text, str):
        return text
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return [
        {"key": key.strip(), "value": value.strip()} for key, _colon, value in pairs if key.strip()
    ]


def _translate_body_inward(body: Json) -> Json:
    if not isinstance(body, Mapping) or body.get("type") not in _BODIES:
        return body
    return {**body, "type": _BODIES[body["type"]]}


def _translate_body_outward(body: Json) -> Json:
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


def _translate_authorization_inward(authorization: Json) -> Json:
    if not isinstance(authorization, Mapping):
        return authorization
    kind = authorization.get("type")
    return _AUTHORIZATIONS[kind](authorization) if kind in _AUTHORIZATIONS else authorization


def _translate_api_key(authorization: Mapping[str, Json]) -> Json:
    if authorization.get("position", "header") == "query":
        return {
            "type": "in-query",
            "key": authorization.get("key", ""),
            "value": authorization.get("value", ""),
        }
    return _build_config("custom", authorization.get("value", ""), authorization.get("key", ""))


def _translate_basic(authorization: Mapping[str, Json]) -> Json:
    name, password = authorization.get("username", ""), authorization.get("password", "")
    return _build_config("basic", f"{name}:{password}", "")


def _build_config(kind: str, key: Json, header: Json) -> Json:
    return {"type": "api-key", "config": {"type": kind, "api_key": key, "header": header}}


_AUTHORIZATIONS: Final[Mapping[Json, Callable[[Mapping[str, Json]], Json]]] = {
    "no_auth": lambda authorization: {"type": "no-auth", "config": None},
    "api_key": _translate_api_key,
    "bearer_token": lambda authorization: _build_config(
        "bearer", authorization.get("token", ""), ""
    ),
    "basic_auth": _translate_basic,
    "custom_headers": lambda authorization: {**authorization, "type": "custom-headers"},
}


def _translate_authorization_outward(authorization: Json) -> Json:
    if not isinstance(authorization, Mapping):
        return authorization
    kind, config = authorization.get("type"), authorization.get("config")
    if kind == "no-auth":
        return {"type": "no_auth"}
    if kind == "custom-headers":
        return {**authorization, "type": "custom_headers"}
    if kind == "in-query":
        return {**drop_keys(authorization, "type"), "type": "api_key", "position": "query"}
    if kind != "api-key" or not isinstance(config, Mapping):
        return authorization
    return _translate_config_outward(config, authorization)


def _translate_config_outward(
    config: Mapping[str, Json], authorization: Mapping[str, Json]
) -> Json:
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
        return dict(authorization)
    headers = [{"key": header or "Authorization", "value": prefix + key}]
    return {"type": "custom_headers", "headers": headers}


def _translate_timeout_inward(timeout: Json) -> Json:
    return timeout


def _translate_timeout_outward(timeout: Json) -> Json:
    if not isinstance(timeout, Mapping):
        return timeout
    seconds = [timeout.get(name) for name in ("read", "write", "connect")]
    return next(
        (value for value in seconds if isinstance(value, int | float) and value), LONGEST_SECONDS
    )


def _is_pair(item: Json) -> bool:
    return (
        isinstance(item, Mapping)
        and set(item) == {"key", "value"}
        and all(isinstance(part, str) for part in item.values())
    )


_INWARD: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _translate_lines_inward,
    "params": _translate_lines_inward,
    "body": _translate_body_inward,
    "authorization": _translate_authorization_inward,
    "timeout": _translate_timeout_inward,
}
_OUTWARD: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _translate_lines_outward,
    "params": _translate_lines_outward,
    "body": _translate_body_outward,
    "authorization": _translate_authorization_outward,
    "timeout": _translate_timeout_outward,
}
