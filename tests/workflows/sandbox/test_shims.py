"""Modules that the interpreter lacks are there all the same, and some need no import."""

import hashlib
import hmac
import html
import io
import re
import uuid

import pytest

from tests.support.cases import for_each
from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.shims.imports import lead_imports_to_shims


@pytest.fixture(scope="module")
def runner():
    monty = MontyRunner()
    yield monty
    monty.close()


async def run(runner: MontyRunner, body: str, head: str = "") -> CodeOutcome:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return await runner.run(f"{head}\ndef main():\n{lines}\n", {}, CodeLimits())


@pytest.mark.parametrize(
    ("head", "expression", "value"),
    [
        ("", "json.loads(json.dumps({'a': [1]}))", {"a": [1]}),
        ("", "re.sub('a+', 'b', 'caat')", "cbt"),
        ("", "base64.b64encode(b'hi').decode()", "aGk="),
        ("import html", "html.escape('<a href=\"x\">&\\'')", html.escape("<a href=\"x\">&'")),
        (
            "from html import unescape as plain",
            "plain('&lt;&#233;&#xe9;&hellip;&nbsp;&unknown;&amp;lt;')",
            html.unescape("&lt;&#233;&#xe9;&hellip;&nbsp;&unknown;&amp;lt;"),
        ),
        (
            "import hmac, hashlib",
            "hmac.new(b'key', b'message', hashlib.sha256).hexdigest()",
            hmac.new(b"key", b"message", hashlib.sha256).hexdigest(),
        ),
        (
            "import hmac",
            "hmac.new(b'k' * 200, b'm', 'sha512').hexdigest()",
            hmac.new(b"k" * 200, b"m", "sha512").hexdigest(),
        ),
        ("import uuid", "str(uuid.UUID('{12345678123456781234567812345678}'))",
         str(uuid.UUID("{12345678123456781234567812345678}"))),
        ("import uuid as u", "u.uuid4() == u.uuid4()", False),
        ("import unicodedata", "unicodedata.normalize('NFC', 'e\\u0301')", "é"),
        ("import logging, json", "logging.getLogger(__name__).info('x') or json.dumps(1)", "1"),
    ],
)  # fmt: skip
async def test_module_gives_what_pythons_own_gives(runner, head, expression, value):
    outcome = await run(runner, f"return {{'value': {expression}}}", head)

    assert (outcome.value, outcome.error) == ({"value": value}, "")


async def test_uuid_is_a_random_one_of_version_4(runner):
    outcome = await run(runner, "return [str(uuid.uuid4()), uuid.uuid4().hex]", "import uuid")

    first, second = map(uuid.UUID, outcome.value)
    assert first.version == second.version == 4
    assert first.variant == uuid.RFC_4122
    assert first != second


async def test_buffer_reads_and_writes_like_a_file(runner):
    steps = (
        "f = io.StringIO('one\\ntwo\\n')\nparts = [f.readline(), f.read()]\nf.seek(0, 2)\n"
        "f.write('three')\nf.seek(2)\nf.write('X')\nreturn [*parts, f.getvalue(), f.tell()]"
    )
    names: dict = {"io": io}
    lines = "\n".join(f"    {line}" for line in steps.splitlines())
    exec(f"def main():\n{lines}\n", names)

    outcome = await run(runner, steps, "import io")

    assert outcome.value == names["main"]()


async def test_log_is_printed_from_its_level_on(runner):
    body = (
        "logging.basicConfig(level=logging.INFO)\nlog = logging.getLogger('app')\n"
        "log.debug('no')\nlog.info('yes %s', 1)\nlogging.error('bad')\nreturn 1"
    )

    outcome = await run(runner, body, "import logging")

    assert outcome.stdout == "INFO:app:yes 1\nERROR:root:bad\n"


async def test_line_of_an_error_is_that_of_the_program(runner):
    outcome = await run(
        runner, "json.dumps(1)\nuuid.uuid4()\nraise ValueError('no')", "import uuid"
    )

    assert outcome.error == "Line 5: ValueError: no"


@for_each("source, led",
    [
        ("import io", "io = __shim_io"),
        ("import json, io as x, re  # why", "import json; x = __shim_io; import re  # why"),
        ("    from uuid import uuid4", "    uuid4 = __shim_uuid.uuid4"),
        ("from io import (StringIO, BytesIO as B)", "StringIO = __shim_io.StringIO; B = __shim_io.BytesIO"),
        ("from io import *", "from io import *"),
        ("import requests.exceptions", "requests = __shim_requests"),
        ("from requests.exceptions import Timeout as T", "T = __shim_requests.exceptions.Timeout"),
        ("import ioxyz, html.parser", "import ioxyz, html.parser"),
        ("x = 'import io'", "x = 'import io'"),
    ],
)  # fmt: skip
def test_imports_become_assignments_on_the_same_line(source, led):
    assert lead_imports_to_shims(source) == led
    assert re.sub(r"[^\n]", "", lead_imports_to_shims(f"\n{source}\n\n")) == "\n\n\n"
