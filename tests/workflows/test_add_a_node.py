"""A kind of node made as docs/extend/add-a-node.md says: one file, and everything that shows or runs nodes knows it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import document, end, node, start
from tests.support.translatable import in_python
from workflows.engine import nodes
from workflows.engine.kinds import Kinds
from workflows.engine.language.validation import validate
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.views.canvas.drawing import draw
from workflows.views.editor import palette


HOWTO = Path(__file__).parents[2] / "docs" / "extend" / "add-a-node.md"
TEXTS = {"Shout", "Turns a text into capital letters", "Text", "The text in capital letters"}


@pytest.fixture
def code() -> str:
    return re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)[0]


@pytest.fixture
def kinds(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kinds]:
    """The file lies in a folder of kinds: nothing else tells of it."""
    (tmp_path / "shout.py").write_text(code)
    monkeypatch.setattr(nodes, "__path__", [*nodes.__path__, str(tmp_path)])
    yield Kinds(nodes.find_kinds())
    sys.modules.pop(f"{nodes.__name__}.shout", None)


def drawn(**data: Any) -> Any:
    shout = node("loud", "shout", text_selector=["start", "text"], **data)
    return document(
        [start("text"), shout, end(result=["loud", "text"])],
        ["start -> loud", "loud -> end"],
    )


def test_file_in_the_folder_is_a_kind_beside_the_others(kinds: Kinds) -> None:
    assert set(kinds) == {"shout", *(kind.name for kind in nodes.NODE_KINDS)}


def test_card_shows_its_icon_its_colour_and_its_summary(kinds: Kinds) -> None:
    html = str(draw(drawn(), (), kinds).html)

    card = html.partition('data-id="loud"')[2].partition("</wf-node>")[0]
    assert "wf-data" in card
    assert "wf-i-template" in card
    assert re.findall(r"<small>(\w+)<", card) == ["text"]


def test_palette_offers_it_in_its_group(kinds: Kinds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palette, "load_kinds", lambda: kinds)

    offers = {
        offer.kind: group.name
        for group in palette.list_palette_groups("workflow")
        for offer in group.items
    }

    assert offers["shout"] == "data"


def test_validator_knows_what_it_gives_and_what_it_lacks(kinds: Kinds) -> None:
    empty = document([start("text"), node("loud", "shout"), end(result=["loud", "text"])], [])

    assert list(validate(drawn(), kinds)) == []
    assert ("loud", "text_selector") in [(p.node, p.field) for p in validate(empty, kinds)]


async def test_workflow_runs_it(kinds: Kinds) -> None:
    result = await WorkflowRunner(drawn(), plugins=[kinds["shout"]]).run(inputs={"text": "tea"})

    assert result.outputs == {"result": "TEA"}


def test_texts_are_found_for_translation(code: str) -> None:
    assert {text.msgid for text in in_python(code, "shout.py")} == TEXTS
