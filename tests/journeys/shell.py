"""A Python shell of the product that stays open beside the stack: what a journey needs to be there, it makes by it.

The tests' own process can't: while a browser is open Django refuses the database there. And a process made anew for each
test would take longer than what it makes.
"""

import io
import json
import socket
import traceback
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:  # the other process needs none of it
    from tests.support.stack import LiveStack


PATIENCE = 90  # seconds until a process that says nothing has hung


class Shell:
    """Runs one piece of code after the other, each in a namespace of its own."""

    def __init__(self, stack: "LiveStack") -> None:
        path = str(stack.logs / "shell.socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            listener.settimeout(PATIENCE)
            code = f"from tests.journeys.shell import serve; serve({path!r})"
            self._process = stack.launch("shell", "--no-imports", "-c", code)
            self._connection, _ = listener.accept()
        self._connection.settimeout(PATIENCE)
        self._answers = self._connection.makefile("r")

    def run(self, code: str) -> Any:
        """Return what the code leaves in ``made``, which JSON can hold."""
        self._connection.sendall(json.dumps(code).encode() + b"\n")
        answer = json.loads(self._answers.readline())
        assert "made" in answer, f"{code}\n{answer['error']}"
        return answer["made"]

    def close(self) -> None:
        self._answers.close()
        self._connection.close()
        self._process.wait()


def serve(path: str) -> None:
    """In the other process: run what is asked for, until nobody asks any more."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        for line in connection.makefile("r"):
            connection.sendall(json.dumps(_run(json.loads(line))).encode() + b"\n")


def _run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"made": None}
    try:
        with redirect_stdout(io.StringIO()):
            exec(code, names)
    except Exception:
        return {"error": traceback.format_exc()}
    return {"made": names["made"]}
