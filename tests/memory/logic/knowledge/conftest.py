"""The suite runs over a provider, over an item store in memory, and over the store of four functions in the guide."""

from collections.abc import Iterator

import pytest

from tests.memory.logic.support import STORES


# For a module: Hypothesis wants no fixture of a function.
@pytest.fixture(autouse=True, scope="module", params=["provider", "items", "four functions"])
def kept_in(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    STORES.kind, STORES.folder = request.param, tmp_path_factory.mktemp("stores")
    yield request.param
    STORES.kind = "provider"
