"""The check for leaks: finds none, finds each one that is planted, and leaves nothing behind."""

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from memory.management import leak_checks as leaks
from memory.management.canaries import Canary, find_canaries
from memory.management.commands import leakcheck
from memory.management.leak_people import Person, make_people
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

# The areas of the application's own tables, and the filters of memory.
AREAS = ("data set", "feedback", "step part", "tool", "usage", "wait")
PLANTS = ("entry", "namespace", "permission", "proposal", *AREAS)


def left() -> dict[str, int]:
    return {
        model._meta.db_table: model._base_manager.count()
        for model in apps.get_models()
        if model._meta.managed
    }


def checked(*options: str) -> int:
    try:
        call_command("leakcheck", *options)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("askers", "in_turn", "least"),
    [
        pytest.param(["Ben"], True, 100, id="a colleague"),
        pytest.param([], False, 200, id="a stranger too", marks=pytest.mark.nightly),
    ],
)
def test_nothing_leaks_and_nothing_stays(
    askers: Sequence[str],
    in_turn: bool,
    least: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A colleague gets further than a stranger, who is asked everywhere by the access matrix, too."""
    check = partial(leaks.check_leaks, attackers=askers, in_turn=in_turn)
    monkeypatch.setattr(leakcheck, "check_leaks", check)
    before = left()

    code = checked()

    said = capsys.readouterr()
    table = {
        line[:16].strip(): tuple(map(int, line[16:].split()))
        for line in said.out.splitlines()[1:]
        if not line.startswith(("LEAK", "This database has no teams."))
    }
    assert (code, said.err, [one for one in said.out.splitlines() if one.startswith("LEAK")]) == (
        0,
        "",
        [],
    )
    assert set(table) == {"API", "all", "node kinds", "pages", "rows"}
    assert all(answers > 20 and leaks == 0 for answers, leaks in table.values())
    assert table["API"][0] > least
    assert table["pages"][0] > least
    assert left() == before


def test_every_filter_and_area_can_be_planted() -> None:
    assert leakcheck.list_plants() == sorted(PLANTS)


def test_each_planted_leak_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Among the same people, as making them takes longer than finding a leak."""
    statuses, leaks_found = {}, {}
    with make_people() as people:

        @contextmanager
        def lend_people() -> Iterator[list[Person]]:
            with transaction.atomic():
                yield people
                transaction.set_rollback(True)

        monkeypatch.setattr(leaks, "make_people", lend_people)
        for plant in PLANTS:
            statuses[plant] = checked("--really", "--plant", plant)
            said = capsys.readouterr().out.splitlines()
            leaks_found[plant] = [one for one in said if one.startswith("LEAK")]

    assert statuses == dict.fromkeys(PLANTS, 1)
    assert [plant for plant in PLANTS if not leaks_found[plant]] == []
    assert [area for area in AREAS if f"({area})" not in leaks_found[area][-1]] == []


@pytest.mark.nightly
@pytest.mark.parametrize("asker", ["Ann", "Ben", "Cay"])
def test_nothing_leaks_anywhere(asker: str) -> None:
    report = leaks.check_leaks(thorough=True, attackers=[asker])

    assert (report.leaks, report.failures) == ([], {})
    assert sum(report.outputs.values()) > 1_500


def test_check_that_finds_nothing_planted_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leakcheck, "check_leaks", lambda **_how: quiet_report())

    assert checked("--plant") == 3
    assert "was not found" in capsys.readouterr().err


def quiet_report(answers: int = 5) -> leaks.Report:
    """The result of a check to which so many answers came, none of them a leak."""
    return leaks.Report(outputs=Counter(pages=answers))


def test_empty_database_is_said_to_be_empty(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leakcheck, "check_leaks", lambda **_how: quiet_report())

    assert checked() == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("This database has no teams.")
    assert "nothing about the memory of people" in last


def test_data_of_teams_is_not_said_to_be_missing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leakcheck, "check_leaks", lambda **_how: quiet_report())

    assert checked("--really") == 0
    assert "beside the data of 2 team(s)" in capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--plant",)])
def test_check_that_asked_nothing_claims_nothing(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leakcheck, "check_leaks", lambda **_how: quiet_report(0))

    assert checked(*options) == 3
    assert "Nothing was asked" in capsys.readouterr().err


def test_data_of_people_is_not_worked_beside_unless_asked(cast: Cast) -> None:
    with pytest.raises(CommandError, match="--really") as refused:
        call_command("leakcheck")

    assert refused.value.returncode == 2


def wrapped(text: str) -> list[bytes]:
    raw: Any = text.encode()
    return [
        raw,
        text.upper().encode(),
        raw.hex().upper().encode(),
        quote(text, safe="").encode(),
        "".join(f"%{byte:02X}" for byte in raw).encode(),
        *(
            base64.b64encode(b"x" * before + raw + b"y" * after)
            for before in range(4)
            for after in range(4)
        ),
        base64.urlsafe_b64encode(b'{"value": "' + raw + b'"}'),
    ]


def test_secret_is_recognised_however_it_is_wrapped() -> None:
    mine, other = Canary.create("mine"), Canary.create("other")

    for answer in wrapped(mine.text):
        assert [
            one for one, _encoding in find_canaries(b"<p>" + answer + b"</p>", [mine, other])
        ] == [mine]
    assert find_canaries(b"nothing of it " * 50, [mine, other]) == []


def test_database_without_tables_is_named_in_one_sentence() -> None:
    with connection.cursor() as cursor:
        cursor.execute("set local search_path = pg_temp")  # rolled back with the test
        with pytest.raises(CommandError, match=r"no tables yet: run manage\.py migrate") as caught:
            call_command("leakcheck")

    assert caught.value.returncode == 2
