"""Serves the metrics of a worker, which has no web server, on an address of its own."""

import hmac
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import make_wsgi_app


log = structlog.get_logger(__name__)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    timeout = 10  # seconds for a request that doesn't come

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing: a line for each scrape is too many."""


def serve_metrics(address: str, token: str | None) -> WSGIServer | None:
    """Serve the metrics in a thread. Return None if the address is in use, which must not keep a worker from working."""
    host, _, port = address.rpartition(":")
    try:
        server = make_server(host, int(port), _build_app(token), _Server, _QuietHandler)
    except OSError as error:
        log.warning("metrics.not_served", address=address, why=str(error))
        return None
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def may_read(authorization: str, token: str) -> bool:
    sent_token = authorization.removeprefix("Bearer ")
    return hmac.compare_digest(sent_token.encode(), token.encode())


def _build_app(token: str | None) -> Any:  # a WSGI application
    app: Callable[[dict[str, Any], Any], Iterable[bytes]] = make_wsgi_app()

    def check_token(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if token and not may_read(environ.get("HTTP_AUTHORIZATION", ""), token):
            start_response("403 Forbidden", [("Content-Length", "0")])
            return []
        return app(environ, start_response)

    return check_token
