"""The places of a form's fields in its message, offered like variables where the message is written."""

from collections.abc import Iterator, Mapping
from typing import Final

from django.utils.translation import gettext as _

from workflows.engine.appearance import iter_objects
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.nodes.control.human_input import FIELD_PLACE, HumanInput


PLACES: Final = "$output"
MESSAGE: Final = "form_content"


def list_form_places(spec: NodeSpec) -> list[dict[str, Json]]:
    """Return the fields of a form as a source of variables for its message only; nothing without fields that have names."""
    if spec.kind != HumanInput.name:
        return []
    places: list[Json] = [*_iter_places(spec.data.get("inputs"))]
    source: dict[str, Json] = {
        "head": PLACES,
        "title": _("Fields of this form"),
        "icon": HumanInput.icon,
        "family": HumanInput.family,
        "place": "built-in",
        "field": MESSAGE,
        "variables": places,
    }
    return [source] if places else []


def _iter_places(fields: Json) -> Iterator[Mapping[str, Json]]:
    for field in iter_objects(fields):
        name = str(field.get("output_variable_name") or "")
        reference = f"{{{{#{PLACES}.{name}#}}}}"
        if FIELD_PLACE.fullmatch(reference):
            label = str(field.get("label") or "")
            yield {
                "at": [PLACES, name],
                "type": str(field.get("type") or ""),
                "help": label,
                "reference": reference,
                "parts": [],
            }
