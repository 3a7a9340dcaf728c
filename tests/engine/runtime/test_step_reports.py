"""What the label of an edge says about the outputs of a node."""

import pytest

from workflows.engine.runtime.step_reports import count_items


@pytest.mark.parametrize(
    ("outputs", "items"),
    [
        ({}, None),
        ({"text": "hi"}, None),
        ({"output": [1, 2, 3]}, 3),
        ({"results": [], "count": 0}, 0),
        ({"results": [], "text": "", "count": 0}, 0),
        # An agent answers with a text beside lists that are usually empty.
        ({"text": "done", "json": [], "files": []}, None),
        ({"text": "done", "json": [], "rounds": [1, 2]}, 2),
    ],
)
def test_items_are_those_of_the_list_that_has_some(outputs, items):
    assert count_items(outputs) == items
