"""Where the site is, for whoever prints a link to it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.embedded.address import build_base_url, find_base_url
from config.env import env


def build_settings(home: Path, **given: object):
    settings = env().model_copy(update={"mnemoflow_home": home, "host": "127.0.0.1", "port": 8000})
    settings.model_fields_set.discard("port")
    return settings.model_copy(update=given)


@contextmanager
def run_up(home: Path, address: str) -> Iterator[None]:
    """Hold the lock that ``manage.py up`` holds, with the address that it writes into it."""
    (home / "locks").mkdir()
    with (home / "locks" / "up").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(address)
        file.flush()
        yield


def test_address_is_that_of_the_site_that_runs(tmp_path: Path):
    (tmp_path / "port").write_text("8000 8001")
    with run_up(tmp_path, "http://127.0.0.1:8311"):
        assert find_base_url(build_settings(tmp_path)) == "http://127.0.0.1:8311"

    # The lock is released, so what the file says is no longer so.
    assert find_base_url(build_settings(tmp_path)) == "http://127.0.0.1:8001"


@pytest.mark.parametrize(
    ("memo", "given", "port"),
    [
        (None, {}, 8000),
        ("8311 8311", {}, 8311),  # it was started with --port 8311
        ("8000 8002", {"port": 8000}, 8002),  # another one stood in for it
        ("8311 8311", {"port": 9000}, 9000),  # PORT was changed since
        ("not a port", {}, 8000),
    ],
)
def test_address_has_the_port_of_the_last_start(
    tmp_path: Path, memo: str | None, given: dict[str, int], port: int
):
    if memo:
        (tmp_path / "port").write_text(memo)

    assert find_base_url(build_settings(tmp_path, **given)) == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("10.0.0.5", "http://10.0.0.5:8000"),
    ],
)
def test_address_is_one_that_a_browser_can_open(host: str, url: str):
    assert build_base_url(host, 8000) == url
