"""The base of every request and response body."""

from ninja import Schema
from pydantic import ConfigDict


class Body(Schema):
    """An unknown field is a mistake, or an attempt to set what isn't offered: refused, never ignored."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False, frozen=True)
