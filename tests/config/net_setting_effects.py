"""What the settings of calls outside change. See ``setting_effects``."""

import threading
from typing import Any


def net_allow() -> object:
    """Return the answers of an internal host that is allowed and of one that isn't."""
    from django.conf import settings

    from config import net

    with net.build_sync_client(timeout=30) as client:
        allowed = client.get(str(settings.MEMORY_EMBEDDER_URL)).status_code
        try:
            client.get("http://127.0.0.2:1/")
        except net.NetFault as fault:
            return [allowed, type(fault).__name__]
    return [allowed, ""]


def net_proxy() -> object:
    """Return through which proxy the clients connect."""
    from config import net

    with net.build_sync_client() as client:
        proxy: Any = client._transport._rules.proxy
    return [proxy.host, proxy.port]


def local_models() -> object:
    return _call_this_machine("for_models")


def local_mcp() -> object:
    return _call_this_machine("for_mcp")


def _call_this_machine(purpose: str) -> object:
    """Return whether the client for a purpose reaches another port of this machine, and the other client doesn't."""
    import asyncio
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from config import net

    class QuietHandler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), QuietHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"

        async def call(**options: bool) -> str:
            async with net.build_client(timeout=30, **options) as client:  # type: ignore[arg-type]
                try:
                    await client.get(url)
                except net.NetFault as fault:
                    return type(fault).__name__
            return "connected"

        return [asyncio.run(call(**{purpose: True})), asyncio.run(call())]
