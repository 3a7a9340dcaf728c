"""The program of a runner for JavaScript: each program gets a new QuickJS engine inside one restricted process.

The engine is C code in this process, so the strict filter of system calls applies: even a program that takes over the
process can open no file, socket or process and send no signal. Without that filter the runner refuses every program.
"""

import json
import re
import sys
from typing import Any, Final

from workflows.sandbox import restrictions
from workflows.sandbox.serving import (
    MAX_VALUE_BYTES,
    build_failure,
    redirect_output,
    send,
    serve,
)


# After these failures the memory of the process may be damaged, so the parent starts a new process.
_FATAL_FAILURES: Final = frozenset({"memory", "time", "crash"})
_STACK_BYTES: Final = 512 * 1024
# The size of an engine by itself, which the limit of a program leaves out.
_ENGINE_BYTES: Final = 2 * 1024 * 1024
_MAX_PENDING_JOBS: Final = 100_000
_LINE: Final = re.compile(r"<input>:(\d+)")
_NO_MAIN: Final = (
    "name 'main' is not defined"  # as Python says it; the parent has a sentence for it
)

# ``console`` collects what is printed; the engine has none.
_PRELUDE: Final = """
(() => {
  const lines = [];
  let left = %d;
  const show = (value) => {
    if (typeof value === "string") return value;
    try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
  };
  const print = (...values) => {
    const line = values.map(show).join(" ").slice(0, Math.max(0, left));
    left -= line.length + 1;
    if (left >= 0) lines.push(line);
  };
  globalThis.console = { log: print, info: print, warn: print, error: print, debug: print };
  return () => lines.map((line) => line + "\\n").join("");
})()
"""
_CALL: Final = """
(() => {
  if (typeof main !== "function") throw new Error("%s");
  const state = { done: false, text: undefined, error: undefined };
  const finish = (value) => { state.text = JSON.stringify(value === undefined ? null : value); state.done = true; };
  const fail = (error) => { state.error = error; state.done = true; };
  const value = main(JSON.parse(__inputs));
  if (value instanceof Promise) value.then(finish).catch(fail); else finish(value);
  return () => {
    if (state.error !== undefined) throw state.error;
    return state.done ? (state.text ?? 0) : undefined;  // zero: not JSON
  };
})()
"""


def main() -> None:
    with redirect_output():
        # Inline import: it loads the engine's library before the file system is out of reach.
        import quickjs  # noqa: PLC0415

        runner = _Engines(quickjs)
        sys.path.clear()
    active = restrictions.restrict_process()
    send({"ok": True, "walls": active})
    runner.is_safe = "syscalls" in active
    serve({"code": runner.run, "check": runner.check}, fatal=_FATAL_FAILURES)


class _Engines:
    """Runs programs, each in an engine of its own."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.is_safe = False
        library.Context().eval("1")  # so that everything is loaded

    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        if not self.is_safe:
            return build_failure("unsupported_here")
        seconds = float(message["seconds"])
        restrictions.allow_cpu_seconds(int(seconds) + 1)
        context = self._library.Context()
        context.set_max_stack_size(_STACK_BYTES)
        context.set_memory_limit(int(message["memory_bytes"]) + _ENGINE_BYTES)
        context.set_time_limit(seconds)
        read_output = context.eval(_PRELUDE % int(message["stdout_bytes"]))
        try:
            reply = self._execute(context, message)
        except self._library.JSException as error:
            reply = _describe_error(str(error))
        except MemoryError:
            reply = build_failure("memory")
        return {**reply, "stdout": self._read(read_output)}

    def check(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the reply after compiling a program without executing it."""
        context = self._library.Context()
        context.set_time_limit(2)
        context.set_memory_limit(64 * 1024 * 1024)
        context.set_max_stack_size(_STACK_BYTES)
        source = json.dumps(message["source"])
        try:
            # An async function may have every statement of a program; its body is compiled and never run.
            context.eval(f"void new (async function () {{}}).constructor({source})")
        except self._library.JSException as error:
            return _describe_error(str(error), first_line=3)
        return {"ok": True}

    def _execute(self, context: Any, message: dict[str, Any]) -> dict[str, Any]:
        context.set("__inputs", json.dumps(message["inputs"]))
        context.eval(message["source"])
        read_result = context.eval(_CALL % _NO_MAIN)
        for _ in range(_MAX_PENDING_JOBS):
            text = read_result()
            if text is not None:
                return _encode(text)
            if not context.execute_pending_job():
                break
        return build_failure("raised", "Error: main's promise is never fulfilled")

    def _read(self, read_output: Any) -> str:
        try:
            return str(read_output())
        except (self._library.JSException, MemoryError):
            return ""


def _encode(text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        return build_failure("json", "main returned a function or a symbol")
    if len(text) > MAX_VALUE_BYTES or len(text.encode(errors="replace")) > MAX_VALUE_BYTES:
        return build_failure("output")
    return {"ok": True, "value": text}


def _describe_error(error: str, first_line: int = 1) -> dict[str, Any]:
    """Return the reply for an exception, whose text has the message and below it the places of the calls."""
    message, _, stack = error.partition("\n")
    if "InternalError: interrupted" in message:
        return {**build_failure("time"), "spent": True}
    if "out of memory" in message:
        return {**build_failure("memory"), "spent": True}
    type_, _, text = message.partition(": ")
    place = _LINE.search(stack)
    line = max(1, int(place[1]) - first_line + 1) if place else None
    if not text or " " in type_:
        type_, text = "Error", message
    if text == _NO_MAIN:
        return build_failure("raised", text)
    if type_ == "SyntaxError":
        return build_failure("syntax", text, line)
    return {**build_failure("raised", text, line), "type": type_}


if __name__ == "__main__":
    main()
