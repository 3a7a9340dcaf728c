"""The URLs of scripts follow the scripts: a file that is added or changed is in the next page."""

import os
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template import Context

from workflows.templatetags.modules import import_map, preload_modules


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(finders, "find", lambda _path: str(tmp_path))
    (tmp_path / "editor").mkdir()
    (tmp_path / "editor" / "page.js").write_text("1")
    (tmp_path / "app.js").write_text("1")
    (tmp_path / "notes.txt").write_text("no script")
    return tmp_path


def read_map() -> str:
    return import_map(Context({"csp_nonce": "n"}))


def test_map_has_every_script_and_preloads_have_those_of_the_folder(folder: Path):
    preloads = preload_modules("editor")

    assert [read_map().count(name) for name in ("app.js?", "editor/page.js?", "notes")] == [1, 1, 0]
    assert [preloads.count(name) for name in ("app.js", "/static/js/editor/page.js?")] == [0, 1]


def test_changed_script_has_another_url_and_a_new_one_is_there(folder: Path):
    before = read_map(), preload_modules("editor")
    file = folder / "editor" / "page.js"
    file.write_text("2")
    os.utime(file, ns=(1, 1))
    changed = read_map(), preload_modules("editor")
    (folder / "editor" / "more.js").write_text("1")

    assert len({*before, *changed}) == 4
    assert "editor/more.js?" in read_map()
    assert "editor/more.js?" in preload_modules("editor")
