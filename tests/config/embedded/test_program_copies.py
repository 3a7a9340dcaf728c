"""The copy of PostgreSQL's programs for a user who may not enter their folder: whole, new, and alone."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from config.embedded import program_copies
from config.embedded.errors import ProgramsOutOfReach
from config.embedded.program_copies import PACKAGE, PROGRAMS, is_package_open, provide_copy


FILES = (
    PROGRAMS / "postgres",
    PROGRAMS / "initdb",
    PROGRAMS.parent / "share" / "postgres.bki",
    Path(f"{PACKAGE}.libs", "libpq-1.so.5"),
)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A package that only its owner may read."""
    folder = tmp_path / "closed" / "site-packages"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}, first version")
        (folder / name).chmod(0o700)
    (tmp_path / "closed").chmod(0o700)
    return folder


@pytest.fixture
def system_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "system" / "mnemoflow"
    monkeypatch.setattr(program_copies, "SYSTEM_HOME", folder)
    # The folders above, which belong to pytest and are closed, count as open here.
    monkeypatch.setattr(
        program_copies, "is_open_to_others", lambda path: is_open_below(path, tmp_path)
    )
    yield folder
    for copy in list(program_copies._used):
        if copy.is_relative_to(folder):
            program_copies._release(copy)


def is_open_below(path: Path, top: Path) -> bool:
    folders = [
        folder for folder in (path, *path.parents) if folder.is_relative_to(top) and folder != top
    ]
    return all(folder.stat().st_mode & 0o001 for folder in folders)


def list_copies(system_home: Path) -> list[str]:
    return sorted(path.name for path in (system_home / "programs").iterdir())


def test_copy_has_programs_and_libraries_side_by_side_and_everybody_may_read_them(
    packages: Path, system_home: Path
):
    is_open = is_package_open(packages)

    copy = provide_copy(packages)

    assert (is_open, is_package_open(copy)) == (False, True)
    assert {name: (copy / name).read_text() for name in FILES} == {
        name: f"{name}, first version" for name in FILES
    }
    assert all((copy / name).stat().st_mode & 0o004 for name in FILES)
    assert packages.parent.stat().st_mode & 0o777 == 0o700  # looked at, not opened


def test_copy_is_used_again_while_the_package_stays_the_same(packages: Path, system_home: Path):
    first = provide_copy(packages)
    number = (first / FILES[0]).stat().st_ino

    second = provide_copy(packages)

    assert (second, (second / FILES[0]).stat().st_ino) == (first, number)


@pytest.mark.parametrize("changed", FILES)
def test_copy_of_a_package_that_has_changed_is_renewed_and_the_old_one_removed(
    packages: Path, system_home: Path, changed: Path
):
    first = provide_copy(packages)
    program_copies._release(first)  # its process has ended
    (packages / changed).write_text("the second version")

    second = provide_copy(packages)

    assert (second / changed).read_text() == "the second version"
    assert list_copies(system_home) == [second.name]


@pytest.mark.parametrize("lost", FILES)
def test_copy_that_has_lost_a_file_is_made_again(packages: Path, system_home: Path, lost: Path):
    (provide_copy(packages) / lost).unlink()

    assert (provide_copy(packages) / lost).read_text() == f"{lost}, first version"


def test_copy_that_fails_half_way_leaves_nothing_and_says_what_to_do(
    packages: Path, system_home: Path, monkeypatch: pytest.MonkeyPatch
):
    made: list[Path] = []

    def fill_the_disk(source: Path, target: Path) -> None:
        if made:
            raise OSError(28, "No space left on device")
        made.append(target)
        shutil.copytree(source, target, copy_function=shutil.copy2)

    with monkeypatch.context() as patch:
        patch.setattr(program_copies, "shutil", FullDisk(fill_the_disk))
        with pytest.raises(ProgramsOutOfReach) as caught:
            provide_copy(packages)
    left = list_copies(system_home)

    assert (len(made), left) == (1, [])
    assert "No space left on device" in str(caught.value)
    assert "set DATABASE_URL to a server of your own" in str(caught.value)
    assert is_package_open(provide_copy(packages))


class FullDisk:
    """The module ``shutil`` with another function to copy a folder."""

    def __init__(self, copytree: object) -> None:
        self.copytree = copytree
        self.rmtree = shutil.rmtree


def test_copy_in_a_folder_that_stays_closed_says_what_to_do(
    packages: Path, system_home: Path, tmp_path: Path
):
    (tmp_path / "system").mkdir(mode=0o700)

    with pytest.raises(
        ProgramsOutOfReach, match="move the installation to a folder that everybody"
    ):
        provide_copy(packages)


def test_copies_of_earlier_versions_and_of_killed_processes_are_removed_but_no_data(
    packages: Path, system_home: Path
):
    earlier, half_made = system_home / "postgresql-1764371938", system_home / "programs/a.half-made"
    data = system_home / "postgresql-0123456789"  # of an installation in a folder named postgresql
    for folder in (earlier / "bin", half_made / "bin", data / "pg", data / "bin"):
        folder.mkdir(parents=True)
        (folder / "postgres").touch()

    copy = provide_copy(packages)

    assert list_copies(system_home) == [copy.name]
    assert (earlier.exists(), data.exists()) == (False, True)


def test_copy_that_another_process_has_chosen_stays_until_that_process_ends(
    packages: Path, system_home: Path
):
    first = provide_copy(packages)
    (packages / FILES[0]).write_text("the second version")

    second = provide_copy(packages)  # this process still uses the first
    both = list_copies(system_home)
    program_copies._release(first)
    program_copies._remove_unused_copies(except_for=second)

    assert (both, list_copies(system_home)) == (
        sorted([first.name, second.name]),
        [second.name],
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the program is one of Linux")
def test_copy_that_a_server_runs_from_stays_until_the_server_ends(
    packages: Path, system_home: Path
):
    program = packages / FILES[0]
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    first = provide_copy(packages)
    program_copies._release(first)  # the process that started the server has ended
    with subprocess.Popen([first / FILES[0], "600"]) as server:
        try:
            assert Path(psutil.Process(server.pid).exe()) == first / FILES[0]
            program.write_text("the second version")
            second = provide_copy(packages)
            both = list_copies(system_home)
        finally:
            server.kill()
    program_copies._remove_unused_copies(except_for=second)

    assert (both, list_copies(system_home)) == (
        sorted([first.name, second.name]),
        [second.name],
    )


@pytest.mark.usefixtures("clean_system_home")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_programs_of_the_real_package_load_their_libraries_from_a_copy():
    """As another user, who may not be able to enter the folder of the package."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec
    assert spec.origin
    account = pwd.getpwnam("nobody")

    copy = provide_copy(Path(spec.origin).parent.parent)

    for name in ("initdb", "postgres", "psql", "pg_dump"):
        done = subprocess.run(
            [copy / PROGRAMS / name, "--version"],
            user=account.pw_uid, group=account.pw_gid, extra_groups=[], cwd="/",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "PostgreSQL" in done.stdout, done.stderr
