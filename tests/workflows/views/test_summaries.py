"""What a card says of its node in one line."""

from tests.support.documents import node
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.summaries import summarize_node


KINDS = build_kinds()


def test_variable_in_a_line_goes_by_its_own_name():
    spec = node("a", "answer", answer="Well: {{#llm_d9a7.text#}} of {{#sys.user_id#}}, {{ x }}")

    assert summarize_node(spec, KINDS) == "Well: {text} of {user_id}, {{ x }}"
