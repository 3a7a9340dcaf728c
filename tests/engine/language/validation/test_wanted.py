"""Settings without which a node runs to no purpose: warned of, and no hindrance."""

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.kinds import Field, NodeKind
from workflows.engine.language.problems import Problem, Severity, select_unfinished
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.nodes import build_kinds


class Wanting(NodeKind):
    name = "wanting"
    title = "Wanting"
    fields = (Field("what", "What", empty_warning="It wants something"), Field("other", "Other"))


KINDS = build_kinds(plugins=[Wanting()])
MODEL = {"provider": "offline", "name": "offline", "mode": "chat", "completion_params": {}}
NO_PROMPT = ("prompt_template", "The prompt is empty")


def said(kind: str, **data: object) -> list[Problem]:
    drawn = document([start("q"), node("n", kind, **data)], ["start -> n"])
    return [one for one in validate(drawn, KINDS) if one.code == "config.empty"]


@for_each(
    "kind, data, expected",
    [
        ("end", {"outputs": []}, ("outputs", "The node has no outputs")),
        ("end", {"outputs": [{"variable": "o", "value_selector": ["start", "q"]}]}, None),
        ("template-transform", {"template": " \n"}, ("template", "The template is empty")),
        ("template-transform", {"template": "x"}, None),
        ("llm", {"model": MODEL, "prompt_template": []}, NO_PROMPT),
        ("llm", {"model": MODEL, "prompt_template": [{"role": "user", "text": " "}]}, NO_PROMPT),
        ("llm", {"model": MODEL, "prompt_template": [{"role": "user", "text": "hi"}]}, None),
        ("wanting", {}, ("what", "It wants something")),
        ("wanting", {"what": 0}, None),
        ("wanting", {"what": "x"}, None),
    ],
)
def test_empty_setting_that_is_wanted_is_a_warning_at_its_field(kind, data, expected):
    problems = said(kind, **data)

    assert [(one.field, one.message) for one in problems] == ([expected] if expected else [])
    assert all((one.node, one.severity) == ("n", Severity.WARNING) for one in problems)


def test_end_without_outputs_is_not_half_made_if_another_end_has_some():
    empty, more = node("n", "end", outputs=[]), node("m", "end", outputs=[])
    full = node("m", "end", outputs=[{"variable": "o", "value_selector": ["start", "q"]}])

    for other, codes in ((more, {"config.empty"}), (full, {"end.empty"})):
        drawn = document([start("q"), empty, other], ["start -> n", "start -> m"])
        problems = [*validate(drawn, KINDS), *validate_node(drawn, KINDS, "n")]
        said_of = [each for each in problems if each.message == "The node has no outputs"]
        assert {each.code for each in said_of} == codes
        assert bool(select_unfinished(said_of)) == (other is more)


def test_messages_written_in_jinja_are_a_prompt():
    written = [{"role": "user", "text": "", "edition_type": "jinja2", "jinja2_text": "{{ q }}"}]

    assert said("llm", model=MODEL, prompt_template=written) == []
