"""Nobody who waits for memory at another server, for a bucket or for a mail server holds a connection, workers included."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from django.core.files.storage import InMemoryStorage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connections, transaction
from django.utils import timezone

from accounts.mail import Mail, send_mails
from accounts.request_transaction import (
    RequestTransaction,
    list_open_blocks,
    pausable_tenant,
    without_connection,
)
from accounts.tenancy import tenant
from memory import routing, services
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import parse_namespace
from memory.models import Namespace
from memory.providers.base import Usage
from memory.providers.in_memory import InMemoryProvider
from memory.public import RunMemory
from memory.services.entries import external_usage, run_notes
from memory.services.erasure import erasure_jobs
from memory.services.knowledge.pages import write_pages
from memory.services.transfer.moving import list_hidden_namespaces
from memory.upkeep.erasure import run_erasure
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.workflows.files.made import make_file
from workflows.engine.files.ports import NewFile
from workflows.execution.ports.files import RunFiles
from workflows.files import contents
from workflows.files.removal import tidy_files
from workflows.models import StoredFile
from workflows.services.files.documents import read_original, store_original


pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "ai:memory:w1:g"


class Held:
    """Notes at each call outside whether the calling thread holds a connection."""

    calls: ClassVar[list[tuple[str, bool]]] = []

    @classmethod
    def note(cls, name: str) -> None:
        cls.calls.append((name, connections["default"].connection is not None))

    @classmethod
    def take(cls) -> tuple[set[str], list[str]]:
        """Return the names of the calls since the last time, and of those that held a connection."""
        names = {name for name, _is_held in cls.calls}
        held = [name for name, is_held in cls.calls if is_held]
        cls.calls.clear()
        return names, held


class Elsewhere(InMemoryProvider):
    """The memory of another installation, as the provider ``http`` reaches it."""

    is_outside = True
    shared: ClassVar[dict[str, Any]] = {}  # of all clients, as a server has it
    late_writes: ClassVar[list[StoreParams]] = []  # that arrive after the next clearing

    def __init__(self, *, url: str, key: str, **options: Any) -> None:
        super().__init__(**options)
        self._values = self.shared.setdefault("values", {})
        self._log = self.shared.setdefault("log", {})

    def store(self, params: StoreParams) -> MemoryEntry:
        Held.note("store")
        return super().store(params)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        Held.note("recall")
        return super().recall(query)

    def delete(self, namespace: str, key: str) -> bool:
        Held.note("delete")
        return super().delete(namespace, key)

    def clear_namespace(self, namespace: str) -> int:
        Held.note("clear")
        count = super().clear_namespace(namespace)
        while self.late_writes:
            super().store(self.late_writes.pop())
        return count

    def history(self, namespace: str, key: str) -> Any:
        Held.note("history")
        return super().history(namespace, key)

    def measure(self, namespace: str) -> Usage:
        Held.note("measure")
        return super().measure(namespace)


@pytest.fixture
def elsewhere(cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The working memory of the team is kept by another installation."""
    team = cast.team_a.pk
    settings.MEMORY_PLACES = tuple(
        f"{scope}@{team}=http" for scope in ("run", "run_metadata", "workflow")
    )
    settings.MEMORY_HTTP_URL, settings.MEMORY_HTTP_KEY = "https://there.example", "key"
    monkeypatch.setattr(routing, "find_provider_factory", lambda _name, _more: Elsewhere)
    Held.calls.clear()
    Elsewhere.shared.clear()
    yield
    routing.close_providers()


def of_workflow(person: Person) -> Any:
    return in_run(person, workflow_id="w1", group_id="g")


def page(content: str) -> Any:
    return [{"title": "Tea", "content": content}]


def find_row(person: Person) -> Namespace:
    with tenant([person.team.pk]):
        return Namespace.objects.unscoped().get(text=TEXT)


def keep_note(person: Person) -> Any:
    run_id = uuid4()
    run_notes.save_run_todos(person.team.pk, run_id, goal="Tea", stream="", todos=[])
    run_notes.get_run_metadata(person.team.pk, run_id)
    with run_notes.open_notebook(person.team.pk, run_id, "write") as notebook:
        notebook.store_note(str(run_id), "Green tea.", "tea")
    return run_notes.clear_run_notes(person.team.pk, run_id)


def export(person: Person) -> Any:
    return services.export_namespace(at_door(person), namespace=TEXT)


def use_port(person: Person) -> Any:
    """Store and recall as a node does, in the thread of a worker."""
    memory = RunMemory(of_workflow(person))
    step: Any = {"identity": {}, "origin": services.CallOrigin("r1", "n", "s")}

    async def work() -> Any:
        await memory.store(scope="workflow", key="p", value="green tea", **step)
        return await memory.recall(scope="workflow", query_text="tea", **step)

    return asyncio.run(work())


OPERATIONS: dict[str, tuple[Callable[[Person], Any], set[str]]] = {
    "remember": (
        lambda ann: services.remember(of_workflow(ann), scope="workflow", key="k", value="tea"),
        {"recall", "store"}),
    "recall": (
        lambda ann: services.recall(of_workflow(ann), scope="workflow", query_text="tea"), {"recall"}),
    "history": (
        lambda ann: services.list_values(of_workflow(ann), namespace=TEXT, key="k"), {"history"}),
    "list": (lambda ann: services.list_entries(at_door(ann), namespace=TEXT), {"recall"}),
    "pages": (
        lambda ann: write_pages(of_workflow(ann), scope="workflow", pages=page("Green tea.")),
        {"recall", "store"}),
    "find pages": (
        lambda ann: services.find_pages(of_workflow(ann), scope="workflow", query="tea"), {"recall"}),
    "usage": (lambda ann: external_usage.add_external_usage([find_row(ann)]), {"measure"}),
    "export": (export, {"recall"}),
    "notes of a run": (keep_note, {"recall", "store", "clear"}),
    "a node": (use_port, {"recall", "store"}),
    "forget": (
        lambda ann: services.forget(of_workflow(ann), scope="workflow", key="k"), {"delete"}),
    "clear": (lambda ann: services.clear(of_workflow(ann), scope="workflow"), {"clear"}),
}  # fmt: skip


@pytest.mark.usefixtures("elsewhere")
def test_operations_wait_for_memory_elsewhere_without_a_connection(alice: Person) -> None:
    services.remember(of_workflow(alice), scope="workflow", key="k", value="black tea")
    Held.take()
    for name, (operate, expected) in OPERATIONS.items():
        operate(alice)

        called, held = Held.take()
        assert (name, held) == (name, [])
        assert expected <= called, name


@pytest.mark.usefixtures("elsewhere")
def test_pages_and_routes_wait_for_memory_elsewhere_without_a_connection(alice: Person) -> None:
    """Their transaction ends meanwhile, and the next one sees the same team."""
    services.remember(of_workflow(alice), scope="workflow", key="k", value="black tea")
    Held.take()
    body = {"namespace": TEXT, "query_text": "tea", "top_k": 5}

    listed = alice.client.get(f"/api/v1/memory/entries?namespace={TEXT}")
    recalled = alice.client.post("/api/v1/memory/recall", body, content_type="application/json")

    called, held = Held.take()
    assert (called, held) == ({"recall"}, [])
    for answer in (listed, recalled):
        assert answer.status_code == 200, answer.content
        assert [item["value"] for item in answer.json()["items"]] == ["black tea"]


@pytest.mark.usefixtures("elsewhere")
def test_erasure_clears_elsewhere_without_a_connection_and_again_at_the_end(alice: Person) -> None:
    """A run that writes while its person is erased leaves nothing behind."""
    ended = make_run(alice, make_workflow(alice), status="succeeded", finished_at=timezone.now())
    run_id = str(ended.pk)
    known = {"user_id": str(alice.user.pk), "run_id": run_id}
    reach, origin = services.list_reachable(known), services.CallOrigin(run_id)
    run = replace(in_run(alice), identity=known, reach=reach, origin=origin)
    services.remember(run, scope="run", key="note", value="x")
    late = StoreParams(f"ai:notes:{run_id}", "late", value="y")
    Elsewhere.late_writes.append(late)
    Held.take()

    row = order(alice)
    run_erasure(row.team_id, row.pk)

    called, held = Held.take()
    assert (called, held) == ({"clear"}, [])
    done = erasure_jobs.get_erasure(at_door(alice), row.pk)
    assert (done.status, (done.receipt or {})["tables"]["elsewhere"]) == ("done", 1)
    assert find_provider(alice).recall(MemoryQuery(late.namespace)) == []


def find_provider(person: Person) -> Any:
    external = routing.find_external_provider(
        person.team.pk, parse_namespace(TEXT), MemorySecurityPolicy()
    )
    return external and external.provider


def order(person: Person) -> Any:
    subject = str(person.user.pk)
    return erasure_jobs.order_erasure(
        at_door(person),
        subject=subject,
        confirmation=erasure_jobs.get_confirmation_text(subject),
    )


@pytest.mark.usefixtures("elsewhere")
def test_search_for_hidden_entries_asks_without_a_connection(alice: Person, settings: Any) -> None:
    services.remember(of_workflow(alice), scope="workflow", key="k", value="black tea")
    settings.MEMORY_PLACES = ()
    Held.take()

    hidden = list_hidden_namespaces()

    called, held = Held.take()
    assert ("measure" in called, held) == (True, [])
    assert [(each.row.text, each.provider) for each in hidden] == [(TEXT, "http")]


# -- files ---------------------------------------------------------------------------------------


class SlowFile:
    """An open content, whose bytes are still at the bucket."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> "SlowFile":
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()

    def read(self, *size: int) -> Any:
        Held.note("read")
        return self._file.read(*size)

    def close(self) -> None:
        self._file.close()


class Bucket(InMemoryStorage):
    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        Held.note("save")
        return super().save(name, content, max_length)

    def open(self, name: str, mode: str = "rb") -> Any:
        Held.note("open")
        return SlowFile(super().open(name, mode))

    def exists(self, name: str) -> bool:
        Held.note("exists")
        return super().exists(name)

    def delete(self, name: str) -> None:
        Held.note("delete")
        super().delete(name)

    def listdir(self, path: str) -> Any:
        Held.note("list")
        return super().listdir(path)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    made = Bucket()
    monkeypatch.setattr(contents, "get_storage", lambda: made)
    Held.calls.clear()
    return made


def files_of(file: StoredFile) -> RunFiles:
    row = {
        "subject": file.subject,
        "subject_user_id": str(file.subject_user_id),
        "started_by_id": str(file.started_by_id),
        "api_key_id": None,
    }
    return RunFiles(file.team_id, uuid4(), row, http=None)  # type: ignore[arg-type]  # asked for nothing


def test_files_of_a_bucket_are_waited_for_without_a_connection(cast: Cast, bucket: Bucket) -> None:
    alice = cast.alice
    file = make_file(alice, b"hello")
    assert Held.take() == ({"save", "exists"}, [])
    port = files_of(file)

    async def work() -> bytes:
        await port.store(NewFile(b"made", "made.txt"))
        return await port.read(
            {"type": "document", "transfer_method": "local_file", "related_id": str(file.pk)}
        )

    assert asyncio.run(work()) == b"hello"
    assert Held.take() == ({"save", "exists", "open", "read"}, [])
    original = store_original(alice.principal, alice.team.pk, b"# Tea", "tea.md")
    assert read_original(alice.team.pk, original.pk) == b"# Tea"
    assert Held.take() == ({"save", "exists", "open", "read"}, [])
    answer: Any = alice.client.get(f"/files/{file.pk}/")
    assert b"".join(answer.streaming_content) == b"hello"
    assert Held.take() == ({"exists", "open", "read"}, [])
    with tenant([alice.team.pk]):
        StoredFile.objects.unscoped().filter(pk=file.pk).update(expires_at="2020-01-01T00:00Z")
    tidy_files()
    assert Held.take() == ({"delete", "list"}, [])


def test_upload_by_a_page_keeps_its_row_and_its_line_in_the_trail(
    cast: Cast, bucket: Bucket
) -> None:
    request = RequestTransaction([cast.team_a.pk])
    request.open()
    file = make_file(cast.alice, b"hello")
    request.close()

    assert Held.take() == ({"save", "exists"}, [])
    with tenant([cast.team_a.pk]):
        assert StoredFile.objects.unscoped().get().pk == file.pk


# -- mail ----------------------------------------------------------------------------------------


class Mailbox(BaseEmailBackend):
    def send_messages(self, email_messages: Any) -> int:
        Held.note("mail")
        return len(email_messages)


def test_mails_are_sent_without_a_connection(cast: Cast, settings: Any) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Mailbox"
    Held.calls.clear()
    with tenant([cast.team_a.pk]):
        pass  # so that this thread has a connection

    sent = send_mails([Mail("ann@example.com", "Tea", "Is ready")], about="tea")
    cast.alice.client.logout()
    cast.alice.client.post("/accounts/password/reset/", {"email": cast.alice.user.email})

    assert sent == 1
    assert Held.take() == ({"mail"}, [])


# -- the transactions that pause ------------------------------------------------------------------


def has_connection() -> bool:
    return connections["default"].connection is not None


def test_nested_transactions_pause_together_and_a_service_in_between_does_not(cast: Cast) -> None:
    teams = [cast.team_a.pk]
    with pausable_tenant(teams), pausable_tenant(teams):
        with without_connection():
            assert not has_connection()
            with without_connection():  # waits for something else meanwhile
                pass
            assert list_open_blocks() == []
        assert len(list_open_blocks()) == 2
    with pausable_tenant(teams), transaction.atomic(), without_connection(is_required=False):
        assert has_connection()
    assert list_open_blocks() == []


def test_failure_after_a_pause_takes_back_what_came_after_it(cast: Cast) -> None:
    def make(text: str) -> None:
        Namespace.objects.create(team_id=cast.team_a.pk, text=text, scope="workflow")

    def fail_after_a_pause() -> None:
        with pausable_tenant([cast.team_a.pk]):
            make("ai:memory:before:g")
            with without_connection():
                pass
            make("ai:memory:after:g")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after_a_pause()

    assert list_open_blocks() == []
    with tenant([cast.team_a.pk]):
        names = Namespace.objects.unscoped().values_list("text", flat=True)
        assert list(names) == ["ai:memory:before:g"]
