"""Derives the fields of a Pydantic model from a dataclass, so that each field is declared once."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, create_model


M = TypeVar("M", bound=BaseModel)


def with_fields_of(
    record: type, *, required: bool = False, optional: bool = False
) -> Callable[[type[M]], type[M]]:
    """Decorate a model to add the fields of the dataclass ``record`` that the model doesn't declare itself.

    The added fields have the dataclass's defaults; ``required`` removes the defaults, ``optional`` sets them to None.
    """
    hints = get_type_hints(record)

    def derive(model: type[M]) -> type[M]:
        new_fields: dict[str, Any] = {}  # Any: a type and a default, as create_model takes them
        for field in fields(record):
            if field.name in model.model_fields:
                continue
            hint = hints[field.name]
            if optional:
                new_fields[field.name] = (hint | None, None)
            elif required or (field.default is MISSING and field.default_factory is MISSING):
                new_fields[field.name] = (hint, ...)
            else:
                new_fields[field.name] = (hint, field.default)
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__,
            **new_fields,
        )  # fmt: skip

    return derive
