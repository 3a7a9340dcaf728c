"""Our own web server in a thread of the test's process: a real one, whose clock a test can move."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


@contextmanager
def own_server() -> Iterator[str]:
    """Its address. It reads the database the test session uses."""
    from config.asgi import application

    config = uvicorn.Config(
        application, host="127.0.0.1", port=0, lifespan="off", ws="none", log_level="warning",
        access_log=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="own-server", daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < until, "the server did not start in time"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(15)
