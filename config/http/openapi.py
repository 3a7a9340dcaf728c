"""The base of request and response bodies, the types of numbers in requests, and the check of query parameters.

The numbers are bounded, because the database's integers are: a larger one would cause a server error.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any, ParamSpec, Self, TypeVar

from django.http import HttpRequest
from ninja import Schema
from ninja.errors import ValidationError
from ninja.operation import Operation
from pydantic import ConfigDict, Field


P = ParamSpec("P")
R = TypeVar("R")

Offset = Annotated[int, Field(ge=0, le=1_000_000)]
Limit = Annotated[int, Field(ge=1, le=200)]
Number = Annotated[int, Field(ge=1, lt=2**31)]  # of a version or a revision
LongNumber = Annotated[int, Field(ge=1, lt=2**63)]  # of an audit entry


class Body(Schema):
    """The base of request bodies. Unknown fields are rejected as mistakes or attempts to set protected values."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False, frozen=True)

    @classmethod
    def from_object(cls, source: object, /, **values: Any) -> Self:
        """Build the body from ``values``, and from the attributes of ``source`` that have the names of the other fields."""
        names = cls.model_fields.keys() - values.keys()
        return cls(**{name: getattr(source, name) for name in names}, **values)


def with_example(**fields: Any) -> ConfigDict:
    """Return a body's configuration that adds an example to the API's description."""
    return ConfigDict(json_schema_extra={"example": fields})


def refuse_unknown_parameters(run: Callable[P, R]) -> Callable[P, R]:
    """Decorate an operation's ``run`` so that it rejects query parameters that the operation doesn't have.

    Ninja ignores them, and a misspelt filter would return everything.
    """
    operation = getattr(run, "__self__")  # noqa: B009  # run is a method of Ninja's Operation
    view, allowed = operation.view_func, frozenset(_list_query_names(operation))

    @wraps(view)
    def run_checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        _refuse_unknown(request, allowed)
        return view(request, *args, **kwargs)

    operation.view_func = run_checked
    return run


def _list_query_names(operation: Operation) -> Iterator[str]:
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            yield from model.__ninja_flatten_map__


def _refuse_unknown(request: HttpRequest, allowed: frozenset[str]) -> None:
    if unknown := sorted(set(request.GET) - allowed):
        message = "Extra inputs are not permitted"
        problem = {"type": "extra_forbidden", "msg": message}
        raise ValidationError([problem | {"loc": ("query", name)} for name in unknown])
