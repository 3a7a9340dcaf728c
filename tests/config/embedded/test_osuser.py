"""Folders for PostgreSQL's user: private, reachable by that user, and never one that somebody else has planted."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.errors import FolderOwnedByAnotherUser
from config.embedded.osuser import OsUser


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


@pytest.fixture
def server_user() -> OsUser:
    account = pwd.getpwnam("nobody")
    return OsUser(account.pw_uid, account.pw_gid, must_switch=True)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A folder like ``/tmp``."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@needs_root
@pytest.mark.usefixtures("_strict_umask")
def test_private_folder_can_be_reached_under_a_strict_umask(tmp_path: Path, server_user: OsUser):
    folder = tmp_path / "a" / "b" / "pg"

    server_user.create_private_folder(folder)

    modes = [path.stat().st_mode & 0o777 for path in (folder, folder.parent, folder.parent.parent)]
    assert modes == [0o700, 0o755, 0o755]
    assert folder.stat().st_uid == server_user.uid


@needs_root
def test_folder_that_another_user_has_made_in_a_public_place_is_refused(
    public: Path, server_user: OsUser
):
    planted = public / "mnemoflow-0-1234567890"
    planted.mkdir()
    os.chown(planted, 12345, 12345)

    with pytest.raises(FolderOwnedByAnotherUser, match="id 12345"):
        server_user.create_private_folder(planted)

    assert planted.stat().st_uid == 12345


def test_link_in_a_public_place_is_refused(public: Path, tmp_path: Path):
    target = tmp_path / "of-somebody"
    target.mkdir(mode=0o755)
    (public / "mnemoflow").symlink_to(target)
    own = OsUser(os.geteuid(), os.getegid(), must_switch=False)

    with pytest.raises(FolderOwnedByAnotherUser):
        own.create_private_folder(public / "mnemoflow")

    assert target.stat().st_mode & 0o777 == 0o755
