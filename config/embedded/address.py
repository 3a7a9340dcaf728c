"""The address of the installation on this machine, as a person opens it in a browser."""

import fcntl
from pathlib import Path

from config.embedded.layout import find_layout
from config.embedded.ports import read_last_port
from config.env import Env


def build_base_url(host: str, port: int) -> str:
    return f"http://{_to_browser_host(host)}:{port}"


def find_base_url(settings: Env) -> str:
    """Return where the site is now, or else where it will be at its next start, as far as that is known.

    The port may have been chosen with `--port`, or another one may have stood in for it. A PORT that is set explicitly
    and wasn't asked for last time is a new choice.
    """
    layout = find_layout(settings.mnemoflow_home)
    if address := read_running_address(layout.locks):
        return address
    last = read_last_port(layout.port_memo)
    is_new_choice = "port" in settings.model_fields_set and last and last.requested != settings.port
    port = settings.port if last is None or is_new_choice else last.used
    return build_base_url(settings.host, port)


def read_running_address(locks: Path) -> str:
    """Return the address that the running ``manage.py up`` wrote into its lock file; empty if none runs."""
    try:
        with (locks / "up").open() as lock_file:
            try:
                fcntl.flock(lock_file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock_file.read()
    except FileNotFoundError:
        pass
    return ""


def _to_browser_host(host: str) -> str:
    """Return the host that a browser on this machine can open."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 -- compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
