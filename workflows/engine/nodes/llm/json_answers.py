"""Finds the JSON object in a model's answer."""

import json
from typing import Final

from workflows.engine.language.document import Json


_END_OF_REASONING: Final = "</think>"
# More attempts find nothing new, and cost time in an answer full of braces.
_MAX_ATTEMPTS: Final = 200


def find_json_object(answer: str) -> dict[str, Json] | None:
    """Return the first JSON object in an answer, or None.

    There may be reasoning before it, a code fence around it, or any other text.
    """
    text = strip_reasoning(answer)
    position = text.find("{")
    for _ in range(_MAX_ATTEMPTS):
        if position < 0:
            break
        try:
            value, _end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            position = text.find("{", position + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


def strip_reasoning(answer: str) -> str:
    """Return what an answer says after its reasoning."""
    return answer.rsplit(_END_OF_REASONING, 1)[-1].strip()


def _reject_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


# Models write line breaks into strings; the values that JSON lacks (NaN) can't be stored.
_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_reject_constant)
