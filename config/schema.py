"""The base of every request and response body, and the bounds of the numbers in a request.

The database's integers end where Python's don't: an unbounded number is a server error.
"""

from collections.abc import Iterable
from typing import Annotated

from django.http import HttpRequest
from ninja import Schema
from ninja.errors import ValidationError
from pydantic import ConfigDict, Field


Offset = Annotated[int, Field(ge=0, le=1_000_000)]
Limit = Annotated[int, Field(ge=1, le=200)]
Number = Annotated[int, Field(ge=1, lt=2**31)]  # of a version or a revision
LongNumber = Annotated[int, Field(ge=1, lt=2**63)]  # of an audit entry


class Body(Schema):
    """An unknown field is a mistake, or an attempt to set what isn't offered: refused, never ignored."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False, frozen=True)


def refuse_unknown(request: HttpRequest, known: Iterable[str]) -> None:
    """Query parameters as strict as bodies: ninja leaves out those it was not asked to read."""
    unknown = sorted(set(request.GET) - set(known))
    if unknown:
        message = "Extra inputs are not permitted"
        raise ValidationError(
            [
                {"type": "extra_forbidden", "loc": ("query", name), "msg": message}
                for name in unknown
            ]
        )
