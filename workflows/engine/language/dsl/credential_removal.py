"""What a document must not carry out of the house unless its owner asks for it."""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json, VariableSpec
from workflows.engine.language.values import ValueType


CREDENTIAL: Final = "credential_id"


def is_secret(variable: VariableSpec) -> bool:
    return variable.value_type.strip().lower() == ValueType.SECRET


def clean_node(kind: str, data: dict[str, Json]) -> dict[str, Json]:
    """A copy of a node's data without credentials, their ids, and addresses that work like keys."""
    cleaned = _without_model_credentials(data)
    return _BY_KIND[kind](cleaned) if kind in _BY_KIND else cleaned


def _without_model_credentials(data: dict[str, Json]) -> dict[str, Json]:
    model = data.get("model")
    if not isinstance(model, Mapping) or not isinstance(model.get("credentials"), Mapping):
        return data
    blank = dict.fromkeys(model["credentials"], "")
    return {**data, "model": {**model, "credentials": blank}}


def _tool(data: dict[str, Json]) -> dict[str, Json]:
    return {key: _without_credential_ids(part) for key, part in data.items() if key != CREDENTIAL}


def _agent(data: dict[str, Json]) -> dict[str, Json]:
    parameters = data.get("agent_parameters")
    return {**data, "agent_parameters": _without_credential_ids(parameters)} if parameters else data


def _webhook(data: dict[str, Json]) -> dict[str, Json]:
    return _blanked(data, "webhook_url", "webhook_debug_url")


def _plugin_trigger(data: dict[str, Json]) -> dict[str, Json]:
    return _blanked(data, "subscription_id")


def _blanked(data: dict[str, Json], *keys: str) -> dict[str, Json]:
    return {key: "" if key in keys else value for key, value in data.items()}


def _without_credential_ids(value: Json) -> Json:
    # A document is at most forty levels deep, so this recursion ends soon.
    if isinstance(value, Mapping):
        return {
            key: _without_credential_ids(part) for key, part in value.items() if key != CREDENTIAL
        }
    if isinstance(value, list):
        return [_without_credential_ids(item) for item in value]
    return value


_BY_KIND: Final[Mapping[str, Callable[[dict[str, Json]], dict[str, Json]]]] = {
    "tool": _tool,
    "agent": _agent,
    "trigger-webhook": _webhook,
    "trigger-plugin": _plugin_trigger,
}
