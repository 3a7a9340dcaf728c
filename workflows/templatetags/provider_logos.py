"""The mark of a model provider, of ``static/icons.svg``, and its name for people."""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from django import template

from workflows.llm.config import normalize_name
from workflows.llm.presets import find_preset


register = template.Library()

_NUMBER = re.compile(r"-\d+$")  # of a second provider of a kind


@register.filter
def get_logo(name: str) -> str:
    """Return the name of the icon for a provider: its own mark, or else that of any model."""
    preset = find_preset(_NUMBER.sub("", normalize_name(name)))
    return f"logo-{preset.name}" if preset else "model"


class ModelOption(Protocol):
    @property
    def value(self) -> str: ...


class ModelGroup(Protocol):
    """The models of a provider in a list, see ``workflows.views.model_choices``."""

    @property
    def provider(self) -> str: ...
    @property
    def beginning(self) -> str: ...
    @property
    def options(self) -> Sequence[ModelOption]: ...


@register.filter
def get_logo_of_value(value: str, groups: Iterable[ModelGroup]) -> str:
    """Return the name of the icon for the chosen value of a list of models."""
    providers = (each.provider for each in groups if value and value.startswith(each.beginning))
    return next(map(get_logo, providers), "model")


@register.filter
def get_missing_name(value: str, groups: Iterable[ModelGroup]) -> str:
    """Return the name of the chosen model if its provider doesn't list it, or else an empty text."""
    for group in groups if value else ():
        if value.startswith(group.beginning):
            is_listed = any(option.value == value for option in group.options)
            return "" if is_listed else value.removeprefix(group.beginning)
    return ""


@register.filter
def get_provider_title(name: str) -> str:
    """Return the name of a provider as its maker writes it; a name of the team's own stays as it is."""
    preset = find_preset(name)
    return preset.title if preset else name
