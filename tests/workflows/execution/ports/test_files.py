"""The files of a run: those of its person alone, whatever a value says, and those that its steps store."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.files.made import make_file
from workflows.engine.errors import FileUnavailable
from workflows.engine.files.ports import NewFile
from workflows.execution.ports.files import RunFiles
from workflows.execution.ports.http import GuardedHttp
from workflows.files import contents
from workflows.files.records import Owner, note_child
from workflows.files.removal import remove_of_runs
from workflows.files.values import build_value, find_id
from workflows.models import Run, StoredFile


pytestmark = pytest.mark.django_db

ROW = ("subject", "subject_user_id", "started_by_id", "api_key_id")


def files_of(person: Person, **fields: Any) -> RunFiles:
    run = make_run(person, make_workflow(person), **fields)
    row = {name: str(value) if (value := getattr(run, name)) else None for name in ROW}
    return RunFiles(run.team_id, run.pk, row, GuardedHttp(allow=()))


def read(files: RunFiles, value: Any, max_bytes: int = 1_000_000) -> bytes:
    file_id = find_id(value)
    assert file_id is not None
    return files._read(file_id, max_bytes)


def test_run_reads_the_files_of_its_person(cast: Cast):
    value = build_value(make_file(cast.bob, b"content"))

    assert read(files_of(cast.bob), value) == b"content"


@pytest.mark.parametrize("owner", ["alice", "carol"])
def test_file_of_somebody_else_is_not_read(cast: Cast, owner: str):
    value = build_value(make_file(getattr(cast, owner)))

    with pytest.raises(FileUnavailable, match="not of the person"):
        read(files_of(cast.bob), {**value, "url": "file:///etc/passwd", "path": "/etc/passwd"})


def test_run_for_another_subject_reads_nothing_of_this_one(cast: Cast):
    value = build_value(make_file(cast.bob))

    with pytest.raises(FileUnavailable):
        read(files_of(cast.bob, subject=f"ben@{cast.bob.user.pk}"), value)


def test_file_that_is_too_large_or_gone_is_named(cast: Cast):
    file = make_file(cast.bob, b"x" * 2_000_000)
    files, value = files_of(cast.bob), build_value(file)

    with pytest.raises(FileUnavailable, match=r"a.txt has more than 1 MB"):
        read(files, value, 1024**2)
    contents.delete(file.path)
    with pytest.raises(FileUnavailable, match=r"content of a.txt is gone"):
        read(files, value, 10_000_000)


def test_step_stores_a_file_for_its_run(cast: Cast):
    files = files_of(cast.bob)

    value = files._store(NewFile(b"%PDF-1.4\n", "../a.png", "https://x.example/a"))

    assert (value["name"], value["mime_type"], value["transfer_method"]) == (
        "a.png", "application/pdf", "local_file",
    )  # fmt: skip
    assert read(files, value) == b"%PDF-1.4\n"
    with tenant([cast.team_a.pk]):
        row = StoredFile.objects.unscoped().get(pk=value["related_id"])
    assert (row.run_ids, row.subject, row.expires_at) == (
        [files.run_id],
        str(cast.bob.user.pk),
        None,
    )


async def test_address_on_this_machine_is_not_fetched():
    files = RunFiles(None, None, {}, GuardedHttp(allow=()))  # type: ignore[arg-type]
    value = {"transfer_method": "remote_url", "type": "document", "url": "http://127.0.0.1:1/x"}

    for url in (value["url"], "file:///etc/passwd", "", None):
        with pytest.raises(FileUnavailable):
            await files.read({**value, "url": url})


def test_file_of_a_child_run_stays_as_long_as_the_run_around_it(cast: Cast):
    """The rounds of an iteration and the runs of sub-workflows are such runs; their files are outputs of the run."""
    run = make_run(cast.bob, make_workflow(cast.bob))
    child = files_of(cast.bob, parent=run)

    value = child._store(NewFile(b"made", "made.txt"))

    with tenant([run.team_id]):
        file = StoredFile.objects.unscoped().get(pk=str(value["related_id"]))
        assert set(file.run_ids) == {run.pk, child.run_id}
        Run.objects.unscoped().filter(pk=child.run_id).delete()
        remove_of_runs(run.team_id, [child.run_id])
        assert StoredFile.objects.unscoped().filter(pk=file.pk, removed_at=None).exists()


def test_child_run_keeps_the_files_that_it_is_given(cast: Cast):
    file, foreign = make_file(cast.bob), make_file(cast.alice)
    run = make_run(cast.bob, make_workflow(cast.bob))
    owner = Owner(run.team_id, run.subject, cast.bob.user.pk, cast.bob.user.pk)

    with tenant([run.team_id]):
        for _attempt in range(2):
            note_child(owner, [{"doc": build_value(file), "other": build_value(foreign)}], run.pk)
        file.refresh_from_db()
        foreign.refresh_from_db()

    assert (file.run_ids, foreign.run_ids) == ([run.pk], [])
