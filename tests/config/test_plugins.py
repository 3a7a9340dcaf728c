from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest
from structlog.testing import capture_logs

from config.plugins import (
    PluginConflict,
    collect_lists,
    collect_mappings,
    get_plugin_manager,
    hookimpl,
)


class Redis:
    @hookimpl
    def memory_providers(self):
        return {"redis": dict}


class Other:
    @hookimpl
    def memory_providers(self):
        return {"other": list}

    @hookimpl
    def node_kinds(self):
        return ["a kind"]


@pytest.fixture
def plugins() -> Iterator[None]:
    get_plugin_manager.cache_clear()
    yield
    get_plugin_manager.cache_clear()


def test_offered_merges_what_plugins_offer(plugins: None):
    get_plugin_manager().register(Redis())
    get_plugin_manager().register(Other())

    assert collect_mappings("memory_providers") == {"redis": dict, "other": list}
    assert "a kind" in collect_lists("node_kinds")


def test_offered_same_name_twice_is_an_error_that_names_it(plugins: None):
    get_plugin_manager().register(Redis())
    get_plugin_manager().register(Redis())

    with pytest.raises(PluginConflict, match="'redis' as one of the memory providers"):
        collect_mappings("memory_providers")


class Quiet:
    """A plug-in that works, beside those that don't."""

    @hookimpl
    def tools(self):
        return ["a tool"]


class Failing:
    @hookimpl
    def tools(self):
        raise RuntimeError("no licence")


class Mistyped:
    @hookimpl
    def nodekinds(self):
        return []


quiet, failing, mistyped = Quiet(), Failing(), Mistyped()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("tests.config.no_such_module:plugin", "ModuleNotFoundError: No module named"),
        ("tests.config.test_plugins:no_such_name", "AttributeError"),
        ("tests.config.test_plugins:mistyped", "PluginValidationError: unknown hook 'nodekinds'"),
        ("tests.config.test_plugins:failing", "RuntimeError: no licence"),
    ],
)
def test_package_that_fails_is_left_out_and_named(
    plugins: None, monkeypatch: pytest.MonkeyPatch, target: str, reason: str
):
    entries = [
        EntryPoint("broken", target, "mnemoflow"),
        EntryPoint("quiet", "tests.config.test_plugins:quiet", "mnemoflow"),
    ]
    monkeypatch.setattr("config.plugins.entry_points", lambda group: entries)

    with capture_logs() as logs:
        found = collect_lists("tools")

    assert found == ["a tool"]
    assert reason in get_plugin_manager().left_out["broken"]
    assert [(line["event"], line["plugin"]) for line in logs] == [("plugin.left_out", "broken")]


def test_error_of_a_built_in_plugin_is_raised(plugins: None):
    get_plugin_manager().register(Failing())

    with pytest.raises(RuntimeError, match="no licence"):
        collect_lists("tools")
