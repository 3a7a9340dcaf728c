"""Where a bench writes: a database of its own, or an empty one that was named."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bench import _services
from config.embedded import layout
from tests.support.cast import Person


@pytest.fixture(autouse=True)
def nothing_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_services, "_set_up_django", nullcontext)


@pytest.mark.django_db
def test_home_is_one_of_its_own_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMOFLOW_HOME", "/somewhere/live")

    with _services.run_temporary_services():
        home = Path(os.environ["MNEMOFLOW_HOME"])
        assert home.parent.is_dir()

    assert home != Path("/somewhere/live")
    assert not home.parent.exists()
    assert os.environ["MNEMOFLOW_HOME"] == "/somewhere/live"


def test_database_of_root_lies_elsewhere_and_is_gone_afterwards_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(layout, "SYSTEM_HOME", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    with _services.make_scratch_folder() as scratch:
        data = layout.find_layout(Path(scratch) / "home").pg_data
        data.mkdir(parents=True)

    assert data.parent.parent == tmp_path
    assert [*tmp_path.iterdir()] == []


@pytest.mark.django_db
def test_database_with_teams_in_it_is_refused_unless_really(alice: Person, capsys: Any) -> None:
    with pytest.raises(SystemExit) as refused, _services.run_temporary_services():
        pytest.fail("it would have filled it")

    assert refused.value.code == _services.REFUSED
    assert "--really" in capsys.readouterr().err
    with _services.run_temporary_services(really=True):
        pass
