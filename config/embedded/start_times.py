"""How long the start of a program may take on a slow, busy machine. The web process knows these numbers as well."""

from typing import Final


WEB_START_SECONDS: Final = 60.0  # after which a start is said to be slow
WORKER_START_SECONDS: Final = 120.0  # in which a worker reports
