"""``manage.py memory_documents``: files of a folder become pages, and what can't be read is said."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.memory.fake_host import FakeHost
from tests.memory.services.documents.uploading import BASE, TEXT, titles
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


def test_files_of_a_folder_become_pages_and_the_others_are_named(
    alice: Person, fake_host: FakeHost, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Handbook.md").write_text(TEXT)
    (tmp_path / "Scan.pdf").write_text("x")
    fake_host.unreadable = {"Scan.pdf": "Scan.pdf may be scanned."}
    arguments = [alice.team.slug, BASE, str(tmp_path), "--as", alice.user.email]

    with pytest.raises(SystemExit):
        call_command("memory_documents", *arguments)
    (tmp_path / "Scan.pdf").unlink()
    call_command("memory_documents", *arguments)

    printed = capsys.readouterr()
    assert f"{tmp_path}/Handbook.md: new, 2 pages\n" in printed.out
    assert f"{tmp_path}/Handbook.md: unchanged\n" in printed.out
    assert f"{tmp_path}/Scan.pdf: Scan.pdf may be scanned.\n" in printed.err
    assert titles(alice) == ["Handbook › Leave › Illness", "Handbook › Leave › Vacation"]


def test_member_of_another_team_is_refused(alice: Person, carol: Person, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="not found"):
        call_command(
            "memory_documents", alice.team.slug, BASE, str(tmp_path), "--as", carol.user.email
        )
