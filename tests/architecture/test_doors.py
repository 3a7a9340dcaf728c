"""Each wall has one door; these tests look for a second one in the source."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from config.env import ROOT, Env, read_descriptions


APPS = ("accounts", "memory", "workflows")


def modules(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    )


def imported(path: Path) -> frozenset[str]:
    return _imported_and_called(path)[0]


def called(path: Path) -> frozenset[str]:
    """By their bare names."""
    return _imported_and_called(path)[1]


@cache
def _imported_and_called(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {name for node in nodes for name in _names(node)}
    calls = {
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return frozenset(names), frozenset(calls)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module


def is_request_code(path: Path) -> bool:
    inside = path.relative_to(ROOT).parts
    return inside[0] in APPS and (
        inside[1] in ("api", "views", "dify_api")
        or inside[1] in ("api.py", "views.py", "sse.py", "forms.py", "schemas.py")
    )


# A client that goes where an address says must be the guarded one; these can all open connections.
CLIENTS = {
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "requests",
    "urllib.request",
    "http.client",
    "aiohttp",
    "urllib3",
    "smtplib",
}
MAY_OPEN = {
    "config/management/commands/up.py": "asks its own web server whether it is ready",
}


def test_network_clients_are_imported_by_the_guarded_one_alone():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if not path.is_relative_to(ROOT / "config" / "net")
        and any(
            name == client or name.startswith(f"{client}.")
            for name in imported(path)
            for client in CLIENTS
        )
    }

    assert found == set(MAY_OPEN)


def test_request_code_never_asks_for_unscoped_rows():
    found = [
        path.relative_to(ROOT).as_posix()
        for path in modules(*APPS)
        if is_request_code(path) and re.search(r"\.unscoped\(|\._unscoped\b", path.read_text())
    ]

    assert found == []


# Modules that parse what this installation has written itself, or that expect everything of a text.
MAY_READ_JSON = {
    "workflows/api/runs.py": "an answer that was stored",
    "workflows/dify_api/starting.py": "an answer that was stored",
    "workflows/views/canvas/notes.py": "shows what isn't JSON, or too deep, as text",
}


def test_request_code_reads_json_strictly():
    """``json.loads`` raises other errors than ``ValueError``, and returns what no database takes."""
    reading = {
        path.relative_to(ROOT).as_posix()
        for path in modules(*APPS)
        if (is_request_code(path) or "forms" in path.parts)
        and re.search(r"(?<!\w)json\.loads\(", path.read_text())
    }

    assert reading == set(MAY_READ_JSON)


def test_request_code_has_no_csrf_exemption():
    found = [
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if "csrf_exempt" in path.read_text()
    ]

    assert found == []


# A process that owns nothing, stands behind the strict walls and ends after one program.
MAY_EVALUATE = {"workflows/sandbox/full_child.py"}


@pytest.mark.parametrize("call", ["eval", "exec", "compile"])
def test_dynamic_evaluation_is_nowhere(call: str):
    found = [
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if call in called(path)
    ]

    assert set(found) <= MAY_EVALUATE


@pytest.mark.parametrize("module", ["pickle", "marshal", "shelve", "dill"])
def test_formats_that_run_code_on_loading_are_nowhere(module: str):
    found = [
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if module in imported(path)
    ]

    assert found == []


# Our own template of thousands of cards; what authors wrote is only ever a value in it.
OUR_JINJA = {"workflows/views/canvas/rendering.py"}


def test_jinja_of_others_is_rendered_in_the_runner_pool_alone():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if "jinja2" in path.read_text() and "jinja2" in imported(path)
    }

    assert {path for path in found if not path.startswith("workflows/sandbox/")} == OUR_JINJA


def test_environment_is_read_in_one_module():
    """Besides it: who passes an environment on to a child, the lines that name the settings module, and the one for numpy."""
    allowed = {
        "config/__init__.py",
        "config/env.py",
        "config/asgi.py",
        "config/celery.py",
        "config/embedded/supervisor.py",
        "config/management/database_dumps.py",
        "workflows/execution/isolated_worker.py",
        "workflows/tools/mcp/stdio.py",
    }
    found = {
        path.relative_to(ROOT).as_posix()
        for path in modules("config", *APPS)
        if re.search(r"os\.(environ|getenv)", path.read_text())
    }

    assert {path for path in found if not path.startswith("workflows/sandbox/")} <= allowed


def test_every_environment_variable_says_what_it_means():
    descriptions = read_descriptions()
    assert [name for name in Env.model_fields if len(descriptions.get(name, "")) < 20] == []


def test_templates_have_no_inline_code_or_style():
    """The policy would refuse them silently; htmx's own attributes that evaluate code are as bad.

    A style sheet with the page's nonce is let through: where the cards of a drawing stand at first.
    """
    forbidden = re.compile(
        r"""\son\w+\s*=|\sstyle\s*=|<style(?! nonce="{{ csp_nonce }}">)|javascript:|hx-on"""
        r"""|<script(?![^>]*\b(?:src|type)=)""",
        re.I,
    )
    templates = [
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / "config" / "templates").rglob("*.html"),
    ]

    assert [
        path.relative_to(ROOT).as_posix()
        for path in templates
        if forbidden.search(path.read_text())
    ] == []
