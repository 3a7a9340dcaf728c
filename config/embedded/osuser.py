"""The OS user that PostgreSQL runs as: the current user, or an unprivileged user for root (PostgreSQL refuses root)."""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.embedded.errors import FolderOwnedByAnotherUser
from config.embedded.processes import PopenIdentity


NAME = "mnemoflow-pg"


@dataclass(frozen=True)
class OsUser:
    uid: int
    gid: int
    changed: bool  # whether the server process has to switch to this user

    @property
    def popen(self) -> PopenIdentity:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.changed else {}

    def own(self, folder: Path) -> None:
        """Create the folder with access for this user only."""
        folder.mkdir(parents=True, exist_ok=True)
        owner = folder.stat().st_uid
        if self.changed and owner != self.uid:
            os.chown(folder, self.uid, self.gid)
        elif owner != self.uid:
            raise FolderOwnedByAnotherUser(folder, owner)
        folder.chmod(0o700)


def choose_server_user(data: Path) -> OsUser:
    """Return the owner of existing data, else a system user that is created once, else `nobody`."""
    if os.geteuid() != 0:
        return OsUser(os.geteuid(), os.getegid(), changed=False)
    if (data / "PG_VERSION").exists():
        owner = data.stat()
        if owner.st_uid != 0:
            return OsUser(owner.st_uid, owner.st_gid, changed=True)
    entry = _find_entry(NAME) or _create_user() or pwd.getpwnam("nobody")
    return OsUser(entry.pw_uid, entry.pw_gid, changed=True)


def _find_entry(name: str) -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam(name)
    return None


def _create_user() -> pwd.struct_passwd | None:
    if useradd := shutil.which("useradd"):
        command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
        subprocess.run(command, check=False, capture_output=True)
    return _find_entry(NAME)
