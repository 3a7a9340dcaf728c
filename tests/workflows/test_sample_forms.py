"""Samples at first sight: their forms are filled, and the first one is made of what new nodes have."""

import re

from django.utils import translation

from tests.support.cases import for_each
from workflows.engine.initial_values import collect_initial_data
from workflows.engine.language.dsl import load_document
from workflows.engine.nodes import build_kinds
from workflows.forms import build_input_fields
from workflows.samples import SAMPLES, SAMPLES_BY_SLUG
from workflows.samples.wording import FOLDER


FORMS = [sample for sample in SAMPLES if not sample.is_chat]


@for_each("language", ["en", "zh-hans"])
@for_each("sample", FORMS, ids=lambda sample: sample.slug)
def test_form_of_a_sample_is_filled_so_that_it_can_be_run_at_once(sample, language):
    with translation.override(language):
        document = load_document(sample.source).document
        fields = build_input_fields(document, last_inputs=sample.trial_inputs)

    assert [field.name for field in fields if field.required and not field.value] == []
    assert any(field.value for field in fields)


def test_no_sample_promises_what_is_still_to_come():
    texts = [path.read_text() for path in FOLDER.glob("*/*.yml")]

    assert not [
        text for text in texts if re.search(r"(?:still )?to come\b|coming soon", text, re.I)
    ]


def test_first_sample_is_made_of_defaults():
    document = load_document(SAMPLES_BY_SLUG["chatbot"].source).document
    kinds = {node.kind: node.data for node in document.nodes}
    system, user = kinds["llm"]["prompt_template"]

    assert [*kinds] == ["start", "memory-recall", "llm", "answer", "memory-store"]
    assert len(document.edges) == 4
    assert len(system["text"].splitlines()) == 3
    assert user["text"] == "{{#sys.query#}}"
    assert "jinja" not in str(document)
    for name in ("memory-recall", "memory-store"):
        initial = collect_initial_data(build_kinds()[name].fields, ("sys", "query"))
        chosen = {key: kinds[name][key] for key in initial}
        assert chosen == initial
