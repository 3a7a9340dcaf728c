"""What the shell's smaller commands print."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from workflows.management.commands import rotate_secrets


def test_conformance_group_that_is_none_lists_those_there_are(tmp_path: Path) -> None:
    cases = '{"id": "1", "group": "%s", "file": "a.yml"}'
    listed = ", ".join(cases % group for group in ("loops", "answers", "loops"))
    (tmp_path / "cases.json").write_text(f'{{"cases": [{listed}]}}', encoding="utf-8")

    with pytest.raises(CommandError, match=r"Unknown group of cases. Available: answers, loops\.$"):
        call_command("conformance", str(tmp_path), "--only", "nonsense", stdout=StringIO())


@pytest.mark.django_db
@pytest.mark.parametrize(("count", "said"), [(0, "0 secrets"), (1, "1 secret"), (2, "2 secrets")])
def test_rotated_secrets_are_counted(
    count: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotate_secrets, "rotate_secrets", lambda _teams: count)
    out = StringIO()

    call_command("rotate_secrets", stdout=out)

    assert out.getvalue() == f"{said} re-encrypted under the newest key.\n"
