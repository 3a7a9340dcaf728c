"""Every text a script says is written out, so that the catalogue has it and a translator sees a whole sentence."""

import re

from django.utils import translation

from tests.architecture.test_scripts import ROOT, SOURCES
from workflows.views.script_texts import list_texts, translate_texts


TRANSLATOR = "common/translations.js"
SAYING = {
    str(file.relative_to(ROOT)): source
    for file, source in SOURCES.items()
    if str(file.relative_to(ROOT)) != TRANSLATOR
}


def test_every_text_is_written_out():
    """Neither put together from parts nor picked among several: a variable goes in as {name}."""
    built = {name for name, source in SAYING.items() if re.search(r"""\bt\(\s*[^"'\s]""", source)}

    assert not built


def test_only_scripts_that_import_the_translator_call_it():
    others = {
        name
        for name, source in SAYING.items()
        if list_texts(name) and "translations.js" not in source
    }

    assert not others


def test_page_brings_every_text_in_the_readers_language_and_none_in_english():
    assert translate_texts() == {}

    with translation.override("zh-hans"):
        translations = translate_texts()

    assert translations["Undo {what}"] == "撤销 {what}"
    assert len(translations) > 300


def test_page_of_a_run_brings_the_states_of_nodes():
    assert set(list_texts("canvas/view/node_state.js")) == {
        *("Queued", "Running", "Succeeded", "Partially succeeded", "Failed", "Skipped", "Paused"),
        "Retrying",
        *("Waits for an answer", "Waits for permission", "Waits", "Waits for a sub-workflow"),
        "Uncertain: needs a decision",
        "until {time}",
    }
