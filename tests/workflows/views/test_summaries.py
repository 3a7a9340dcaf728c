"""What a card says of its node in one line."""

from tests.support.documents import node
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.summaries import label_handles, summarize_node


KINDS = build_kinds()


def test_variable_in_a_line_goes_by_its_own_name():
    spec = node("a", "answer", answer="Well: {{#llm_d9a7.text#}} of {{#sys.user_id#}}, {{ x }}")

    assert summarize_node(spec, KINDS) == "Well: {text} of {user_id}, {{ x }}"


def test_branches_of_a_classifier_go_by_the_names_of_their_classes():
    classes = [{"id": "1", "name": "About {{#start.topic#}}"}, {"id": "2", "name": ""}]
    spec = node("a", "question-classifier", classes=classes, default_branch=True)

    labels = label_handles(spec, KINDS, ("1", "2", "default"))

    assert [label.text or label.word for label in labels] == [
        "About {topic}",
        "Class 2",
        "Otherwise",
    ]
