"""Translates HTTP requests between xworkflow's vocabulary and Dify's, which the engine uses.

If one format cannot express a value, the Dify value is stored next to the translation under ``as_dify``, so that
reading a written document gives the original.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.reading import drop_keys, get_text


Data = dict[str, Json]

AS_DIFY: Final = "as_dify"  # field → its Dify value, if the translation loses something
DEFAULT_SECONDS: Final = 10
MAX_SECONDS: Final = 600

_DIFY_BODY_TYPES: Final[Mapping[str, str]] = {
    "raw_text": "raw-text",
    "form_data": "form-data",
    "x_www_form_urlencoded": "x-www-form-urlencoded",
}
_XWORKFLOW_BODY_TYPES: Final = {dify: xworkflow for xworkflow, dify in _DIFY_BODY_TYPES.items()}
_TEXT_BODY_TYPES: Final = frozenset({"json", "raw-text"})


def translate_http_to_dify(data: Data) -> Data:
    """Return xworkflow's data with Dify's fields. A Dify value under ``as_dify`` is used until its field is edited."""
    dify_values = data.get(AS_DIFY)
    dify_values = dify_values if isinstance(dify_values, Mapping) else {}
    result = drop_keys(data, AS_DIFY)
    for name, translate in _TO_DIFY.items():
        if name in dify_values and _TO_XWORKFLOW[name](dify_values[name]) == data.get(name):
            result[name] = dify_values[name]
        elif name in data:
            result[name] = translate(data[name])
    if "timeout" not in data:
        result["timeout"] = DEFAULT_SECONDS
    elif dify_values.get("timeout", 0) is None and data["timeout"] == MAX_SECONDS:
        del result["timeout"]  # the Dify document has no timeout
    return result


def translate_http_to_xworkflow(data: Data) -> Data:
    """Return Dify's data with xworkflow's fields, and with ``as_dify`` for values that would not survive."""
    result, dify_values = dict(data), {}
    for name, translate in _TO_XWORKFLOW.items():
        if name not in data:
            continue
        result[name] = translate(data[name])
        if _TO_DIFY[name](result[name]) != data[name]:
            dify_values[name] = data[name]
    if "timeout" not in data:
        # xworkflow's default is ten seconds, Dify's ten minutes.
        result["timeout"], dify_values["timeout"] = MAX_SECONDS, None
    return {**result, AS_DIFY: dify_values} if dify_values else result


def _translate_lines_to_dify(value: Json) -> Json:
    """Convert a list of pairs to lines, or return it unchanged if the lines would give another list."""
    if not isinstance(value, list) or not all(map(_is_pair, value)):
        return value
    lines = "\n".join(f"{item['key']}:{item['value']}" for item in value)
    return lines if _translate_lines_to_xworkflow(lines) == value else value


def _translate_lines_to_xworkflow(text: Json) -> Json:
    if not isinstance(text, str):
        return text
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return [
        {"key": key.strip(), "value": value.strip()}
        for key, _separator, value in pairs
        if key.strip()
    ]


def _translate_body_to_dify(body: Json) -> Json:
    if not isinstance(body, Mapping):
        return body
    body_type = _DIFY_BODY_TYPES.get(get_text(body.get("type")))
    return body if body_type is None else {**body, "type": body_type}


def _translate_body_to_xworkflow(body: Json) -> Json:
    if not isinstance(body, Mapping):
        return body
    body_type, data = body.get("type"), body.get("data")
    if body_type == "none":
        return {"type": "none"}
    result = {**body, "type": _XWORKFLOW_BODY_TYPES.get(get_text(body_type), body_type)}
    if get_text(body_type) in _TEXT_BODY_TYPES and isinstance(data, list) and len(data) == 1:
        if isinstance(data[0], Mapping):
            result["data"] = data[0].get("value", "")
    elif body_type in ("form-data", "x-www-form-urlencoded") and isinstance(data, list):
        result["data"] = [
            {"key": item.get("key", ""), "value": item.get("value", "")}
            for item in data
            if isinstance(item, Mapping) and item.get("type", "text") == "text"
        ]
    return result


def _translate_authorization_to_dify(authorization: Json) -> Json:
    if not isinstance(authorization, Mapping):
        return authorization
    translate = _AUTHORIZATIONS.get(get_text(authorization.get("type")))
    return authorization if translate is None else translate(authorization)


def _translate_api_key(authorization: Mapping[str, Json]) -> Json:
    key, value = authorization.get("key", ""), authorization.get("value", "")
    if authorization.get("position", "header") == "query":
        return {"type": "in-query", "key": key, "value": value}
    return _build_config("custom", value, key)


def _translate_basic(authorization: Mapping[str, Json]) -> Json:
    name, password = authorization.get("username", ""), authorization.get("password", "")
    return _build_config("basic", f"{name}:{password}", "")


def _build_config(auth_type: str, key: Json, header: Json) -> Json:
    return {"type": "api-key", "config": {"type": auth_type, "api_key": key, "header": header}}


_AUTHORIZATIONS: Final[Mapping[str, Callable[[Mapping[str, Json]], Json]]] = {
    "no_auth": lambda authorization: {"type": "no-auth", "config": None},
    "api_key": _translate_api_key,
    "bearer_token": lambda bearer: _build_config("bearer", bearer.get("token", ""), ""),
    "basic_auth": _translate_basic,
    "custom_headers": lambda authorization: {**authorization, "type": "custom-headers"},
}


def _translate_authorization_to_xworkflow(authorization: Json) -> Json:
    if not isinstance(authorization, Mapping):
        return authorization
    auth_type, config = authorization.get("type"), authorization.get("config")
    if auth_type == "no-auth":
        return {"type": "no_auth"}
    if auth_type == "custom-headers":
        return {**authorization, "type": "custom_headers"}
    if auth_type == "in-query":
        return {**drop_keys(authorization, "type"), "type": "api_key", "position": "query"}
    if auth_type != "api-key" or not isinstance(config, Mapping):
        return authorization
    return _translate_config_to_xworkflow(config, authorization)


def _translate_config_to_xworkflow(
    config: Mapping[str, Json], authorization: Mapping[str, Json]
) -> Json:
    key, header = str(config.get("api_key") or ""), str(config.get("header") or "")
    config_type = config.get("type")
    uses_default_header = header in ("", "Authorization")
    if config_type == "bearer" and uses_default_header:
        return {"type": "bearer_token", "token": key}
    if config_type == "basic" and uses_default_header and ":" in key:
        name, _separator, password = key.partition(":")
        return {"type": "basic_auth", "username": name, "password": password}
    if config_type == "custom":
        name = header or "Authorization"
        return {"type": "api_key", "key": name, "value": key, "position": "header"}
    prefix = {"bearer": "Bearer ", "basic": "Basic "}.get(str(config_type))
    if prefix is None:
        return dict(authorization)
    headers = [{"key": header or "Authorization", "value": prefix + key}]
    return {"type": "custom_headers", "headers": headers}


def _translate_timeout_to_xworkflow(timeout: Json) -> Json:
    if not isinstance(timeout, Mapping):
        return timeout
    seconds = [timeout.get(name) for name in ("read", "write", "connect")]
    valid = (value for value in seconds if isinstance(value, int | float) and value)
    return next(valid, MAX_SECONDS)


def _is_pair(item: Json) -> bool:
    return (
        isinstance(item, Mapping)
        and set(item) == {"key", "value"}
        and all(isinstance(part, str) for part in item.values())
    )


_TO_DIFY: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _translate_lines_to_dify,
    "params": _translate_lines_to_dify,
    "body": _translate_body_to_dify,
    "authorization": _translate_authorization_to_dify,
    "timeout": lambda timeout: timeout,
}
_TO_XWORKFLOW: Final[Mapping[str, Callable[[Json], Json]]] = {
    "headers": _translate_lines_to_xworkflow,
    "params": _translate_lines_to_xworkflow,
    "body": _translate_body_to_xworkflow,
    "authorization": _translate_authorization_to_xworkflow,
    "timeout": _translate_timeout_to_xworkflow,
}
