"""Check a program without running it, for the editor.

The runner's parser is used, in the pool, so a source that hangs or crashes the parser only affects a process without
privileges. The source is then searched for a missing ``main`` and for modules that aren't available.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from workflows.engine.import_report.code_imports import list_imports
from workflows.sandbox.code import MODULES, SENTENCES
from workflows.sandbox.full_python import LANGUAGE as FULL
from workflows.sandbox.javascript.runner import LANGUAGE as JAVASCRIPT
from workflows.sandbox.javascript.runner import is_available
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool
from workflows.sandbox.process import is_jailed


SECONDS: Final = 4.0
MAX_BYTES: Final = 256 * 1024
PYTHON: Final = frozenset({"python3", "python"})
_MAIN_DEFINITION: Final = re.compile(r"^(async\s+)?def\s+main\s*\(|^main\s*=", re.MULTILINE)
_ASYNC_MAIN_DEFINITION: Final = re.compile(r"^async\s+def\s+main\s*\(", re.MULTILINE)
_JAVASCRIPT_MAIN: Final = re.compile(r"\bmain\b")
_LONG_STRING: Final = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
_IMPORT: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)

CANNOT_ASK: Final = (RunnerGone, RunnerLate, ValueError)
# The kinds of replies that say what a parser refuses.
_FAULTS: Final = ("syntax", "unsupported", "raised")


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """A problem of a program; line and column count from one."""

    line: int
    column: int
    message: str


_UNREADABLE: Final = CodeProblem(1, 1, "This code is too complex for the parser")


class CodeChecker:
    """Checks programs. It can be used from any thread; ``close()`` ends its process."""

    def __init__(self, pool: RunnerPool | None = None) -> None:
        self.pool = pool or RunnerPool(1, program="code_child")
        self.javascript_pool = RunnerPool(1, program="javascript.child")

    def check(self, source: str, language: str = "python3") -> list[CodeProblem]:
        problem = _check_limits(source, language)
        if problem is not None:
            return [problem]
        try:
            return _read_problems(self._call(source, language), source, language)
        except CANNOT_ASK:
            return [_UNREADABLE]

    def find_fault(self, source: str, language: str = "python3") -> CodeProblem | None:
        """Return what the runner's parser refuses in a program. Raises one of ``CANNOT_ASK`` if it gives no answer."""
        if _check_limits(source, language) is not None:
            return None
        reply = self._call(source, language)
        is_fault = not _is_read(reply, language) and reply.get("kind") in _FAULTS
        return _build_fault(reply) if is_fault else None

    def _call(self, source: str, language: str) -> Mapping[str, Any]:
        message = {"job": "check", "source": source.encode("utf-8", "replace").decode()}
        pool = self.javascript_pool if language == JAVASCRIPT else self.pool
        return pool.call_sync(message, SECONDS)

    def close(self) -> None:
        self.pool.close()
        self.javascript_pool.close()


def check_code(source: str, language: str = "python3") -> list[CodeProblem]:
    """Return the problems of a program, found by the checker of this process, which starts on first use."""
    return _get_checker().check(source, language)


def find_fault(source: str, language: str = "python3") -> CodeProblem | None:
    """Return what the runner's parser refuses in a program, found by the checker of this process, which may raise."""
    return _get_checker().find_fault(source, language)


@cache
def _get_checker() -> CodeChecker:
    return CodeChecker()


def _check_limits(source: str, language: str) -> CodeProblem | None:
    is_known = language in PYTHON or (language == FULL and is_jailed())
    if not is_known and not (language == JAVASCRIPT and is_available()):
        return CodeProblem(1, 1, f"{language} code is not supported, only Python")
    if len(source.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return CodeProblem(1, 1, "The code is larger than 256 kB")
    return None


def _read_problems(reply: Mapping[str, Any], source: str, language: str) -> list[CodeProblem]:
    if reply.get("ok") is True and language == JAVASCRIPT:
        has_main = not source.strip() or _JAVASCRIPT_MAIN.search(source)
        return [] if has_main else [CodeProblem(1, 1, SENTENCES["main"])]
    is_full = language == FULL
    if _is_read(reply, language):
        modules = reply.get("modules")
        available = modules if isinstance(modules, list) else MODULES
        return [*_find_missing_names(source, None if is_full else available)]
    return [_build_fault(reply) if reply.get("kind") in _FAULTS else _UNREADABLE]


def _is_read(reply: Mapping[str, Any], language: str) -> bool:
    """Return whether a program can be read. Complete Python may support a construct that this parser doesn't."""
    is_only_here = language == FULL and reply.get("kind") == "unsupported"
    return reply.get("ok") is True or is_only_here


def _build_fault(reply: Mapping[str, Any]) -> CodeProblem:
    message = reply.get("message")
    error_message = message[:600] if isinstance(message, str) else ""
    error_type = str(reply.get("type", ""))[:80]
    sentence = SENTENCES[reply["kind"]].format(message=error_message, type=error_type)
    line, column = _to_position(reply.get("line")), _to_position(reply.get("column"))
    return CodeProblem(line, column, sentence)


def _find_missing_names(source: str, modules: Iterable[object] | None) -> Iterable[CodeProblem]:
    """Yield problems of a missing ``main`` or module; modules are not checked if ``modules`` is None."""
    # Long strings become as many blanks and line breaks, because their content is not code.
    source = _LONG_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    if modules is not None:
        yield from _find_missing_modules(source, frozenset(map(str, modules)))
    if source.strip() and not _MAIN_DEFINITION.search(source):
        yield CodeProblem(1, 1, SENTENCES["main"])
    if coroutine := _ASYNC_MAIN_DEFINITION.search(source):
        message = "main must be a plain function, without async"
        yield CodeProblem(*_locate(source, coroutine.start()), message)


def _find_missing_modules(source: str, available: frozenset[str]) -> Iterable[CodeProblem]:
    needed = frozenset(list_imports(source))
    for match in _IMPORT.finditer(source):
        module = match[1]
        if module.split(".")[0] in needed - available:
            modules = ", ".join(sorted(available))
            sentence = SENTENCES["module"].format(module=module, modules=modules)
            yield CodeProblem(*_locate(source, match.start(1)), sentence)


def _locate(source: str, offset: int) -> tuple[int, int]:
    """Return line and column, counted from one."""
    before = source[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _to_position(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1
