"""Every text marked for translation has a Chinese one, with the same placeholders; no catalogue is half done."""

import re

import polib
import pytest

from tests.support.translatable import ROOT, in_python, in_template, texts


CHINESE = ROOT / "locale/zh_Hans/LC_MESSAGES/django.po"
# %(name)s, %s and {name}; not %%.
_PLACEHOLDER = re.compile(r"(?<!%)(?:%%)*(%\(\w+\)[a-z]|%[sd]|\{\w*\})")


@pytest.fixture(scope="module")
def catalogue():
    return polib.pofile(str(CHINESE))


@pytest.fixture(scope="module")
def said():
    return texts()


def test_every_text_has_a_chinese_translation(catalogue, said):
    known = {(entry.msgctxt, entry.msgid): _translations(entry) for entry in catalogue}

    missing = sorted(
        f"{text.where}: {text.msgid!r}" for text in said if not all(known.get(text.key, [""]))
    )

    assert not missing, "run `make messages` and translate:\n" + "\n".join(missing)


def test_plurals_are_plurals_in_the_catalogue(catalogue, said):
    plurals = {
        (entry.msgctxt, entry.msgid): entry.msgid_plural
        for entry in catalogue
        if entry.msgid_plural
    }

    wanted = {text.key: text.plural for text in said if text.plural}

    assert wanted.items() <= plurals.items()


def test_nothing_is_translated_that_nobody_says(catalogue, said):
    keys = {text.key for text in said}

    assert [entry.msgid for entry in catalogue if (entry.msgctxt, entry.msgid) not in keys] == []


def test_translations_keep_the_placeholders(catalogue):
    wrong = [
        entry.msgid
        for entry in catalogue
        for translation in _translations(entry)
        if _placeholders(translation) != _placeholders(entry.msgid_plural or entry.msgid)
    ]

    assert wrong == []


def test_no_translation_is_a_guess(catalogue):
    assert [entry.msgid for entry in catalogue if entry.fuzzy or entry.obsolete] == []


def test_catalogue_is_sorted_and_says_no_line_numbers(catalogue):
    keys = [(entry.msgid, entry.msgctxt or "") for entry in catalogue]

    assert keys == sorted(keys)
    assert not any(entry.occurrences for entry in catalogue)


def test_extraction_finds_what_templates_mark():
    source = """{% load i18n %}{% translate "One" %}{% translate 'May' context "a key" %}{{ x|default:_("never") }}
    {% blocktranslate with a=b %}By {{ a }}{% endblocktranslate %}
    {% blocktranslate count n=n %}One dog{% plural %}{{ n }} dogs{% endblocktranslate %}"""

    found = [(text.context, text.msgid, text.plural) for text in in_template(source, "here")]

    assert found == [
        (None, "One", None),
        ("a key", "May", None),
        (None, "never", None),
        (None, "By %(a)s", None),
        (None, "One dog", "%(n)s dogs"),
    ]


def test_extraction_finds_what_python_marks():
    source = """_("A" "B"); gettext_noop("C"); pgettext("x", "D"); ngettext("E", "Es", n); _(variable); other("F")"""

    found = {(text.context, text.msgid, text.plural) for text in in_python(source, "here")}

    assert found == {(None, "AB", None), (None, "C", None), ("x", "D", None), (None, "E", "Es")}


def test_extraction_refuses_f_strings():
    with pytest.raises(AssertionError, match="here:1"):
        list(in_python('_(f"Hello {name}")', "here"))


def _translations(entry):
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def _placeholders(text):
    return sorted(_PLACEHOLDER.findall(text))


def test_readers_of_chinese_are_spoken_to_in_one_way(catalogue):
    """你, as one who works with you says it; never 您 beside it."""
    polite = [e.msgid for e in catalogue if any("您" in one for one in _translations(e))]

    assert polite == []
