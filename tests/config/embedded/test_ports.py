import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from config.embedded.errors import NoFreePort
from config.embedded.ports import find_free_port, open_listener
from tests.support.ports import hold_port


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))
    yield listener
    listener.close()


@pytest.fixture
def free() -> Iterator[int]:
    """A port that the product may listen on, and nobody else gets."""
    with hold_port() as port:
        yield port


@pytest.fixture
def neighbours() -> Iterator[tuple[socket.socket, int]]:
    """A port that somebody listens on, and the next one, which is free as above."""
    with ExitStack() as stack:
        while True:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            try:
                port = stack.enter_context(hold_port(listener.getsockname()[1] + 1))
            except OSError:  # somebody has it
                continue
            break
        yield listener, port


def test_next_free_taken_port_gives_a_later_one(taken: socket.socket):
    wanted = taken.getsockname()[1]

    assert find_free_port("127.0.0.1", wanted) > wanted


def test_next_free_free_port_is_that_one(free: int):
    assert find_free_port("127.0.0.1", free) == free


def test_next_free_address_of_another_machine_says_what_to_set():
    with pytest.raises(NoFreePort, match="Set PORT to another, or HOST"):
        find_free_port("192.0.2.1", 8000)


def test_listener_keeps_its_port_from_the_start(taken: socket.socket, tmp_path: Path):
    wanted = taken.getsockname()[1]

    with closing(open_listener("127.0.0.1", wanted, tmp_path / "port")) as listener:
        used = listener.getsockname()[1]
        assert used > wanted
        assert find_free_port("127.0.0.1", used) > used


def test_listener_port_that_stood_in_is_used_again_after_a_restart(
    neighbours: tuple[socket.socket, int], tmp_path: Path
):
    (taken, next_port), memo = neighbours, tmp_path / "port"
    wanted = taken.getsockname()[1]
    with closing(open_listener("127.0.0.1", wanted, memo)) as first:
        used = first.getsockname()[1]
    taken.close()

    with closing(open_listener("127.0.0.1", wanted, memo)) as second:
        assert (used, second.getsockname()[1]) == (next_port, next_port)


@pytest.mark.parametrize("content", ["", "8000", "a b", "1 2 3"])
def test_listener_unreadable_memo_is_ignored(content: str, free: int, tmp_path: Path):
    memo = tmp_path / "port"
    memo.write_text(content)

    with closing(open_listener("127.0.0.1", free, memo)) as listener:
        assert listener.getsockname()[1] == free


def test_listener_connections_send_small_writes_at_once(tmp_path: Path):
    with (
        closing(open_listener("127.0.0.1", 20_000, tmp_path / "port")) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
