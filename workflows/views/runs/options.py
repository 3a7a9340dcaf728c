"""The debugging options of a run: JSON in one field of the form."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from config.http import strict_json
from workflows.engine.language.document import Json
from workflows.errors import InvalidValue
from workflows.services.debugging.options import RunOptions, select_part


MAX_LENGTH = 1024 * 1024


def read_options(data: Mapping[str, str], *, pins: bool) -> RunOptions | None:
    """Read the options, or None if there are none. ``pins``: whether the caller's runs use pinned outputs."""
    text = data.get("debug", "")
    if not text.strip():
        return RunOptions(pins=True) if pins else None
    if len(text) > MAX_LENGTH:
        raise InvalidValue(_("This is too large."), field="debug")
    try:
        payload = strict_json.loads(text)
    except (strict_json.NotStrictJson, ValueError) as error:
        raise InvalidValue(_("This is not valid JSON."), field="debug") from error
    if not isinstance(payload, dict):
        raise InvalidValue(_("This is not valid JSON."), field="debug")
    return RunOptions(
        part=select_part(
            only=_read_names(payload.get("only")),
            until=_read_names(payload.get("until")),
            start_from=_read_names(payload.get("from")),
        ),
        reuse=_read_run_id(payload.get("reuse")),
        breakpoints=_read_names(payload.get("breakpoints")),
        step=payload.get("step") is True,
        memory="sandbox" if payload.get("memory") == "sandbox" else "real",
        pins=pins,
        values=_read_values(payload.get("values")),
    )


def read_outputs(text: str) -> dict[str, Json]:
    """Parse the outputs that a person entered as JSON."""
    try:
        outputs = strict_json.loads(text)
    except (strict_json.NotStrictJson, ValueError) as error:
        raise InvalidValue(_("This is not valid JSON."), field="outputs") from error
    if not isinstance(outputs, dict):
        raise InvalidValue(_("Outputs must be an object of names and values."), field="outputs")
    return outputs


def format_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _read_names(names: Json) -> tuple[str, ...]:
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise InvalidValue(_("Nodes must be a list of node IDs."), field="debug")
    return tuple(names)


def _read_values(values: Json) -> Mapping[str, Mapping[str, Json]]:
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(
        isinstance(outputs, dict) for outputs in values.values()
    ):
        raise InvalidValue(_("Values must be keyed by node and output."), field="values")
    return values


def _read_run_id(text: Json) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(str(text))
    except ValueError:
        raise InvalidValue(_("This is not a run."), field="reuse") from None
