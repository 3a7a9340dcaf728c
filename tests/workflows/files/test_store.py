"""The store: contents under paths of its own, limits, and removal that leaves nothing behind."""

import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.files.made import PNG, make_file
from workflows.errors import FileRefused, FileTooLarge
from workflows.files import contents, removal
from workflows.files.removal import delete_contents, remove_of_runs, tidy_files
from workflows.models import StoredFile
from workflows.services.erasure import erase_person, export_person


pytestmark = pytest.mark.django_db


def on_disk(file: StoredFile) -> Path:
    return Path(settings.FILES_DIR) / file.path


def left(file: StoredFile) -> tuple[int, bool]:
    """Return how many rows the file has, and whether its content is there."""
    with tenant([file.team_id]):
        count = StoredFile.objects.unscoped().filter(pk=file.pk).count()
    return count, on_disk(file).exists()


def test_file_is_stored_with_what_its_content_is(cast: Cast):
    file = make_file(cast.bob, PNG, "../../evil.pdf")

    assert (file.name, file.media_type, file.kind) == ("evil.pdf", "image/png", "image")
    assert file.path.startswith(f"{cast.team_a.pk}/")
    assert "evil" not in file.path
    assert contents.read(file.path) == PNG
    assert stat.S_IMODE(on_disk(file).stat().st_mode) == 0o600
    assert (file.subject, file.started_by) == (str(cast.bob.user.pk), cast.bob.user)
    assert file.expires_at is not None


@pytest.mark.parametrize(("name", "content", "limit"), [
    ("a.png", PNG, "FILE_IMAGE_MB"), ("a.txt", b"text", "FILE_DOCUMENT_MB"),
    ("a.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "FILE_MEDIA_MB"),
])  # fmt: skip
def test_file_larger_than_its_kind_may_be_is_refused(
    cast: Cast, settings: Any, name: str, content: bytes, limit: str
):
    setattr(settings, limit, 1)

    make_file(cast.bob, content + b"\0" * 1000, name)
    with pytest.raises(FileTooLarge):
        make_file(cast.bob, content + b" " * 1024**2, name)


def test_empty_file_and_no_file_are_refused(cast: Cast):
    with pytest.raises(FileRefused):
        make_file(cast.bob, b"")


def test_team_stores_no_more_than_its_share(cast: Cast, settings: Any):
    settings.TEAM_FILES_MB = 1
    make_file(cast.bob, b"x" * 600_000)

    with pytest.raises(FileTooLarge, match="1 MB"):
        make_file(cast.alice, b"x" * 600_000)
    make_file(cast.carol, b"x" * 600_000)  # another team has its own


def test_removed_file_names_nobody_until_its_content_is_deleted(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
):
    file = make_file(cast.bob)

    def fail(path: str) -> None:
        raise ConnectionError

    monkeypatch.setattr(contents, "delete", fail)
    with django_capture_on_commit_callbacks(execute=True), tenant([cast.team_a.pk]):
        removal.remove_files(cast.team_a.pk, StoredFile.objects.unscoped().filter(pk=file.pk))
    assert left(file) == (1, True)
    with tenant([cast.team_a.pk]):
        row = StoredFile.objects.unscoped().get(pk=file.pk)
        assert not StoredFile.objects.visible_to(cast.bob.principal).exists()
    assert (row.name, row.subject, row.started_by, row.sha256) == ("", "", None, "")

    monkeypatch.undo()
    assert tidy_files() == 1
    assert left(file) == (0, False)


def test_unused_file_is_removed_after_a_day(cast: Cast, django_capture_on_commit_callbacks: Any):
    old, new = make_file(cast.bob), make_file(cast.bob)
    with tenant([cast.team_a.pk]):
        rows = StoredFile.objects.unscoped().filter(pk=old.pk)
        rows.update(expires_at=timezone.now() - timedelta(seconds=1))

    tidy_files()

    assert (left(old), left(new)) == ((0, False), (1, True))


def test_file_stays_as_long_as_one_of_its_runs(cast: Cast):
    workflow = make_workflow(cast.bob)
    runs = [
        make_run(cast.bob, workflow, status="succeeded", finished_at=timezone.now()) for _ in "ab"
    ]
    file, orphan = make_file(cast.bob), make_file(cast.bob)
    long_ago = timezone.now() - timedelta(days=3)
    with tenant([cast.team_a.pk]):
        rows = StoredFile.objects.unscoped()
        rows.filter(pk=file.pk).update(
            run_ids=[runs[0].pk, uuid7()], expires_at=None, created_at=long_ago
        )
        rows.filter(pk=orphan.pk).update(run_ids=[uuid7()], expires_at=None, created_at=long_ago)

    tidy_files()

    assert (left(file), left(orphan)) == ((1, True), (0, False))


def test_files_of_deleted_runs_go_unless_another_run_has_them(cast: Cast):
    workflow = make_workflow(cast.bob)
    kept = make_run(cast.bob, workflow)
    gone, shared = make_file(cast.bob), make_file(cast.bob)
    deleted = uuid7()
    with tenant([cast.team_a.pk]):
        rows = StoredFile.objects.unscoped()
        rows.filter(pk=gone.pk).update(run_ids=[deleted], expires_at=None)
        rows.filter(pk=shared.pk).update(run_ids=[deleted, kept.pk], expires_at=None)
        remove_of_runs(cast.team_a.pk, [deleted])
    delete_contents(cast.team_a.pk)

    assert (left(gone), left(shared)) == ((0, False), (1, True))


def test_content_without_a_row_is_swept(cast: Cast):
    days = [timezone.now() - timedelta(days=days) for days in (0, 3)]
    paths = [f"{cast.team_a.pk}/{day:%Y-%m-%d}/lost" for day in days]
    for path in paths:
        contents.write(path, b"x")

    tidy_files()

    exists = [(Path(settings.FILES_DIR) / path).exists() for path in paths]
    assert exists == [True, False]  # today's may belong to a request that goes on
    contents.delete(paths[0])


def test_erased_person_takes_the_files_along(cast: Cast, django_capture_on_commit_callbacks: Any):
    own, other = make_file(cast.bob), make_file(cast.alice)
    subject = str(cast.bob.user.pk)
    with tenant([cast.team_a.pk]):
        exported = dict(export_person(cast.team_a.pk, subject))
        preview = erase_person(cast.team_a.pk, subject, dry_run=True)
    assert exported["file"]["name"] == "a.txt"
    assert preview["workflows_storedfile"] == 1

    with django_capture_on_commit_callbacks(execute=True), tenant([cast.team_a.pk]):
        erase_person(cast.team_a.pk, subject, dry_run=False)
        assert not erase_person(cast.team_a.pk, subject, dry_run=True)["workflows_storedfile"]

    assert (left(own), left(other)) == ((0, False), (1, True))
