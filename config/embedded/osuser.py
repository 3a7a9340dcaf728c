"""The OS user that PostgreSQL runs as: the current user, or an unprivileged user for root (PostgreSQL refuses root)."""

import os
import pwd
import shutil
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.embedded.errors import FolderOwnedByAnotherUser
from config.embedded.processes import PopenIdentity


USER_NAME = "mnemoflow-pg"


@dataclass(frozen=True)
class OsUser:
    """An OS user; ``must_switch`` says whether it is another user than that of this process."""

    uid: int
    gid: int
    must_switch: bool

    @property
    def popen_identity(self) -> PopenIdentity:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.must_switch else {}

    def create_private_folder(self, folder: Path) -> None:
        """Create the folder for this user alone. Raise ``FolderOwnedByAnotherUser`` if this process can't own it."""
        new_parents = [parent for parent in folder.parents if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        owner = folder.stat().st_uid
        if _may_be_planted(folder, frozenset({self.uid, os.geteuid()})):
            raise FolderOwnedByAnotherUser(folder, folder.lstat().st_uid)
        if self.must_switch:
            for parent in new_parents:
                parent.chmod(0o755)  # root's umask may be one that keeps this user out
            if owner != self.uid:
                os.chown(folder, self.uid, self.gid)
        elif owner != self.uid:
            raise FolderOwnedByAnotherUser(folder, owner)
        folder.chmod(0o700)


def _may_be_planted(folder: Path, owners: frozenset[int]) -> bool:
    """Return whether somebody else than these users may have put this there, which in ``/tmp`` everybody can."""
    is_public = bool(folder.parent.stat().st_mode & stat.S_IWOTH)
    return is_public and (folder.is_symlink() or folder.stat().st_uid not in owners)


def choose_server_user(data: Path) -> OsUser:
    """Return the current user. For root, return the owner of existing data, or a system user, or else `nobody`."""
    if os.geteuid() != 0:
        return OsUser(os.geteuid(), os.getegid(), must_switch=False)
    if (data / "PG_VERSION").exists():
        owner = data.stat()
        if owner.st_uid != 0:
            return OsUser(owner.st_uid, owner.st_gid, must_switch=True)
    account = _find_system_user() or _create_system_user() or pwd.getpwnam("nobody")
    return OsUser(account.pw_uid, account.pw_gid, must_switch=True)


def _find_system_user() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam(USER_NAME)
    return None


def _create_system_user() -> pwd.struct_passwd | None:
    if useradd := shutil.which("useradd"):
        command = [
            useradd,
            "--system",
            "--no-create-home",
            "--shell",
            "/usr/sbin/nologin",
            USER_NAME,
        ]
        subprocess.run(command, check=False, capture_output=True)
    return _find_system_user()
