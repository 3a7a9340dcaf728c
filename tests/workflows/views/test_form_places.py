"""The fields of a form are offered where its message is written, and nowhere else."""

from typing import Any

import pytest

from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes.control.human_input import FIELD_PLACE
from workflows.views.editor.inspector.form_places import list_form_places


COMMENT = {"type": "paragraph", "output_variable_name": "comment", "label": "Your comment"}


def ask(fields: Any) -> NodeSpec:
    return NodeSpec("ask", "human-input", {"inputs": fields})


def test_fields_are_one_source_for_the_message_with_references_that_the_form_understands():
    unnamed = {"type": "number", "output_variable_name": "", "label": "How many?"}

    [source] = list_form_places(ask([COMMENT, unnamed, {"type": "number"}]))

    assert source["field"] == "form_content"
    [place] = source["variables"]
    assert (place["at"], place["help"]) == (["$output", "comment"], "Your comment")
    assert FIELD_PLACE.findall(place["reference"]) == ["comment"]


@pytest.mark.parametrize("fields", [None, [], {}, "comment", [None, 3, "x"], [{"type": "number"}]])
def test_form_without_named_fields_offers_none(fields: Any):
    assert list_form_places(ask(fields)) == []


def test_other_nodes_have_no_form():
    assert list_form_places(NodeSpec("t", "template-transform", {"inputs": [COMMENT]})) == []
