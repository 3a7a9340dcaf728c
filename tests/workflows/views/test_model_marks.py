"""What a card says about the model that answers for its node."""

import re

import pytest

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.support.documents import document, llm, node, start
from tests.workflows.views.test_inspector import document as settings
from tests.workflows.views.test_inspector import fragment
from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes import build_kinds
from workflows.llm.config import ProviderConfig
from workflows.llm.directory import Mapping, ModelDirectory
from workflows.views.canvas.cards import build_card
from workflows.views.canvas.drawing import draw


KINDS = build_kinds()
OLLAMA = ProviderConfig("ollama", default_model="tiny")
DEFAULT = Mapping("default", "", "ollama", "tiny")


def naming(provider: str, model: str) -> NodeSpec:
    return llm("llm", model={"provider": provider, "name": model, "mode": "chat"})


@pytest.mark.parametrize(
    ("configs", "mappings", "named", "name", "word"),
    [
        ([], [], ("openai", "gpt-4o-mini"), "Demo model", "Offline"),
        ([OLLAMA], [DEFAULT], ("openai", "gpt-4o-mini"), "ollama/tiny", "Mapped"),
        ([OLLAMA], [DEFAULT], ("default", "default"), "ollama/tiny", ""),
        ([OLLAMA], [DEFAULT], ("ollama", "large"), "large", ""),
        ([OLLAMA], [], ("openai", "gpt-4o-mini"), "Demo model", "Offline"),
        ([OLLAMA], [DEFAULT], ("offline", "offline"), "Demo model", "Offline"),
        (
            [ProviderConfig("ollama", default_model="tiny", is_unreachable=True)],
            [DEFAULT],
            ("ollama", "tiny"),
            "ollama/tiny",
            "Not reachable",
        ),
    ],
)
def test_card_names_the_model_that_answers(
    configs: list[ProviderConfig],
    mappings: list[Mapping],
    named: tuple[str, str],
    name: str,
    word: str,
) -> None:
    card = build_card(naming(*named), KINDS, models=ModelDirectory(configs, mappings))

    assert card.line == name
    assert (card.model_badge.word if card.model_badge else "") == word


@pytest.mark.parametrize(
    ("configs", "mappings", "line"),
    [
        ([OLLAMA], [DEFAULT], "User · facts by tiny"),
        ([OLLAMA], [], "User · facts from this turn"),  # the default is the offline demo model
        ([], [], "User · facts from this turn"),
    ],
)
def test_card_names_the_model_that_takes_the_facts(
    configs: list[ProviderConfig], mappings: list[Mapping], line: str
) -> None:
    keep = node("keep", "memory-store", scope="user", source="facts")

    card = build_card(keep, KINDS, models=ModelDirectory(configs, mappings))

    assert (card.line, card.model_badge) == (line, None)


def test_drawing_has_the_badge_with_its_reason() -> None:
    html = draw(
        document([start(), naming("openai", "gpt-4o-mini")], []), models=ModelDirectory()
    ).html

    assert 'class="wf-pill wf-pill-offline"' in html
    assert "until a model is connected on the page Models" in html


def test_form_links_the_word_models_in_the_sentence(alice: Person) -> None:
    sentence = "until a model is connected on the page"

    model = {"provider": "openai", "name": "gpt-4o-mini", "mode": "chat"}
    html = fragment(alice, make_workflow(alice, "Linked", settings("llm", model=model)))

    [(before, after)] = re.findall(r"([^>]*)<a href=\"/models/\">Models</a>([^<]*)", html)
    assert (before.strip().endswith(sentence), after.strip()) == (True, ".")


def test_drawing_without_the_teams_models_shows_what_the_document_names() -> None:
    html = draw(document([start(), naming("openai", "gpt-4o-mini")], [])).html

    assert ("gpt-4o-mini" in html, "wf-pill" in html) == (True, False)
