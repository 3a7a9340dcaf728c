"""Finds what code nodes need and this installation lacks: modules that they import, and constructs that it can't read."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from django.conf import settings

from workflows.engine.import_report.code_imports import (
    MAX_CHARACTERS,
    RELATIVE_IMPORT,
    WILDCARD,
    list_missing_modules,
    read_program,
)
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.data.code import FULL, JAVASCRIPT, LANGUAGES, PYTHON
from workflows.sandbox.checking import CANNOT_ASK, CodeProblem, find_fault
from workflows.sandbox.code import HTTP_MODULE, MODULES
from workflows.sandbox.full_python import list_languages


# The default interpreter lacks some of these, and its next version others. It is asked about a program that has one.
_UNUSUAL_PARTS: Final = frozenset(
    {
        *("Yield", "YieldFrom", "Delete", "ClassDef", "TryStar", "Match", "With", "Global"),
        *("AsyncFor", "AsyncFunctionDef", "AsyncWith", "Await", "Nonlocal"),
        *(WILDCARD, RELATIVE_IMPORT),
    }
)
Modules = Mapping[str, frozenset[str] | None]


def list_modules() -> Modules:
    """Return the languages of code nodes with the modules that they can import; None: all of the standard library."""
    python = frozenset(MODULES) if settings.CODE_HTTP else frozenset(MODULES) - {HTTP_MODULE}
    languages = {language: None for language, _label in list_languages()}
    return {
        PYTHON: None if settings.CODE_FULL_PYTHON and FULL in languages else python,
        **languages,
    }


def find_code_problems(document: Document) -> Iterator[Problem]:
    """Yield a warning for each module that is not here, and for each code that can't be read. Runs fail at these nodes."""
    modules = list_modules()
    yield from _find_faults(document, modules)
    for node in document.nodes:
        for module in list_missing_modules(node, modules):
            message = f"There is no module {module[:100]} here; the code fails when it imports it"
            yield build_warning("code.module", message, node.id, "code")


def _find_faults(document: Document, modules: Modules) -> Iterator[Problem]:
    """Yield a warning for each code that can't be read, until the runner gives no answer, so that nobody waits for it twice."""
    for node in document.nodes:
        try:
            fault = _find_fault(node, modules) if node.kind == "code" else None
        except CANNOT_ASK:
            return
        if fault is not None:
            message = f"Line {fault.line} of the code: {fault.message}"
            yield build_warning("code.fault", message, node.id, "code")


def _find_fault(node: NodeSpec, modules: Modules) -> CodeProblem | None:
    """Return what the runner of the node's language can't read. It is asked only about what may be beyond it."""
    source = str(node.data.get("code") or "")
    language = LANGUAGES.get(str(node.data.get("code_language") or PYTHON))
    if (
        language is None
        or language not in modules
        or not source.strip()
        or len(source) > MAX_CHARACTERS
    ):
        return None
    if modules[language] is None and language == PYTHON:
        language = FULL
    return _ask_runner(source, language) if _is_unusual(source, language) else None


def _is_unusual(source: str, language: str) -> bool:
    """Return whether a program may be more than the runner reads, as far as the parser of this Python tells."""
    parts = None if language == JAVASCRIPT else read_program(source).parts
    return parts is None or (language == PYTHON and not parts.isdisjoint(_UNUSUAL_PARTS))


@lru_cache(maxsize=64)
def _ask_runner(source: str, language: str) -> CodeProblem | None:
    """Return the fault of a program, if it has one. Only answers are remembered."""
    return find_fault(source, language)
