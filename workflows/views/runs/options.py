"""What a page sends about looking into a run: JSON in one field of the form."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from config.http import strict_json
from workflows.engine.language.document import Json
from workflows.errors import InvalidValue
from workflows.services.debugging.options import RunOptions, select_part


LONGEST = 1024 * 1024


def options_of(data: Mapping[str, str], *, pins: bool) -> RunOptions | None:
    """None: nothing was asked for. ``pins``: whether this person's runs take pinned outputs."""
    text = data.get("debug", "")
    if not text.strip():
        return RunOptions(pins=True) if pins else None
    if len(text) > LONGEST:
        raise InvalidValue(_("This is too large."), field="debug")
    try:
        asked = strict_json.loads(text)
    except (strict_json.NotStrictJson, ValueError) as broken:
        raise InvalidValue(_("This is not valid JSON."), field="debug") from broken
    if not isinstance(asked, dict):
        raise InvalidValue(_("This is not valid JSON."), field="debug")
    return RunOptions(
        part=select_part(
            only=_names(asked.get("only")),
            until=_names(asked.get("until")),
            start_from=_names(asked.get("from")),
        ),
        reuse=_uuid(asked.get("reuse")),
        breakpoints=_names(asked.get("breakpoints")),
        step=asked.get("step") is True,
        memory="sandbox" if asked.get("memory") == "sandbox" else "real",
        pins=pins,
        values=_values(asked.get("values")),
    )


def outputs_of(text: str) -> dict[str, Json]:
    """Outputs as somebody typed them."""
    try:
        found = strict_json.loads(text)
    except (strict_json.NotStrictJson, ValueError) as broken:
        raise InvalidValue(_("This is not valid JSON."), field="outputs") from broken
    if not isinstance(found, dict):
        raise InvalidValue(_("Outputs must be an object of names and values."), field="outputs")
    return found


def as_typed(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _names(given: Json) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
        raise InvalidValue(_("Nodes must be a list of node IDs."), field="debug")
    return tuple(given)


def _values(given: Json) -> Mapping[str, Mapping[str, Json]]:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise InvalidValue(_("Values must be keyed by node and output."), field="values")
    return given


def _uuid(given: Json) -> UUID | None:
    if not given:
        return None
    try:
        return UUID(str(given))
    except ValueError:
        raise InvalidValue(_("This is not a run."), field="reuse") from None
