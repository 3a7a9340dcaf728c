"""Under ASGI an address is looked up once, and every request takes one switch to a thread, in which it has the same answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.urls import URLResolver, path

from accounts.http.middleware import has_own_tenant
from config.http.event_streams import EventStream
from config.http.handler import Handler
from config.http.page_threads import TURNS
from config.urls import urlpatterns as product_urls
from tests.config.http.test_page_threads import Work


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the root of all addresses."""
    found: list[str] = []
    resolve = URLResolver.resolve

    def counted(self, path):
        if path.startswith("/"):
            found.append(path)
        return resolve(self, path)

    monkeypatch.setattr(URLResolver, "resolve", counted)
    return found


def open_page(address: str, handler: Handler | None = None) -> ApplicationCommunicator:
    scope = {
        "type": "http", "method": "GET", "path": address, "headers": [(b"host", b"localhost")],
        "query_string": b"", "server": ("127.0.0.1", 80), "scheme": "http",
    }  # fmt: skip
    return ApplicationCommunicator(handler or Handler(), scope)


async def read(page: ApplicationCommunicator) -> tuple[int, bytes]:
    start = await page.receive_output(timeout=90)
    content, has_more = b"", True
    while has_more:
        message = await page.receive_output(timeout=90)
        content += message.get("body", b"")
        has_more = message.get("more_body", False)
    return start["status"], content


async def ask(address: str) -> tuple[int, bytes]:
    page = open_page(address)
    await page.send_input({"type": "http.request"})
    return await read(page)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/favicon.ico", 302),
        ("/workflows/00000000-0000-0000-0000-000000000000/live/", 302),
    ],
)
async def test_request_is_resolved_once_in_both_chains(lookups, address, status):
    answered, _content = await ask(address)

    assert (answered, lookups) == (status, [address])


@pytest.mark.django_db
async def test_address_that_is_nowhere_is_not_found():
    status, _content = await ask("/nowhere/at/all")

    assert status == 404


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The functions that coroutines have called in threads."""
    functions: list[object] = []
    call = SyncToAsync.__call__

    async def note(self: Any, *arguments: Any, **options: Any) -> Any:
        functions.append(self.func)
        return await call(self, *arguments, **options)

    monkeypatch.setattr(SyncToAsync, "__call__", note)
    return functions


async def test_page_takes_one_switch_to_a_thread(switches: list[object]):
    await ask("/favicon.ico")

    assert len(switches) == 1


CONTENT = bytes(range(256)) * 1_000
_work: list[Work] = []  # what the page "busy" does
_opened: list[FileResponse] = []


def send_file(request: HttpRequest) -> FileResponse:
    file = Path(request.headers["X-File"]).open("rb")  # noqa: SIM115 - the response closes it
    _opened.append(FileResponse(file))
    return _opened[-1]


def be_busy(_request: HttpRequest) -> HttpResponse:
    _work[-1]()
    return HttpResponse("done")


_begun: list[asyncio.Event] = []  # of the views that wait until they are cancelled
_cancelled: list[str] = []


async def wait_for_ever(_request: HttpRequest) -> HttpResponse:
    _begun[-1].set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _cancelled.append("view")
        raise
    raise AssertionError


async def greet(_request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse("hello")


async def stream(_request: HttpRequest) -> EventStream:
    return EventStream(count_slowly())


async def count_slowly() -> AsyncIterator[bytes]:
    for number in range(3):
        await asyncio.sleep(0)
        yield f"data: {number}\n\n".encode()


FAULTS = {"missing": Http404, "refused": PermissionDenied, "broken": ZeroDivisionError}


def fail(_request: HttpRequest, fault: str) -> HttpResponse:
    raise FAULTS[fault]


async def fail_later(_request: HttpRequest, fault: str) -> HttpResponse:
    await asyncio.sleep(0)
    raise FAULTS[fault]


urlpatterns = [
    path("file/", send_file),
    path("busy/", be_busy),
    path("waits/", wait_for_ever),
    path("greets/", greet),
    path("streams/", stream),
    path("fails/<fault>/", fail),
    path("fails/later/<fault>/", fail_later),
    *product_urls,
]


@pytest.mark.urls(__name__)
async def test_file_is_sent_whole_and_closed(tmp_path: Path):
    file = tmp_path / "file.bin"
    file.write_bytes(CONTENT)
    page = open_page("/file/")
    page.scope["headers"].append((b"x-file", str(file).encode()))
    await page.send_input({"type": "http.request"})

    with pytest.warns(Warning, match="must consume synchronous iterators"):
        answer = await read(page)
    await page.wait()

    response = _opened.pop()
    assert (answer, response.closed) == ((200, CONTENT), True)


@pytest.mark.urls(__name__)
async def test_page_whose_reader_has_left_is_not_made_when_its_turn_comes():
    handler, work = Handler(), Work()
    handler._get_threads().pages.turns.long_seconds = 86_400.0  # no request works for so long
    _work.append(work)
    pages = [open_page("/busy/", handler) for _number in range(TURNS + 1)]
    for page in pages:
        await page.send_input({"type": "http.request"})
    await work.has_begun(TURNS)
    await pages[-1].send_input({"type": "http.disconnect"})

    work.end()
    answers = await asyncio.gather(*map(read, pages[:-1]))
    await pages[-1].wait()

    assert answers == [(200, b"done")] * TURNS
    assert (work.begun, pages[-1].output_queue.empty()) == (TURNS, True)


@pytest.mark.urls(__name__)
@pytest.mark.django_db
async def test_asynchronous_view_takes_one_switch_to_a_thread(switches: list[object]):
    answer = await ask("/greets/")

    assert (answer, len(switches)) == ((200, b"hello"), 1)


@pytest.mark.urls(__name__)
@pytest.mark.django_db
async def test_stream_of_an_asynchronous_view_goes_on_after_its_request():
    status, content = await ask("/streams/")

    assert (status, content) == (200, b"retry: 1000\ndata: 0\n\ndata: 1\n\ndata: 2\n\n")


@pytest.mark.urls(__name__)
@pytest.mark.django_db
@pytest.mark.parametrize(("fault", "status"), [("missing", 404), ("refused", 403), ("broken", 500)])
async def test_asynchronous_view_that_fails_has_the_answer_of_any_other(fault: str, status: int):
    answers = [(await ask(f"/fails/{step}{fault}/"))[0] for step in ("", "later/")]

    assert answers == [status, status]


@pytest.mark.urls(__name__)
@pytest.mark.django_db
async def test_view_that_waits_is_cancelled_when_its_reader_leaves():
    handler = Handler()
    _begun.append(asyncio.Event())
    _cancelled.clear()
    page = open_page("/waits/", handler)
    await page.send_input({"type": "http.request"})
    await _begun[-1].wait()

    await page.send_input({"type": "http.disconnect"})
    await page.wait()

    turns = handler._get_threads().pages.turns
    assert (_cancelled, page.output_queue.empty(), turns._value) == (["view"], True, TURNS)


def list_operations(patterns: Any = product_urls) -> list[list[Any]]:
    """Return the operations of each path of the APIs."""
    found = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found += list_operations(pattern.url_patterns)
            continue
        for cell in getattr(pattern.callback, "__closure__", None) or ():
            found += (
                [list(operations)]
                if (operations := getattr(cell.cell_contents, "operations", None))
                else []
            )
    return found


def test_operations_of_a_path_agree_on_who_opens_the_tenant():
    """The middleware knows the path only."""
    paths = list_operations()
    marks = [{has_own_tenant(each.view_func) for each in operations} for operations in paths]

    assert [mark for mark in marks if len(mark) > 1] == []
    assert marks.count({True}) > 5
    assert not any(each.is_async for operations in paths for each in operations)
