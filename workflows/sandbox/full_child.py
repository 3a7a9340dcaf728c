"""The program of a runner for full Python: it runs one program and then ends.

It is only started inside bubblewrap. The program shares this process, so its result is not trusted, and the process
runs one job only, so that no job can read the memory of another. The strict filter of system calls applies: the program
can open no file, socket or process and send no signal, even if it takes over the interpreter.
"""

import contextlib
import importlib
import sys
import traceback
import types
from collections.abc import Mapping
from typing import Any

from workflows.sandbox import restrictions
from workflows.sandbox.serving import (
    LimitedOutput,
    build_failure,
    encode_value,
    receive,
    redirect_output,
    send,
)
from workflows.sandbox.shims.http import PENDING, REQUESTS, RESPONSES, build_call
from workflows.sandbox.shims.imports import IMPLIED


_FILE = "<code>"
# Imported before the process is restricted, because afterwards the program can't open the files of a module.
_MODULES = (
    *("abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath"),
    *("codecs", "collections", "collections.abc", "colorsys", "contextlib", "copy", "csv"),
    *("dataclasses", "datetime", "decimal", "difflib", "email", "email.message", "enum"),
    *("fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html", "html.parser"),
    *("io", "ipaddress", "itertools", "json", "keyword", "logging", "math", "numbers", "operator", "pprint"),
    *("random", "re", "secrets", "statistics", "string", "struct", "textwrap", "time"),
    *("traceback", "types", "typing", "unicodedata", "urllib.parse", "uuid", "xml.etree.ElementTree"),
    *("zlib", "zoneinfo", "encodings.idna", "encodings.latin_1", "encodings.utf_16"),
)  # fmt: skip


def main() -> None:
    with redirect_output():
        for name in _MODULES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        sys.path.clear()
    send({"ok": True, "walls": restrictions.restrict_process()})
    message = receive()
    if message is None or message.get("job") != "code":
        return
    restrictions.allow_cpu_seconds(int(message["seconds"]) + 1)
    send({**_run(message), "spent": True})


def _run(message: dict[str, Any]) -> dict[str, Any]:
    sys.setrecursionlimit(int(message["recursion"]) + 100)
    printed = LimitedOutput(int(message["stdout_bytes"]))
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        reply = _build_reply(message)
    return {**reply, "stdout": printed.getvalue()}


def _build_reply(message: dict[str, Any]) -> dict[str, Any]:
    requests = _provide_requests(message) if "requests" in message["source"] else {}
    try:
        value = _execute(message)
    except MemoryError:
        return build_failure("memory")
    except SyntaxError as error:
        return build_failure("syntax", str(error.msg or ""), error.lineno)
    except BaseException as error:
        call = build_call(requests.get(PENDING))
        return _ask(call) if call else _describe_error(error)
    call = build_call(requests.get(PENDING))
    return _ask(call) if call else encode_value(value)


def _ask(call: Mapping[str, Any]) -> dict[str, Any]:
    return {**encode_value(call), "asks": True}


def _provide_requests(message: dict[str, Any]) -> dict[str, Any]:
    """Make the module ``requests`` importable, and return the names of its program."""
    names: dict[str, Any] = {RESPONSES: message.get("responses") or []}
    exec(compile(REQUESTS, "<requests>", "exec"), names)  # noqa: S102 - this package's own program
    shim = names["__shim_requests"]
    module = types.ModuleType("requests")
    for name in dir(shim):
        if not name.startswith("_"):
            setattr(module, name, getattr(shim, name))
    exceptions = types.ModuleType("requests.exceptions")
    vars(exceptions).update(vars(shim.exceptions))
    sys.modules |= {"requests": module, "requests.exceptions": exceptions}
    return names


def _execute(message: dict[str, Any]) -> object:
    # As in the default Python, these modules need no import.
    implied = {name: sys.modules[name] for name in IMPLIED}
    names: dict[str, Any] = {"__name__": "__code__", **implied}
    # The only place that runs untrusted source in CPython: this process has access to nothing and ends after it.
    exec(compile(message["source"], _FILE, "exec"), names)  # noqa: S102
    if "main" not in names:
        raise NameError("name 'main' is not defined")
    main_function, inputs = names["main"], message["inputs"]
    return main_function(inputs) if message["calling"] == "inputs" else main_function(**inputs)


def _describe_error(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__, limit=2000)
    lines = [frame.lineno for frame in frames if frame.filename == _FILE]
    failure = build_failure("raised", str(error), lines[-1] if lines else None)
    return {**failure, "type": type(error).__name__}


if __name__ == "__main__":
    main()
