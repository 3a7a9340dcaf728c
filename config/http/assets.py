"""Serves static files before a request reaches Django, because the editor loads a hundred modules at once.

WhiteNoise finds the files and their headers; Django's middlewares and a thread per file would cost several times as
much. A URL that contains the digest of its content may be cached permanently.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]
from whitenoise.responders import Response, StaticFile  # type: ignore[import-untyped]


Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

IMMUTABLE = (b"cache-control", b"max-age=31536000, public, immutable")
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
MAX_SIZE = 2_000_000  # bytes; Django streams larger files in parts


def hash_file(path: str | Path) -> str:
    """Return the digest of a file's content, which is a part of its URL, so that the URL changes with the content."""
    return blake2b(Path(path).read_bytes(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class _Asset:
    file: StaticFile
    path: str
    modified_at: int
    size: int

    @cached_property
    def digest(self) -> str:
        return hash_file(self.path)


class StaticFiles(StaticFilesStorage):
    """The source folders' static files. Each URL is computed once: a page has forty, and most are that of the icons."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._urls: dict[str | None, str] = {}

    def url(self, name: str | None) -> str:
        url = self._urls.get(name)
        if url is None:
            url = self._urls[name] = super().url(name)
        return url


class Assets:
    """An ASGI application that serves static files and passes every other request to the inner one."""

    def __init__(self, inner: App) -> None:
        self._inner = inner
        self._cache: dict[str, _Asset] = {}

    async def __call__(self, scope: Message, receive: object, send: Send) -> None:
        asset = self._find_asset(scope)
        if asset is None:
            await self._inner(scope, receive, send)
            return
        response = asset.file.get_response(scope["method"], _to_wsgi_headers(scope["headers"]))
        headers = _to_asgi_headers(response)
        if scope["query_string"] == asset.digest.encode():
            headers = [header for header in headers if header[0] != b"cache-control"] + [IMMUTABLE]
        with response.file or BytesIO() as file:
            body = file.read()
        status = int(response.status)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _find_asset(self, scope: Message) -> _Asset | None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return None
        address: str = scope["path"]
        if not address.startswith(self._finder.static_prefix):
            return None
        asset = self._cache.get(address)
        if asset is None or _read_modified_at(asset.path) != asset.modified_at:
            asset = self._load_asset(address)
        return asset if asset is not None and asset.size < MAX_SIZE else None

    def _load_asset(self, address: str) -> _Asset | None:
        self._cache.pop(address, None)
        finder = self._finder
        file = finder.find_file(address) if finder.autorefresh else finder.files.get(address)
        if not isinstance(file, StaticFile):  # not found, or a redirect
            return None
        path = file.get_path_and_headers({})[0]
        status = Path(path).stat()
        file = finder.get_static_file(
            path, address
        )  # again, because the file's size may have changed
        asset = self._cache[address] = _Asset(file, path, status.st_mtime_ns, status.st_size)
        return asset

    @cached_property
    def _finder(self) -> WhiteNoiseMiddleware:
        """Build the finder when the first file is requested, because finders need the apps."""
        return WhiteNoiseMiddleware(lambda _request: None, settings)


def _read_modified_at(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return -1


def _to_wsgi_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Convert headers to the names of WSGI, which WhiteNoise reads."""
    return {
        f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
        for name, value in headers
    }


def _to_asgi_headers(response: Response) -> Headers:
    pairs = ((name.lower(), value) for name, value in response.headers)
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    return [*headers, NO_SNIFFING]
