"""Runs the tests of the walls twice: with bubblewrap, where this machine has it, and without it."""

from collections.abc import Iterator

import pytest

from workflows.sandbox import process


@pytest.fixture(scope="module", params=["bubblewrap", "plain"])
def walls_around(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Start runners inside bubblewrap, or as plain processes by hiding bubblewrap from them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain":
            patch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
        process.get_jail.cache_clear()
        if request.param == "bubblewrap" and not process.is_jailed():
            process.get_jail.cache_clear()
            pytest.skip("bubblewrap isn't installed, or can't build its jail on this machine")
        yield request.param
    process.get_jail.cache_clear()
