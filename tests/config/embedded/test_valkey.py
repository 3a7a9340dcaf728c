import signal
from pathlib import Path

import redis

from config.embedded.layout import find_layout
from config.embedded.valkey import Valkey
from tests.support.waiting import until


def server(home: Path) -> Valkey:
    at = find_layout(home)
    return Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log")


def test_valkey_killed_and_started_again_has_the_queue(home: Path):
    first = server(home)
    first.start()
    with redis.Redis.from_url(first.url) as client:
        client.lpush("queue", *range(1_000))
        # The log is written with each command, unless it is being synced, and synced each second. What is written
        # is lost with the machine, but not with the process.
        until(lambda: client.info("persistence")["aof_buffer_length"] == 0)
    process = first.find_process()
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(90)

    second = server(home)
    second.start()

    with redis.Redis.from_url(second.url) as client:
        assert client.llen("queue") == 1_000


def test_valkey_listens_on_no_port_and_throws_nothing_away(home: Path):
    running = server(home)
    running.start()

    with redis.Redis.from_url(running.url) as client:
        settings = client.config_get("port", "maxmemory-policy", "appendonly")

    assert settings == {"port": "0", "maxmemory-policy": "noeviction", "appendonly": "yes"}
    assert running.start() is False
