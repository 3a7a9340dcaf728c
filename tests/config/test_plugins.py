from collections.abc import Iterator

import pytest

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
