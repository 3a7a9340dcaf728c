"""What a page sends about looking into a run: JSON in one field of the form."""

import json
from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from config import strict
from workflows.engine.document import Json
from workflows.errors import InvalidValue
from workflows.services.debugging.options import RunOptions, part_asked


LONGEST = 1024 * 1024


def options_of(data: Mapping[str, str], *, pins: bool) -> RunOptions | None:
    """None: nothing was asked for. ``pins``: whether this person's runs take pinned outputs."""
    text = data.get("debug", "")
    if not text.strip():
        return RunOptions(pins=True) if pins else None
    if len(text) > LONGEST:
        raise InvalidValue(_("That is too much."), field="debug")
    try:
        asked = strict.loads(text)
    except (strict.NotStrictJson, ValueError) as broken:
        raise InvalidValue(_("That is not JSON."), field="debug") from broken
    if not isinstance(asked, dict):
        raise InvalidValue(_("That is not JSON."), field="debug")
    return RunOptions(
        part=part_asked(
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
        found = strict.loads(text)
    except (strict.NotStrictJson, ValueError) as broken:
        raise InvalidValue(_("That is not JSON."), field="outputs") from broken
    if not isinstance(found, dict):
        raise InvalidValue(_("Outputs are an object: names and values."), field="outputs")
    return found


def as_typed(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _names(given: Json) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
        raise InvalidValue(_("Nodes are named by a list of their ids."), field="debug")
    return tuple(given)


def _values(given: Json) -> Mapping[str, Mapping[str, Json]]:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise InvalidValue(_("Values are given by node and output."), field="values")
    return given


def _uuid(given: Json) -> UUID | None:
    if not given:
        return None
    try:
        return UUID(str(given))
    except ValueError:
        raise InvalidValue(_("That is no run."), field="reuse") from None
