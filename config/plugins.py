"""Plug-ins: the hook specifications, and the one plug-in manager.

A package registers itself with an entry point in the group "mnemoflow"; built-ins are registered in code, by their app.
Each hook returns a mapping or a list, and the results of all plug-ins are merged. A duplicate name is an error.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pluggy


GROUP = "mnemoflow"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class PluginConflict(Exception):
    """Two plug-ins offer the same name."""

    retryable = False

    def __init__(self, hook: str, name: str) -> None:
        super().__init__(f"Two plug-ins provide {name!r} as one of the {hook.replace('_', ' ')}.")


class Hooks:
    """The hooks of a plug-in. Values are ``Any``: their types belong to the apps, which this package may not import."""

    @hookspec
    def node_kinds(self) -> Sequence[Any]:  # type: ignore[empty-body]
        """Return node kinds for the canvas and the engine: `workflows.engine.kinds`."""

    @hookspec
    def memory_providers(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Map names to factories of a `memory.core.provider.MemoryProvider`."""

    @hookspec
    def embedders(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Map names to functions that take `embedders.Options` and return a `memory.core.recall.embedding.Embedder`."""

    @hookspec
    def model_providers(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Map names to factories of a model provider: `workflows.llm`."""

    @hookspec
    def tools(self) -> Sequence[Any]:  # type: ignore[empty-body]
        """Return tools for agents and tool nodes: functions, or `workflows.engine.tools.local_tool.LocalTool`."""

    @hookspec
    def scopes(self) -> Mapping[str, Any]:  # type: ignore[empty-body]
        """Map scope words to the definition of their namespace: `memory.core.scopes`."""


@cache
def get_plugin_manager() -> pluggy.PluginManager:
    plugins = pluggy.PluginManager(GROUP)
    plugins.add_hookspecs(Hooks)
    plugins.load_setuptools_entrypoints(GROUP)
    plugins.check_pending()  # an implementation of an unknown hook is a typing mistake
    return plugins


def collect_mappings(hook: str) -> dict[str, Any]:
    """Merge the results of a hook that returns mappings. Raise ``PluginConflict`` for a duplicate name."""
    merged: dict[str, Any] = {}
    for mapping in getattr(get_plugin_manager().hook, hook)():
        for name, value in mapping.items():
            if name in merged:
                raise PluginConflict(hook, name)
            merged[name] = value
    return merged


def collect_lists(hook: str) -> list[Any]:
    """Merge the results of a hook that returns lists."""
    return [item for items in getattr(get_plugin_manager().hook, hook)() for item in items]
