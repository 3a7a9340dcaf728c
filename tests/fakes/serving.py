"""Run a server of the standard library in a thread of the test's process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import Final


# Seconds between two looks whether it shall stop. The half second of the standard library would be waited for by each test.
LOOK: Final = 0.02


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Serve while the block runs."""
    thread = threading.Thread(target=server.serve_forever, args=(LOOK,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
