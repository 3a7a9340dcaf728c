import socket
from collections.abc import Iterator

import pytest

from config.embedded.errors import NoFreePort
from config.embedded.ports import find_free_port


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
