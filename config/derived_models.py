"""Pydantic models that follow a dataclass, so that a new field is declared once."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, create_model


M = TypeVar("M", bound=BaseModel)


def with_fields_of(
    record: type, *, required: bool = False, optional: bool = False
) -> Callable[[type[M]], type[M]]:
    """Add the fields of a dataclass that the model doesn't declare itself with another type or limits.

    They have the dataclass's defaults; ``required`` removes the defaults, ``optional`` sets them to None.
    """
    hints = get_type_hints(record)

    def derive(model: type[M]) -> type[M]:
        added: dict[str, Any] = {}  # as create_model takes them
        for field in fields(record):
            if field.name in model.model_fields:
                continue
            hint = hints[field.name]
            if optional:
                added[field.name] = (hint | None, None)
            elif required or (field.default is MISSING and field.default_factory is MISSING):
                added[field.name] = (hint, ...)
            else:
                added[field.name] = (hint, field.default)
        return create_model(
            model.__name__,
            __base__=model,
            __module__=model.__module__,
            __doc__=model.__doc__,
            **added,
        )

    return derive
