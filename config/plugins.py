"""Plug-ins: the hook specifications, and the one plug-in manager.

A package registers itself with an entry point in the group "mnemoflow"; built-ins are registered in code, by their app.
Each hook returns a mapping or a list, and the results of all plug-ins are merged. A duplicate name is an error.

A package that can't be loaded, or whose hook fails, is left out and named in the log and by ``manage.py doctor``: the
site works without it, and the cause lies outside of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy
import structlog


GROUP = "mnemoflow"

log = structlog.get_logger(__name__)

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


class PluginManager(pluggy.PluginManager):
    """The plug-ins that work, and why each of the others was left out."""

    def __init__(self) -> None:
        super().__init__(GROUP)
        self.add_hookspecs(Hooks)
        self.packages: dict[
            str, str
        ] = {}  # distribution and version, by the name of the entry point
        self.left_out: dict[str, str] = {}  # reasons, by the same name

    def load_package(self, entry_point: EntryPoint) -> None:
        """Load and register a package's plug-in, or leave it out."""
        package = entry_point.dist
        self.packages[entry_point.name] = f"{package.name} {package.version}" if package else "?"
        try:
            self.register(entry_point.load(), name=entry_point.name)
            self.check_pending()  # an implementation of an unknown hook is a typing mistake
        except (Exception, SystemExit) as error:  # any error of a stranger's module
            self._leave_out(entry_point.name, error)

    def call(self, hook: str) -> Iterator[Any]:
        """Yield what each plug-in returns for a hook. Only an error of a built-in plug-in is raised."""
        for implementation in reversed(getattr(self.hook, hook).get_hookimpls()):
            try:
                result = implementation.function()
            except Exception as error:
                if implementation.plugin_name not in self.packages:
                    raise
                self._leave_out(implementation.plugin_name, error)
            else:
                yield result

    def _leave_out(self, name: str, error: BaseException) -> None:
        self.left_out[name] = f"{type(error).__name__}: {error}"
        if self.has_plugin(name):
            self.unregister(name=name)
        package, why = self.packages[name], self.left_out[name]
        log.error("plugin.left_out", plugin=name, package=package, why=why)


@cache
def get_plugin_manager() -> PluginManager:
    plugins = PluginManager()
    for entry_point in entry_points(group=GROUP):
        plugins.load_package(entry_point)
    return plugins


def collect_mappings(hook: str) -> dict[str, Any]:
    """Merge the results of a hook that returns mappings. Raise ``PluginConflict`` for a duplicate name."""
    merged: dict[str, Any] = {}
    for mapping in get_plugin_manager().call(hook):
        for name, value in mapping.items():
            if name in merged:
                raise PluginConflict(hook, name)
            merged[name] = value
    return merged


def collect_lists(hook: str) -> list[Any]:
    """Merge the results of a hook that returns lists."""
    return [item for items in get_plugin_manager().call(hook) for item in items]
