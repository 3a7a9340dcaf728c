import os
from pathlib import Path

import pytest

from config.embedded import layout as module
from config.embedded.layout import MAX_SOCKET_PATH, find_layout, is_open_to_others


def test_layout_short_home_keeps_sockets_inside(tmp_path: Path):
    home = Path("/tmp/m/.mnemoflow")

    assert find_layout(home).sockets == home / "run"


def test_layout_deep_home_moves_sockets_to_a_short_private_folder():
    deep = Path("/tmp") / ("deep/" * 30) / ".mnemoflow"

    sockets = find_layout(deep).sockets

    assert len(os.fsencode(sockets / ".s.PGSQL.5432")) <= MAX_SOCKET_PATH
    assert sockets != find_layout(deep.parent / "other").sockets


def test_layout_root_with_a_closed_home_puts_the_server_where_its_user_can_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    at = find_layout(closed / ".mnemoflow")

    assert at.server_home.parent == module.SYSTEM_HOME
    assert at.valkey_data.is_relative_to(closed)
    assert closed.stat().st_mode & 0o777 == 0o700  # looked at, not opened


def test_layout_plain_user_keeps_everything_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1234)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    at = find_layout(closed / ".mnemoflow")

    assert at.server_home == at.home


def test_layout_path_with_a_comma_has_its_sockets_elsewhere():
    """A comma separates hosts for PostgreSQL's clients."""
    assert find_layout(Path("/tmp/a,b")).sockets.parent == Path("/tmp")


def test_open_to_others_folder_not_there_yet_is_judged_by_its_parents(tmp_path: Path):
    tmp_path.chmod(0o700)

    assert not is_open_to_others(tmp_path / "not" / "yet")
