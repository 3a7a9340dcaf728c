"""The façade of memory offers exactly what other apps use."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.env import ROOT
from memory import public
from workflows import memory_app


APPS = ("accounts", "config", "workflows")
OF_THE_SWITCH = {"MemoryIsOff", "is_on", "offers_nodes"}


def list_modules() -> Iterator[Path]:
    for app in APPS:
        yield from (ROOT / app).rglob("*.py")


def list_used_names(source: str) -> Iterator[str]:
    """Yield each name that is used as ``memory_app.name``, also in annotations that are strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "memory_app":
                yield node.attr
        elif isinstance(node, ast.Constant) and "memory_app." in (text := str(node.value)):
            yield from list_used_names(text)


def test_each_public_name_is_used_by_another_app_and_none_is_missing():
    used = {
        name
        for path in list_modules()
        if "memory_app" in (source := path.read_text())
        for name in list_used_names(source)
    }

    assert used - OF_THE_SWITCH == set(public.__all__)


def test_name_is_looked_up_in_the_facade():
    assert memory_app.MemoryCaller is public.MemoryCaller


def test_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(memory_app, "nonsense")  # noqa: B009


def test_name_is_refused_while_memory_is_off(settings):
    settings.MEMORY_ENABLED = False

    with pytest.raises(memory_app.MemoryIsOff, match="MemoryCaller"):
        memory_app.MemoryCaller  # noqa: B018
