"""What a node lacks is named once: its kind leaves what is empty to the check of all kinds."""

from collections import Counter

import pytest

from tests.support.cases import for_each
from workflows.engine.language.document import Document, Json, Mode, NodeSpec
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
EMPTY: dict[str, Json] = {"absent": None, "blank": "", "no rows": []}


@for_each("empty", EMPTY.values(), ids=EMPTY)
@for_each("name", KINDS)
def test_empty_field_has_one_problem(name: str, empty: Json):
    required = [field.name for field in KINDS[name].fields if field.required]
    data = {} if empty is None else dict.fromkeys(required, empty)
    document = Document(
        Mode.CHAT, (NodeSpec("start", "start", {}), NodeSpec("node", name, data)), ()
    )

    problems = validate(document, KINDS)

    named = Counter(problem.field for problem in problems if problem.node == "node")
    assert {field: n for field, n in named.items() if field in required and n > 1} == {}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("http-request", "url"),
        ("list-operator", "variable"),
        ("document-extractor", "variable_selector"),
    ],
)
def test_empty_field_of_a_kind_with_checks_of_its_own_is_named(name: str, field: str):
    document = Document(Mode.CHAT, (NodeSpec("start", "start", {}), NodeSpec("node", name, {})), ())

    problems = [each for each in validate(document, KINDS) if each.field == field]

    assert [each.code for each in problems] == ["config.empty"]
