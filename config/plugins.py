"""What a package may add: hook specifications, and the one plug-in manager.

A package adds itself with an entry point in the group "mnemoflow"; built-ins are registered in code, by their app.
Each hook returns a mapping or a list, and all answers are merged; the same name twice is an error at start, named.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pluggy


GROUP = "mnemoflow"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class PluginClash(Exception):
    """Two plug-ins offer the same name."""

    retryable = False

    def __init__(self, hook: str, name: str) -> None:
        super().__init__(f"Two plug-ins offer {name!r} as one of the {hook.replace('_', ' ')}.")


class Hooks:
    """Values are of the apps' own types, which this package may not import: hence Any."""

    @hookspec
    def node_kinds(self) -> Sequence[Any]:  # type: ignore[empty-body]
        """Node kinds for the canvas and the engine: `workflows.engine.kinds`."""

    @hookspec
    def memory_providers(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Name → factory of a `memory.core.provider.MemoryProvider`."""

    @hookspec
    def embedders(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Name → factory of a `memory.core.embedding.Embedder`, given `memory.embedding.embedders.Options`."""

    @hookspec
    def model_providers(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Name → factory of a model provider: `workflows.llm`."""

    @hookspec
    def scopes(self) -> Mapping[str, Any]:  # type: ignore[empty-body]
        """Scope word → how its namespace is made: `memory.core.scopes`."""


@cache
def manager() -> pluggy.PluginManager:
    plugins = pluggy.PluginManager(GROUP)
    plugins.add_hookspecs(Hooks)
    plugins.load_setuptools_entrypoints(GROUP)
    plugins.check_pending()  # a hook implementation whose name nobody asks for is a typing mistake
    return plugins


def offered(hook: str) -> dict[str, Any]:
    """Everything offered under a hook that returns mappings."""
    found: dict[str, Any] = {}
    for answer in getattr(manager().hook, hook)():
        for name, value in answer.items():
            if name in found:
                raise PluginClash(hook, name)
            found[name] = value
    return found


def listed(hook: str) -> list[Any]:
    """Everything offered under a hook that returns lists."""
    return [item for answer in getattr(manager().hook, hook)() for item in answer]
