"""A connection with a short way to the one value of a frequent statement.

A commit of a step takes the database about 100 µs. A cursor takes another 40 µs of the worker's only core for it, a
quarter of all that the worker does for the step. These statements therefore go to libpq directly: they are prepared
once, their values are sent as text, and the one value of the result is read.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection, DataError, abc, adapt
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult


Row = tuple[Any, ...]  # columns differ by statement

_SUCCESSES: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class RunConnection(AsyncConnection[Row]):
    """A connection in autocommit, used by one task at a time."""

    @cached_property
    def _statement_names(self) -> dict[str, bytes]:
        return {}

    @cached_property
    def _transformer(self) -> abc.Transformer:
        return adapt.Transformer(self)

    @property
    def is_idle(self) -> bool:
        """Return whether another task may use the connection; a broken or interrupted one is to be closed."""
        return self.pgconn.transaction_status == TransactionStatus.IDLE

    async def fetch_value(self, statement: str, values: Sequence[object]) -> Any:
        """Return the only column of the only row, or None. The statement has a ``%s`` for each value.

        Raises the errors of psycopg.
        """
        try:
            texts = [VALUE_WRITERS[value.__class__](value) for value in values]
        except KeyError:  # psycopg knows more types
            cursor = await self.execute(statement.encode(), values)
            row = await cursor.fetchone()
            return row[0] if row else None
        name = self._statement_names.get(statement) or await self._prepare(statement)
        self.pgconn.send_query_prepared(name, texts)
        result = await self._read_result()
        data = result.get_value(0, 0) if result.ntuples else None
        if data is None:
            return None
        return self._transformer.get_loader(result.ftype(0), Format.TEXT).load(data)

    async def _prepare(self, statement: str) -> bytes:
        first, *others = statement.split("%s")
        numbered = (f"${number}{text}" for number, text in enumerate(others, start=1))
        name = f"run_{len(self._statement_names)}".encode()
        self.pgconn.send_prepare(name, "".join((first, *numbered)).encode())
        await self._read_result()
        self._statement_names[statement] = name
        return name

    async def _read_result(self) -> PGresult:
        """Return the result of the statement that was sent, after the server is ready for the next one."""
        pgconn = self.pgconn
        while pgconn.flush():  # the statement is larger than the socket's buffer
            await self._wait_for_socket(is_writing=True)
            pgconn.consume_input()
        last: PGresult | None = None
        while True:
            while pgconn.is_busy():
                await self._wait_for_socket()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                break
            last = result
        if last is None or last.status not in _SUCCESSES:
            raise error_from_result(last) if last else RuntimeError("a statement without a result")
        return last

    async def _wait_for_socket(self, *, is_writing: bool = False) -> None:
        """Return when there is something to read, or room to write."""
        loop, socket = asyncio.get_running_loop(), self.pgconn.socket
        waiter: asyncio.Future[None] = loop.create_future()
        loop.add_reader(socket, _end_wait, waiter)
        if is_writing:
            loop.add_writer(socket, _end_wait, waiter)
        try:
            await waiter
        finally:
            loop.remove_reader(socket)
            if is_writing:
                loop.remove_writer(socket)


def _end_wait(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _write_text(text: str) -> bytes:
    data = text.encode()
    if b"\0" in data:  # libpq would take it for the end
        raise DataError("PostgreSQL text can't contain NUL bytes.")
    return data


def _write_array(items: Sequence[object]) -> bytes:
    """Return an array literal of PostgreSQL. A string is quoted, which the text of no other type needs."""
    return b"{%s}" % b",".join(map(_write_item, items))


def _write_item(item: object) -> bytes:
    text = VALUE_WRITERS[item.__class__](item)
    if text is None:
        return b"NULL"
    if isinstance(item, str):
        return b'"%s"' % text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return text


# The types of the values of these statements. PostgreSQL reads the text as the type of the function's parameter.
VALUE_WRITERS: Final[Mapping[type, Callable[[Any], bytes | None]]] = {
    type(None): lambda _: None,
    bool: lambda value: b"t" if value else b"f",
    int: lambda value: b"%d" % value,
    float: lambda value: repr(value).encode(),
    str: _write_text,
    UUID: lambda value: value.hex.encode(),
    timedelta: lambda value: f"{value.total_seconds()} s".encode(),
    list: _write_array,
    tuple: _write_array,
}
