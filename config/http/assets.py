"""Our own files, answered before a request reaches Django: the editor asks for a hundred modules at once.

What WhiteNoise finds is found here, with its headers; through Django's middlewares and a thread each of them
would cost several times as much. An address that carries the digest of its content may be kept for good.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]
from whitenoise.responders import Response, StaticFile  # type: ignore[import-untyped]


Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

FOR_GOOD = (b"cache-control", b"max-age=31536000, public, immutable")
NO_GUESSING = (b"x-content-type-options", b"nosniff")
LARGE = 2_000_000  # bytes, from which on a file is sent in parts: Django does that


def digest(path: str | Path) -> str:
    """What an address carries so that it changes with the content."""
    return blake2b(Path(path).read_bytes(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class _Asset:
    file: StaticFile
    path: str
    changed: int
    size: int

    @cached_property
    def digest(self) -> str:
        return digest(self.path)


class Assets:
    """An ASGI application around another one."""

    def __init__(self, inner: App) -> None:
        self._inner = inner
        self._known: dict[str, _Asset] = {}

    async def __call__(self, scope: Message, receive: object, send: Send) -> None:
        asset = self._wanted(scope)
        if asset is None:
            await self._inner(scope, receive, send)
            return
        answer = asset.file.get_response(scope["method"], _asked(scope["headers"]))
        headers = _said(answer)
        if scope["query_string"] == asset.digest.encode():
            headers = [each for each in headers if each[0] != b"cache-control"] + [FOR_GOOD]
        body = b""
        if answer.file is not None:
            with answer.file:
                body = answer.file.read()
        await send(
            {"type": "http.response.start", "status": int(answer.status), "headers": headers}
        )
        await send({"type": "http.response.body", "body": body})

    def _wanted(self, scope: Message) -> _Asset | None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return None
        address: str = scope["path"]
        if not address.startswith(self._finder.static_prefix):
            return None
        asset = self._known.get(address)
        if asset is None or _changed(asset.path) != asset.changed:
            asset = self._found(address)
        return asset if asset is not None and asset.size < LARGE else None

    def _found(self, address: str) -> _Asset | None:
        self._known.pop(address, None)
        finder = self._finder
        file = finder.find_file(address) if finder.autorefresh else finder.files.get(address)
        if not isinstance(file, StaticFile):  # nothing, or a redirect
            return None
        path = file.get_path_and_headers({})[0]
        about = Path(path).stat()
        file = finder.get_static_file(path, address)  # its length as it is now
        self._known[address] = _Asset(file, path, about.st_mtime_ns, about.st_size)
        return self._known[address]

    @cached_property
    def _finder(self) -> WhiteNoiseMiddleware:
        """When the first file is asked for: finders need the apps."""
        return WhiteNoiseMiddleware(lambda _request: None, settings)


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return -1


def _asked(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """As WSGI names them, which is what WhiteNoise reads."""
    return {
        f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
        for name, value in headers
    }


def _said(answer: Response) -> Headers:
    told = [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in answer.headers]
    return [*told, NO_GUESSING]
