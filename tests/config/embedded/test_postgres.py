import os
import signal
from contextlib import closing
from pathlib import Path

import kombu
import psycopg
import pytest
import redis

from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.embedded.processes import find_process
from config.embedded.session import prepare_database
from config.embedded.valkey import Valkey
from config.url_settings import build_database_config
from tests.config.embedded.conftest import stop_services


def server(home: Path) -> Postgres:
    at = find_layout(home)
    return Postgres(at.pg_data, at.sockets, at.logs / "postgres.log", settings={"fsync": "off"})


def test_postgres_killed_and_started_again_has_the_data(home: Path):
    first = server(home)
    started = first.start()
    with psycopg.connect(first.build_url(), autocommit=True) as connection:
        connection.execute("create table kept as select 1 as one")
    process = first.find_process()
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(90)

    second = server(home)
    restarted = second.start()

    with psycopg.connect(second.build_url()) as connection:
        assert connection.execute("select one from kept").fetchall() == [(1,)]
    assert (started, restarted) == (True, True)


# Signs that mean something in URLs, in PostgreSQL's settings or to its clients, and a path longer than a socket's.
ODD_NAMES = {
    "spaces and Chinese": "a b 中文",
    "signs of URLs": "a%41+#?&=;b",
    "quotes": "a'b\"c",
    "a comma": "a,b",
    "150 characters": "long " * 30,
}
ALL_ODD_NAMES = " ".join(name.strip() for name in ODD_NAMES.values())  # one folder has them all


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(ALL_ODD_NAMES, id="all at once"),
        *(pytest.param(name, id=id_, marks=pytest.mark.nightly) for id_, name in ODD_NAMES.items()),
    ],
)
def test_services_in_a_folder_with_an_odd_name_are_reached_by_their_addresses(
    home: Path, name: str
):
    """As the product reaches them: through Django's settings, Celery's and a URL."""
    folder = home / name.strip()
    at = find_layout(folder)
    valkey = Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log")
    try:
        server(folder).start()
        valkey.start()
        config = build_database_config(at.build_database_url("postgres", "postgres"))
        with psycopg.connect(host=config["HOST"], user=config["USER"], dbname="postgres") as plain:
            assert plain.execute("select 1").fetchone() == (1,)
        with redis.Redis.from_url(at.redis_url) as client:
            assert client.ping()
        with kombu.Connection(at.broker_url) as broker:
            broker.ensure_connection(max_retries=1, timeout=90)
            assert broker.connected
    finally:
        stop_services(folder)


def test_postgres_left_running_is_taken_over(home: Path):
    server(home).start()

    assert server(home).start() is False


def test_postgres_pid_file_of_somebody_else_is_no_obstacle(home: Path):
    """In a container the numbers start over: the old server's pid is soon anybody's, here this test's."""
    first = server(home)
    first.start()
    first.stop()
    stale = find_layout(home).pg_data / "postmaster.pid"
    stale.write_text(
        f"{os.getpid()}\n{find_layout(home).pg_data}\n1\n5432\n{find_layout(home).sockets}\n\n0 0\nready\n"
    )

    assert server(home).start() is True


def test_postgres_does_not_run_as_root_and_lets_nobody_else_in(home: Path):
    running_server = server(home)
    running_server.start()
    process = running_server.find_process()

    assert process is not None
    assert process.uids().effective != 0
    assert [
        find_layout(home).pg_data.stat().st_mode & 0o777,
        find_layout(home).sockets.stat().st_mode & 0o777,
    ] == [0o700, 0o700]


def test_postgres_app_role_gets_rights_on_later_tables_but_owns_nothing(home: Path):
    running_server = server(home)
    running_server.start()
    prepare_database(running_server, "site")
    prepare_database(running_server, "site")  # a second start
    with psycopg.connect(running_server.build_url(name="site"), autocommit=True) as owner:
        owner.execute("create table later (id bigserial primary key, word text)")

    with psycopg.connect(running_server.build_url("mnemoflow_app", "site"), autocommit=True) as app:
        app.execute("insert into later (word) values ('in')")
        rows = app.execute("select id, word from later").fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("truncate later")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("alter table later disable row level security")

    assert rows == [(1, "in")]


def test_postgres_right_taken_away_by_a_migration_stays_away_after_the_next_start(home: Path):
    running_server = server(home)
    running_server.start()
    prepare_database(running_server, "site")
    with psycopg.connect(running_server.build_url(name="site"), autocommit=True) as owner:
        owner.execute("create table trail (id int)")
        owner.execute("revoke update, delete on trail from mnemoflow_app")

    prepare_database(running_server, "site")

    app = psycopg.connect(running_server.build_url("mnemoflow_app", "site"))
    with closing(app), pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("delete from trail")


def test_process_with_the_pid_but_another_command_is_not_ours():
    assert find_process(os.getpid(), argument="no-such-argument") is None
