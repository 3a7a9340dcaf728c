"""How deep containers are nested, also in documents where a container is inside itself."""

import pytest

from workflows.engine.language.containers import find_circles, measure_nesting


@pytest.mark.parametrize(
    ("parents", "depth", "circles"),
    [
        ({}, 0, set()),
        ({"a": None, "b": "ghost"}, 0, set()),
        ({"a": None, "b": "a", "c": "b", "d": "a"}, 2, set()),
        ({"c": "b", "b": "a", "a": None}, 2, set()),
        ({"a": "a"}, 2, {"a"}),
        ({"a": "b", "b": "a", "c": "a", "d": None}, 5, {"a", "b", "c"}),
    ],
)
def test_nesting_is_measured_and_circles_are_found(parents, depth, circles):
    assert measure_nesting(parents) == depth
    assert find_circles(parents) == circles
