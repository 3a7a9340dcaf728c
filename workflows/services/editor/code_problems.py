"""Finds the modules that code nodes import and that this installation lacks."""

from collections.abc import Iterator, Mapping

from django.conf import settings

from workflows.engine.import_report.code_imports import list_missing_modules
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.data.code import FULL, PYTHON
from workflows.sandbox.code import HTTP_MODULE, MODULES
from workflows.sandbox.full_python import list_languages


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
    """Yield a warning for each module that a code node imports and that is not here. A run that reaches it fails there."""
    modules = list_modules()
    for node in document.nodes:
        for module in list_missing_modules(node, modules):
            message = f"There is no module {module[:100]} here; the code fails when it imports it"
            yield build_warning("code.module", message, node.id, "code")
