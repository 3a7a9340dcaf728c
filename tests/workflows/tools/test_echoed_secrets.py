"""Answers that repeat a request: the secret of the connection is removed from them in every encoding."""

import gzip
import json
import zlib
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttp, Reply
from tests.support.cases import for_each
from tests.support.steps import check_growth
from tests.workflows.tools.encodings import ENCODINGS, SECRET, encode58, encode64
from workflows.engine.tool_calls import ToolResult
from workflows.tools import connections, secret_encodings, secret_finder
from workflows.tools.echoed_secrets import REDACTED, build_cleaner, clean_result
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation
from workflows.tools.secret_finder import SecretFinder


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


# Values in which only all strings or numbers together say the secret, and what is left of each.
SPLIT: dict[str, tuple[Any, Any]] = {
    "two fields": ({"a": SECRET[:9], "n": 1, "b": SECRET[9:]}, {"a": REDACTED, "n": 1, "b": REDACTED}),
    "a name and its value": ({SECRET[:9]: SECRET[9:]}, {REDACTED: REDACTED}),
    "a list": (["x", SECRET[:9], SECRET[9:], "y"], ["x", REDACTED, REDACTED, "y"]),
    "its letters": ({"a": list(SECRET)}, {"a": [REDACTED if letter.isalnum() else letter for letter in SECRET]}),
    "its bytes": ({"type": "Buffer", "data": list(SECRET.encode())}, {"type": "Buffer", "data": REDACTED}),
    "an array": ({"a": 7, "b": {str(index): byte for index, byte in enumerate(SECRET.encode())}}, {
        "a": 7, "b": {str(index): REDACTED for index in range(len(SECRET.encode()))}}),
    "short lists": ([list(SECRET.encode()[:4]), list(SECRET.encode()[4:9]), list(SECRET.encode()[9:])], [
        [REDACTED] * 4, [REDACTED] * 5, REDACTED]),
    "nothing": ({"a": [1, 2, 3, 4, 5, 6], "b": "s3cr", "c": None}, {"a": [1, 2, 3, 4, 5, 6], "b": "s3cr", "c": None}),
}  # fmt: skip


@for_each("name", SPLIT)
def test_secret_that_several_values_say_is_removed_from_each(name: str) -> None:
    value, cleaned = SPLIT[name]
    clean = build_cleaner(SECRET, Security("bearer"))

    result = clean_result(ToolResult("", data=(value,)), clean)

    if name == "its letters":  # the signs between them are no letters that are compared
        assert SECRET not in "".join(result.data[0]["a"])
    else:
        assert list(result.data) == [cleaned]
    assert SecretFinder([SECRET]).is_in(value) == (name != "nothing")


@for_each("number", [482910337712, 482910337712.0, 1_482_910_337_712, 2**200])
def test_secret_of_digits_is_removed_where_it_is_a_number(number: float) -> None:
    clean, is_secret = build_cleaner("482910337712", Security("bearer")), number != 2**200
    value = {"key": number, "n": [1, 2.5, True, None]}

    result = clean_result(ToolResult("", data=(value,)), clean)

    assert list(result.data) == [{**value, "key": REDACTED if is_secret else number}]
    assert SecretFinder(["482910337712"]).is_in(value) == is_secret


def test_secret_in_two_strings_of_a_text_is_removed_from_both() -> None:
    text = json.dumps({"a": SECRET[:9], "note": "between", "b": SECRET[9:]})
    other = json.dumps({"a": SECRET[:9], "n": 7, "b": SECRET[9:]})
    clean = build_cleaner(SECRET, Security("bearer"))

    assert clean(text) == text  # a string between them
    assert json.loads(clean(other)) == {"a": REDACTED, "n": 7, "b": REDACTED}


@pytest.mark.parametrize("length", [8, 20, len(SECRET) - 1])
def test_beginning_of_a_secret_is_removed_where_a_text_was_cut(length: int) -> None:
    clean = build_cleaner(SECRET, Security("bearer"))

    assert clean(f"It says {SECRET[:length]}…") == f"It says {REDACTED}…"
    assert clean("It says …") == "It says …"


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
    [
        "a",
        "aB3/",
        "%41",
        "\\u0041",
        "word ",
        "ABC234",
        "a\n",
        "word\n",
        "41 ",
        "41:",
        "a\0",
        "zZ9",
        "zzZ9zzZ9z ",
        "aB3.",
        "M<W-C\n",
    ],
)
def test_large_answer_is_read_in_linear_time(piece: str) -> None:
    clean = build_cleaner(SECRET, Security("bearer"))

    check_growth(lambda size: clean(piece * size), 2_000)


def test_number_in_base_58_is_read_up_to_a_length() -> None:
    """All of its letters change all of its bytes, so that reading a long one would take the square of its length."""
    clean = build_cleaner(SECRET, Security("bearer"))
    texts = {size: encode58(f"{'x' * size}{SECRET}") for size in (200, 400)}

    assert len(texts[200]) < secret_encodings.MAX_BASE58 < len(texts[400])
    assert clean(AROUND.format(texts[200])) == AROUND.format(REDACTED)
    assert clean(AROUND.format(texts[400])) == AROUND.format(texts[400])


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

    class Counting:
        def __init__(self, *args: Any) -> None:
            self.packer = decompressobj(*args)

        @property
        def eof(self) -> bool:
            return self.packer.eof

        def decompress(self, *args: Any) -> bytes:
            content = self.packer.decompress(*args)
            unpacked.append(len(content))
            return content

    decompressobj = zlib.decompressobj
    monkeypatch.setattr(secret_encodings.zlib, "decompressobj", Counting)

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
