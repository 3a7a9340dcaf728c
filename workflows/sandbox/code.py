"""The interface of back-ends for code nodes, and the messages for failed programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from workflows.engine.language.document import Json


Calling = Literal["keywords", "inputs"]  # main(a=…, b=…), or main({"a": …, "b": …})


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """The limits of a call, all of them explicit; a back-end may be stricter, but not more generous."""

    seconds: float = 10.0
    memory_bytes: int = 256 * 1024 * 1024
    recursion: int = 500
    stdout_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """The result of untrusted code. ``value`` is known to be JSON, but its content isn't trusted."""

    ok: bool
    value: Json = None
    stdout: str = ""
    error: str = ""
    # The request that the program waits for, of untrusted content; it is to be run again with the response.
    call: Mapping[str, Json] | None = None
    retryable: bool = False  # the same program may succeed in another run


class CodeRunner(Protocol):
    """A back-end: ``run`` executes the program's ``main``, and reports failures in its outcome."""

    async def run(
        self,
        source: str,
        inputs: Mapping[str, Json],
        limits: CodeLimits,
        *,
        calling: Calling = "keywords",
        responses: Sequence[Json] = (),
    ) -> CodeOutcome: ...

    def close(self) -> None: ...


# The module that CODE_HTTP allows.
HTTP_MODULE: Final = "requests"
# The modules that messages name if a runner does not report which are available.
MODULES: Final = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses"),
    *("datetime", "decimal", "functools", "hashlib", "hmac", "html", "io", "itertools", "json"),
    *(
        "logging",
        "math",
        "os",
        "pathlib",
        "random",
        "re",
        "requests",
        "sys",
        "time",
        "typing",
        "unicodedata",
    ),
    "uuid",
)

SENTENCES: Final[Mapping[str, str]] = {
    "raised": "{type}: {message}",
    "syntax": "Syntax error: {message}",
    "unsupported": "This Python has no {message}",
    "time": "The code took longer than {seconds:g} seconds",
    "memory": "The code used more than {megabytes} MB of memory",
    "output": "The code's result is larger than 1 MB",
    "json": "The code's result is not JSON: {message}",
    "crash": "The code crashed its interpreter; it may use too much memory",
    "inputs": "The code's inputs are larger than 8 MB",
    "foreign": "The code's inputs are not JSON",
    "unsupported_here": "JavaScript can't be run on this machine: rewrite the code in Python",
    "main": "The code must define a function main",
    "module": "Module {module!r} is not available; available modules: {modules}",
}
