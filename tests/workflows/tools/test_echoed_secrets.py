"""Answers that repeat a request: the secret of the connection is removed from them in every encoding."""

import gzip
import json
import zlib
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttp, Reply
from tests.support.cases import for_each
from tests.support.steps import check_growth
from tests.workflows.tools.encodings import ENCODINGS, SECRET, encode64
from workflows.tools import connections, secret_encodings, secret_finder
from workflows.tools.echoed_secrets import REDACTED, build_cleaner
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation


AROUND = "You sent {} to us, thank you"


@for_each("name", ENCODINGS)
@for_each("type_", ["header", "bearer", "basic", "query"])
def test_secret_is_removed_in_every_encoding(name: str, type_: Any) -> None:
    encoded = ENCODINGS[name](SECRET)

    text = build_cleaner(SECRET, Security(type_, "key"))(AROUND.format(encoded))

    assert encoded not in text
    assert REDACTED in text
    assert text.startswith("You sent ")
    assert text.endswith(" to us, thank you")


@for_each("name", ENCODINGS)
def test_password_of_a_user_is_a_secret_too(name: str) -> None:
    encoded = ENCODINGS[name]("hunter2-hunter2")

    clean = build_cleaner("mia:hunter2-hunter2", Security("basic"))

    assert encoded not in clean(AROUND.format(encoded))


KEPT = [
    "Nothing of it: 100% sure, https://x.test/?a=b%20c&d=1 and aGVsbG8gd29ybGQ=",
    '{"a": "\\u00fc", "b": [1, 2.5, null], "c": "H4sIAAAAAAAA"}',
    "half a character: \\ud800%41+ and \ud800%41",
    "one\nword\na\nline\n\n00 11 22 33 44 55 66 77\nUNDERSTANDING MFRGGZDFMZTWQ2LK\0\0",
    "78da 1f8b deadbeefdeadbeef",
    "",
]


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert build_cleaner(SECRET, Security("bearer"))(text) == text


def test_without_a_secret_nothing_is_read() -> None:
    assert build_cleaner(None, Security())(AROUND) == AROUND
    assert build_cleaner("abc", Security("bearer"))("abc") == "abc"


@pytest.mark.parametrize(
    "piece",
    ["a", "aB3/", "%41", "\\u0041", "word ", "ABC234", "a\n", "word\n", "41 ", "41:", "a\0"],
)
def test_large_answer_is_read_in_linear_time(piece: str) -> None:
    clean = build_cleaner(SECRET, Security("bearer"))

    check_growth(lambda size: clean(piece * size), 2_000)


@for_each("name", ENCODINGS)
def test_large_answer_that_repeats_the_secret_is_read_in_linear_time(name: str) -> None:
    clean, piece = build_cleaner(SECRET, Security("bearer")), f"{ENCODINGS[name](SECRET)} "

    check_growth(lambda count: clean(piece * count), 100)


def pack(content: bytes) -> str:
    return encode64(gzip.compress(content, mtime=0))


def test_archives_are_unpacked_to_a_multiple_of_the_answer_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of twenty would unpack to a hundred kilobytes, in which there are archives again."""
    unpacked: list[int] = []
    inner = " ".join(pack(bytes(100_000) + bytes([number])) for number in range(100))
    bomb = pack(inner.encode())
    text = f"{bomb} " * 20 + "the end"

    def note(*args: Any) -> Any:
        packer = decompressobj(*args)
        return SimpleNamespace(decompress=lambda *more: count(packer.decompress(*more)))

    def count(content: bytes) -> bytes:
        unpacked.append(len(content))
        return content

    decompressobj = zlib.decompressobj
    monkeypatch.setattr(secret_encodings.zlib, "decompressobj", note)

    cleaned = build_cleaner(SECRET, Security("bearer"))(text)

    assert sum(unpacked) <= len(text) * secret_finder.UNPACKED_PER_LETTER + 1_000
    assert cleaned.endswith(f"{REDACTED} the end")


@pytest.mark.usefixtures("loopback")
async def test_answer_of_an_api_and_its_data_are_cleaned() -> None:
    echo = json.dumps({"headers": {"Authorization": f"Basic {encode64(SECRET.encode())}"}})
    operation = Operation("find", "", {"type": "object", "properties": {}},
                          {"method": "GET", "path": "/", "arguments": {}, "body_type": ""})  # fmt: skip
    with FakeHttp() as server:
        server.answers(Reply(500, echo.encode()))
        connection = connections.Connection(
            "api", "openapi", server.base_url, {"find": operation}, frozenset({"find"}), frozenset(),
            Security("basic"), SECRET,
        )  # fmt: skip
        tool = connections.build_tool(connection, operation)

        result = await connections.call_connection_tool(connection, tool, {}, "key")

    assert server.requests[0].headers["authorization"].endswith(encode64(SECRET.encode()))
    assert (result.text, result.is_error) == (
        f'HTTP 500\n{{"headers": {{"Authorization": "Basic {REDACTED}"}}}}',
        True,
    )
    assert list(result.data) == [{"headers": {"Authorization": f"Basic {REDACTED}"}}]
