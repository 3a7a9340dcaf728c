"""Removes credentials from a document that is exported without secrets."""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json


CREDENTIAL: Final = "credential_id"


def remove_credentials(kind: str, data: dict[str, Json]) -> dict[str, Json]:
    """Return a copy of a node's data without credentials, their ids, and addresses that work like keys."""
    cleaned = _remove_model_credentials(data)
    return _BY_KIND[kind](cleaned) if kind in _BY_KIND else cleaned


def _remove_model_credentials(data: dict[str, Json]) -> dict[str, Json]:
    model = data.get("model")
    if not isinstance(model, Mapping) or not isinstance(model.get("credentials"), Mapping):
        return data
    blank = dict.fromkeys(model["credentials"], "")
    return {**data, "model": {**model, "credentials": blank}}


def _clean_agent(data: dict[str, Json]) -> dict[str, Json]:
    parameters = data.get("agent_parameters")
    return {**data, "agent_parameters": _remove_credential_ids(parameters)} if parameters else data


def _blank_keys(data: dict[str, Json], *keys: str) -> dict[str, Json]:
    return {key: "" if key in keys else value for key, value in data.items()}


def _remove_credential_ids(value: Json) -> Json:
    # A document is at most forty levels deep, so this recursion ends soon.
    if isinstance(value, Mapping):
        return {
            key: _remove_credential_ids(part) for key, part in value.items() if key != CREDENTIAL
        }
    if isinstance(value, list):
        return [_remove_credential_ids(item) for item in value]
    return value


_BY_KIND: Final[Mapping[str, Callable[[dict[str, Json]], dict[str, Json]]]] = {
    "tool": _remove_credential_ids,
    "agent": _clean_agent,
    "trigger-webhook": lambda data: _blank_keys(data, "webhook_url", "webhook_debug_url"),
    "trigger-plugin": lambda data: _blank_keys(data, "subscription_id"),
}
