"""Catalogues compile without gettext tools, once, and nothing breaks where they can't be written."""

import gettext
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.utils import translation

from config.translations import compile_outdated


PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

msgid "Memory"
msgstr "{word}"
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "zh_Hans/LC_MESSAGES/django.po"
    path.parent.mkdir(parents=True)
    path.write_text(PO.format(word="记忆"))
    return path


def said(source):
    with source.with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file).gettext("Memory")


def test_compiling_without_a_compiled_file_writes_what_gettext_reads(source, tmp_path):
    written = compile_outdated([tmp_path])

    assert written == [source.with_suffix(".mo")]
    assert said(source) == "记忆"


def test_compiling_again_writes_nothing(source, tmp_path):
    compile_outdated([tmp_path])

    assert compile_outdated([tmp_path]) == []


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_compiling_after_another_checkout_writes_again(source, tmp_path, seconds):
    compile_outdated([tmp_path])
    time = source.stat().st_mtime + seconds
    source.write_text(PO.format(word="回忆"))
    os.utime(source, (time, time))

    compile_outdated([tmp_path])

    assert said(source) == "回忆"


def test_compiling_from_many_threads_leaves_one_whole_file(source, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _number: compile_outdated([tmp_path]), range(32)))

    assert said(source) == "记忆"
    assert sorted(path.name for path in source.parent.iterdir()) == ["django.mo", "django.po"]


def test_compiling_into_a_read_only_folder_says_nothing(source, tmp_path, monkeypatch):
    # Not chmod: root may write anyway.
    def refuse(**_options):
        raise PermissionError

    monkeypatch.setattr("config.translations.tempfile.mkstemp", refuse)

    assert compile_outdated([tmp_path]) == []


def test_started_django_speaks_chinese():
    with translation.override("zh-hans"):
        assert translation.gettext("Page not found") == "页面不存在"
