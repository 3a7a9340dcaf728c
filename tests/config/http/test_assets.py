"""Static files are answered in front of Django, with WhiteNoise's headers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.staticfiles import finders

from config.http.assets import Assets, hash_file


SHEET = "css/tokens.css"


async def _django(_scope: object, _receive: object, send: Any) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b"Django's"})


async def _asked(
    path: str,
    *,
    query: str = "",
    method: str = "GET",
    headers: dict[str, str] | None = None,
    front: Assets | None = None,
) -> tuple[int, dict[str, str], bytes]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
    }
    told = ApplicationCommunicator(front or Assets(_django), scope)
    begun = await told.receive_output()
    body = await told.receive_output()
    said = {name.decode(): value.decode() for name, value in begun["headers"]}
    return begun["status"], said, body["body"]


def _source() -> Path:
    return Path(settings.STATICFILES_DIRS[0]) / SHEET


async def test_assets_file_asked_for_is_sent_whole_and_typed() -> None:
    status, headers, body = await _asked(f"/static/{SHEET}")
    assert status == 200
    assert body == _source().read_bytes()
    assert headers["content-type"].startswith("text/css")
    assert headers["content-length"] == str(len(body))
    assert headers["x-content-type-options"] == "nosniff"


async def test_assets_address_with_its_digest_may_be_kept_for_good() -> None:
    _, kept, _ = await _asked(f"/static/{SHEET}", query=hash_file(_source()))
    _, plain, _ = await _asked(f"/static/{SHEET}")
    _, old, _ = await _asked(f"/static/{SHEET}", query="0123456789ab")
    assert "immutable" in kept["cache-control"]
    assert "immutable" not in plain["cache-control"]
    assert "immutable" not in old["cache-control"]


async def test_assets_unchanged_file_is_not_sent_again() -> None:
    _, headers, _ = await _asked(f"/static/{SHEET}")
    status, _, body = await _asked(f"/static/{SHEET}", headers={"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")


async def test_assets_head_has_no_body() -> None:
    status, headers, body = await _asked(f"/static/{SHEET}", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) == _source().stat().st_size


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/workflows/", "GET"),
        ("/static/no/such.css", "GET"),
        ("/static/../config/settings.py", "GET"),
        ("/static/%2e%2e/config/settings.py", "GET"),
        ("/static/css/", "GET"),
        (f"/static/{SHEET}", "POST"),
    ],
)
async def test_assets_what_is_no_file_of_ours_is_left_to_django(path: str, method: str) -> None:
    status, _, body = await _asked(path, method=method)
    assert (status, body) == (418, b"Django's")


@pytest.fixture(params=[True, False], ids=["checkout", "deployed"])
def own_folder(tmp_path: Path, settings: Any, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Static files are looked for here alone."""
    settings.STATICFILES_DIRS = [tmp_path]
    settings.WHITENOISE_AUTOREFRESH = request.param
    finders.get_finder.cache_clear()
    yield tmp_path
    finders.get_finder.cache_clear()


async def test_assets_edited_file_is_sent_as_it_is_now(own_folder: Path) -> None:
    front, file = Assets(_django), own_folder / "own.css"
    file.write_text("a {}")
    _, before, _ = await _asked("/static/own.css", query=hash_file(file), front=front)
    old = hash_file(file)
    file.write_text("b { color: red }")
    os.utime(file, ns=(1, 1))
    _, after, body = await _asked("/static/own.css", query=old, front=front)
    assert body == b"b { color: red }"
    assert after["content-length"] == str(len(body))
    assert "immutable" in before["cache-control"]
    assert "immutable" not in after["cache-control"]
