"""Files in an S3-compatible bucket: uploaded, fetched by their links, read by runs, and erased with their person."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.tenancy import tenant
from config.url_settings import build_file_storage
from tests.support.cast import Cast
from tests.support.s3 import KEY, REGION, SECRET, Bucket, open_bucket
from tests.workflows.files.made import make_file
from workflows.engine.errors import FileUnavailable
from workflows.engine.files.ports import NewFile
from workflows.execution.ports.files import RunFiles
from workflows.files import contents
from workflows.files.links import build_link
from workflows.files.removal import tidy_files
from workflows.models import StoredFile
from workflows.services.erasure import erase_person


pytestmark = pytest.mark.django_db


def use_bucket(settings: Any, bucket: Bucket, **options: str) -> None:
    given = {"region": REGION, "access_key": KEY, "secret_key": SECRET, **options}
    store = build_file_storage(
        django_settings.FILES_DIR, bucket=bucket.name, endpoint_url=bucket.url, **given
    )
    settings.STORAGES = {**django_settings.STORAGES, "files": store}
    contents.get_storage.cache_clear()
    storages._storages.clear()  # else those of the old settings stay


@pytest.fixture
def bucket(settings: Any) -> Iterator[Bucket]:
    with open_bucket() as bucket:
        use_bucket(settings, bucket)
        yield bucket
    contents.get_storage.cache_clear()


def read(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


def files_of(file: StoredFile) -> RunFiles:
    row = {
        "subject": file.subject, "subject_user_id": str(file.subject_user_id),
        "started_by_id": str(file.started_by_id), "api_key_id": None,
    }  # fmt: skip
    return RunFiles(file.team_id, file.pk, row, http=None)  # type: ignore[arg-type]  # asked for nothing


@pytest.mark.parametrize("size", [5, 9 * 1024**2])  # the second one is sent in parts
def test_uploaded_file_is_in_the_bucket_and_is_sent_from_there(
    cast: Cast, bucket: Bucket, size: int
):
    content = b"%PDF-" + b"x" * size

    file = make_file(cast.bob, content, "report.pdf")

    assert bucket.objects == {file.path: content}
    assert read(Client().get(build_link(file))) == content
    assert read(cast.bob.client.get(f"/files/{file.pk}/")) == content
    assert cast.alice.client.get(f"/files/{file.pk}/").status_code == 404


def test_step_reads_a_file_of_the_bucket_and_stores_one(cast: Cast, bucket: Bucket):
    file = make_file(cast.bob, b"hello", "a.txt")
    port = files_of(file)

    content = port._read(file.pk, 10**6)
    stored = port._store(NewFile(b"answer", "b.txt"))

    assert content == b"hello"
    assert sorted(bucket.objects.values()) == [b"answer", b"hello"]
    assert stored["name"] == "b.txt"


def test_erased_person_leaves_nothing_in_the_bucket(
    cast: Cast, bucket: Bucket, django_capture_on_commit_callbacks: Callable[..., Any]
):
    file = make_file(cast.bob)
    kept = make_file(cast.alice)

    with django_capture_on_commit_callbacks(execute=True), tenant([cast.team_a.pk]):
        erase_person(cast.team_a.pk, file.subject, dry_run=False)

    assert list(bucket.objects) == [kept.path]


def test_content_without_a_row_is_swept(cast: Cast, bucket: Bucket):
    file = make_file(cast.bob)
    day = f"{timezone.now() - timedelta(days=3):%Y-%m-%d}"
    bucket.objects[f"{cast.team_a.pk}/{day}/lost"] = b"x"

    tidy_files()

    assert list(bucket.objects) == [file.path]


def test_bucket_that_is_away_is_said_and_nothing_is_lost(cast: Cast, bucket: Bucket):
    file = make_file(cast.bob)
    bucket.is_away = True

    with pytest.raises(FileUnavailable) as unavailable:
        files_of(file)._read(file.pk, 10**6)
    page = cast.bob.client.get(f"/files/{file.pk}/", headers={"Accept": "text/html"})

    assert unavailable.value.retryable
    assert (page.status_code, "be reached at the moment. Try" in page.content.decode()) == (
        503,
        True,
    )
    bucket.is_away = False
    assert read(cast.bob.client.get(f"/files/{file.pk}/")) == b"hello"


def test_content_that_the_bucket_lost_is_gone(cast: Cast, bucket: Bucket):
    file = make_file(cast.bob)
    bucket.objects.clear()

    with pytest.raises(FileUnavailable, match=r"a\.txt is gone"):
        files_of(file)._read(file.pk, 10**6)
    assert cast.bob.client.get(f"/files/{file.pk}/").status_code == 410


def test_wrong_secret_stores_nothing(cast: Cast, bucket: Bucket, settings: Any, api_key: Any):
    use_bucket(settings, bucket, secret_key="wrong")

    answer = api_key(cast.bob).post("/api/v1/files", {"file": SimpleUploadedFile("a.txt", b"x")})

    assert (answer.status_code, answer.json()["error"]["retryable"]) == (503, True)
    assert bucket.objects == {}
