"""An icon is drawn once for each name and style, and as Django's own tag would."""

import pytest
from django.template import engines
from django.template.base import Template as PlainTemplate

from config.templatetags.drawn_icons import ICON, _drawn_icons


def draw(source: str, **values: object) -> str:
    return engines["django"].from_string(source).render(values)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Return the names of the templates that are rendered."""
    names: list[str | None] = []
    render = PlainTemplate._render

    def record(template: PlainTemplate, context: object) -> object:
        names.append(template.name)
        return render(template, context)

    monkeypatch.setattr(PlainTemplate, "_render", record)
    _drawn_icons.clear()
    return names


def test_icons_are_drawn_once_for_each_name_and_style(rendered: list[str | None]):
    source = (
        f'{{% for name in names %}}{{% include "{ICON}" with name=name only %}}{{% endfor %}}'
        f'{{% include "{ICON}" with name="run" class="icon-s" only %}}'
    )

    text = draw(source, names=["run", "team", "run"])

    assert rendered.count(ICON) == 3
    assert [text.count(f"#{name}") for name in ("run", "team")] == [3, 1]
    assert text.count("icon-s") == 1
    assert draw(source, names=["run", "team", "run"]) == text
    assert rendered.count(ICON) == 3


def test_name_of_an_icon_is_escaped_each_time(rendered: list[str | None]):
    source = f'{{% include "{ICON}" with name=name only %}}'

    texts = {draw(source, name='"><script>') for _time in range(2)}

    assert ["<script>" in text for text in texts] == [False]


def test_icon_that_reads_its_context_is_drawn_each_time(rendered: list[str | None]):
    source = f'{{% include "{ICON}" with class="icon-s" %}}'

    texts = [draw(source, name=name) for name in ("run", "team")]

    assert [f"#{name}" in text for name, text in zip(("run", "team"), texts, strict=True)] == [
        True,
        True,
    ]
    assert rendered.count(ICON) == 2
