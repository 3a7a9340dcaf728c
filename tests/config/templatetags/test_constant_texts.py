"""A constant text is translated once for each language; all others each time."""

import pytest
from django.template import engines
from django.utils import translation


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that are looked up in the catalogs."""
    texts: list[str] = []
    catalogs = translation._trans
    gettext, pgettext = catalogs.gettext, catalogs.pgettext

    def record(text: str) -> str:
        texts.append(text)
        return str(gettext(text))

    def record_in_context(context: str, text: str) -> str:
        texts.append(f"{context}: {text}")
        return str(pgettext(context, text))

    monkeypatch.setattr(catalogs, "gettext", record)
    monkeypatch.setattr(catalogs, "pgettext", record_in_context)
    return texts


def render(template: object, language: str, **values: object) -> str:
    with translation.override(language):
        return str(template.render(values))


def test_constant_text_is_looked_up_once_for_each_language(looked_up: list[str]):
    template = engines["django"].from_string(
        '{% load i18n %}{% translate "Search" %} {% translate "System" context "theme" %}'
    )

    texts = [render(template, language) for language in ("en", "zh-hans", "en", "zh-hans")]

    assert texts == ["Search System", "搜索 跟随系统"] * 2
    assert looked_up.count("Search") == 2


@pytest.mark.parametrize(
    "source",
    [
        "{% translate text %}",
        "{% translate text|default:'' %}",
        "{% translate 'Search' as found %}{{ found }}",
    ],
)
def test_other_text_is_looked_up_each_time(source: str, looked_up: list[str]):
    template = engines["django"].from_string("{% load i18n %}" + source)

    text = render(template, "zh-hans", text="Search")
    count = len(looked_up)
    text_again = render(template, "zh-hans", text="Search")

    assert (text, text_again) == ("搜索", "搜索")
    assert len(looked_up) == 2 * count > 0


def test_constant_text_is_escaped_where_texts_are_escaped():
    template = engines["django"].from_string(
        "{% load i18n %}{% for part in parts %}{% translate '<b>' noop %}"
        "{% autoescape off %}{% translate '<b>' noop %}{% endautoescape %}{% endfor %}"
    )

    assert render(template, "en", parts="ab") == "<b><b>" * 2
