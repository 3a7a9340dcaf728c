from collections.abc import Iterator

import pytest

from config.plugins import PluginClash, hookimpl, listed, manager, offered


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
    manager.cache_clear()
    yield
    manager.cache_clear()


def test_offered_merges_what_plugins_offer(plugins: None):
    manager().register(Redis())
    manager().register(Other())

    assert offered("memory_providers") == {"redis": dict, "other": list}
    assert "a kind" in listed("node_kinds")


def test_offered_same_name_twice_is_an_error_that_names_it(plugins: None):
    manager().register(Redis())
    manager().register(Redis())

    with pytest.raises(PluginClash, match="'redis' as one of the memory providers"):
        offered("memory_providers")
