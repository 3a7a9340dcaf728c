import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config.embedded.errors import NoFreePort
from config.embedded.ports import find_free_port, open_listener


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))
    yield listener
    listener.close()


def test_next_free_taken_port_gives_a_later_one(taken: socket.socket):
    wanted = taken.getsockname()[1]

    assert find_free_port("127.0.0.1", wanted) > wanted


def test_next_free_free_port_is_that_one(taken: socket.socket):
    wanted = taken.getsockname()[1]
    taken.close()

    assert find_free_port("127.0.0.1", wanted) == wanted


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
    taken: socket.socket, tmp_path: Path
):
    wanted, memo = taken.getsockname()[1], tmp_path / "port"
    with closing(open_listener("127.0.0.1", wanted, memo)) as first:
        used = first.getsockname()[1]
    taken.close()

    with closing(open_listener("127.0.0.1", wanted, memo)) as second:
        assert second.getsockname()[1] == used


@pytest.mark.parametrize("content", ["", "8000", "a b", "1 2 3"])
def test_listener_unreadable_memo_is_ignored(content: str, taken: socket.socket, tmp_path: Path):
    wanted, memo = taken.getsockname()[1], tmp_path / "port"
    taken.close()
    memo.write_text(content)

    with closing(open_listener("127.0.0.1", wanted, memo)) as listener:
        assert listener.getsockname()[1] == wanted


def test_listener_connections_send_small_writes_at_once(tmp_path: Path):
    with (
        closing(open_listener("127.0.0.1", 20_000, tmp_path / "port")) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
