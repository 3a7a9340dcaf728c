"""Documents need no store, so these tests don't run over each kind of it."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def kept_in() -> str:
    return ""
