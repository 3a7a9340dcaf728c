"""MEMORY_ENABLED=0 and MEMORY_NODES_ENABLED=0, in real processes: on an empty database, web server and worker too."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from config.embedded.session import prepare_database
from tests.engine.test_memory_nodes import SECTION_12
from tests.support import servers
from tests.support.database import worker_name
from tests.support.ports import hold_port
from tests.support.stack import LiveStack


# Loaded by every Python that starts with it on its path, before anything else.
WALL = """
import sys

class Wall:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "memory":
            raise ImportError("memory is switched off")

sys.meta_path.insert(0, Wall)
"""

GREETING = """
version: "0.1.0"
nodes:
  - {id: start, data: {type: start, title: Start, variables: [{variable: name, type: string, required: true}]}}
  - {id: end, data: {type: end, title: End, outputs: [{variable: who, value_selector: [start, name]}]}}
edges:
  - {source: start, target: end}
"""

# Not only its kinds: the field of a model's node, too.
RECALLING = """
version: "0.1.0"
nodes:
  - {id: start, data: {type: start, title: Start, variables: [{variable: name, type: string, required: true}]}}
  - id: llm
    data:
      type: llm
      title: Ask
      model: {provider: offline, name: offline, mode: chat}
      prompt_template: [{role: user, text: "{{#start.name#}}"}]
      enhanced_memory: {enabled: true, scope: user, top_k: 3}
  - {id: end, data: {type: end, title: End, outputs: [{variable: said, value_selector: [llm, text]}]}}
edges:
  - {source: start, target: llm}
  - {source: llm, target: end}
"""

# For whoever came by the start link: a workflow to open.
DRAW = """
from accounts.models import Membership, Team
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from workflows.services.catalog import importing

with tenant(Team.objects.values_list("id", flat=True)):
    row = Membership.objects.unscoped().select_related("user").get(user__is_superuser=True)
made = importing.import_document(
    load_user_principal(row.user), team_id=row.team_id, source=open(%r).read(), name="Greeting"
)
print("id=%%s" %% made.workflow.pk)
"""


@pytest.fixture(scope="module")
def without(
    _stack: LiveStack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LiveStack, Path]]:
    """Web server and worker that die when they touch memory, on a database that never had any."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "sitecustomize.py").write_text(WALL)
    (folder / "greeting.yml").write_text(GREETING)
    (folder / "remembers.yml").write_text(SECTION_12)
    (folder / "recalling.yml").write_text(RECALLING)
    database = f"without_{worker_name()}"
    prepare_database(servers.postgres(), database)
    at = servers.place()
    environment = {
        **_stack.environment,
        "DATABASE_URL": at.build_database_url("mnemoflow_app", database),
        "DATABASE_OWNER_URL": at.build_database_url("postgres", database),
        "MEMORY_ENABLED": "0",
        "PYTHONPATH": str(folder),
    }
    # Its worker would take messages meant for ours, which share a queue.
    _stack.stop_worker()
    # What is forked has the wall before it, too: its nursery loaded everything with memory out of reach.
    with hold_port() as port:
        stack = LiveStack(f"http://127.0.0.1:{port}", environment, folder, port, _stack.nurseries)
        try:
            stack.manage("migrate", "--verbosity", "0")
            stack.start_web()
            stack.start_worker()
            yield stack, folder
        finally:
            stack.stop()
            drop(database)


def drop(database: str) -> None:
    with psycopg.connect(servers.postgres().build_url(), autocommit=True) as connection:
        name = sql.Identifier(database)
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(name))


def run_workflow(stack: LiveStack, *arguments: str) -> tuple[int, str]:
    status, out, err = stack.command("run_workflow", *arguments, "--offline", "--json")
    return status, out or err


@pytest.fixture(scope="module")
def without_nodes(_stack: LiveStack) -> LiveStack:
    """Commands only: what runs is the ordinary stack."""
    environment = {**_stack.environment, "MEMORY_NODES_ENABLED": "0"}
    return LiveStack(_stack.url, environment, _stack.logs, _stack.port, _stack.nurseries)


def test_memory_off_database_has_no_table_of_it(without: tuple[LiveStack, Path]):
    stack, _ = without

    tables = [name for (name,) in stack.sql("select tablename from pg_tables")]

    assert [name for name in tables if str(name).startswith("memory_")] == []
    assert "workflows_run" in tables


def test_memory_off_no_module_of_it_is_loaded(without: tuple[LiveStack, Path]):
    stack, _ = without
    code = (
        "import sys, config.urls, config.asgi, config.celery; config.celery.app.finalize();"
        "print([name for name in sys.modules if name.partition('.')[0] == 'memory'],"
        " [name for name in config.celery.app.conf.beat_schedule"
        " if not name.startswith(('accounts-', 'workflows-'))])"
    )
    unwalled = {name: value for name, value in stack.environment.items() if name != "PYTHONPATH"}

    loaded = LiveStack(stack.url, unwalled, stack.logs, stack.port).manage(
        "shell", "--no-imports", "-c", code
    )

    assert loaded.strip() == "[] []"


def test_memory_off_pages_are_whole_and_lead_to_none_of_its_own(without: tuple[LiveStack, Path]):
    stack, _ = without
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    pages = dict.fromkeys((stack.start_url(), f"{stack.url}/runs/", stack.url), "")
    for address in pages:
        with browser.open(address) as response:
            pages[address] = response.read().decode()

    assert [page for page in pages.values() if not re.search(r'href="/runs/', page)] == []
    assert [page for page in pages.values() if re.search(r'href="/memory', page)] == []
    with pytest.raises(urllib.error.HTTPError, match="404"):
        browser.open(f"{stack.url}/memory/")


def test_memory_off_system_check_finds_nothing(without: tuple[LiveStack, Path]):
    stack, _ = without

    assert "no issues" in stack.manage("check", "--fail-level", "WARNING")
    assert "No changes detected" in stack.manage("makemigrations", "--check", "--dry-run")


def test_memory_off_every_page_and_the_editor_open(without: tuple[LiveStack, Path]):
    stack, folder = without
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with browser.open(stack.start_url()):
        pass
    made = stack.manage("shell", "--no-imports", "-c", DRAW % str(folder / "greeting.yml"))
    workflow = made.rpartition("id=")[2].strip()

    def read(path: str) -> str:
        with browser.open(stack.url + path) as response:
            assert response.status == 200, path
            return str(response.read().decode())

    pages = {
        path: read(path)
        for path in (
            *("/", "/workflows/", "/workflows/new/", "/workflows/import/", "/samples/", "/runs/"),
            *("/first-steps/", "/team/", "/team/keys/", "/profile/", "/api/v1/docs"),
            *(f"/workflows/{workflow}/", f"/workflows/{workflow}/outline/"),
        )
    }

    assert "Memory is disabled on this server" in pages["/samples/"]
    assert "data-run-bar" in pages[f"/workflows/{workflow}/"]
    assert "data-sandbox" not in pages[f"/workflows/{workflow}/"]
    offered = {one["slug"] for one in json.loads(read("/api/v1/workflows/samples"))["items"]}
    assert {"research", "shop"} <= offered  # samples that remember nothing
    assert not {"chatbot", "companion", "profile", "wiki"} & offered
    routes = json.loads(read("/api/v1/openapi.json"))["paths"]
    assert "/api/v1/workflows" in routes
    assert [route for route in routes if route.startswith("/api/v1/memory")] == []


@pytest.mark.parametrize("how", [(), ("--durable",)])
def test_memory_off_workflow_runs(without: tuple[LiveStack, Path], how: tuple[str, ...]):
    stack, folder = without

    status, said = run_workflow(stack, str(folder / "greeting.yml"), "--input", "name=Mia", *how)

    assert status == 0, said
    report = json.loads(said)
    assert (report["status"], report["outputs"]) == ("succeeded", {"who": "Mia"})
    assert stack.running(), stack.log("worker")


def test_memory_off_its_nodes_are_unknown_by_name(without: tuple[LiveStack, Path]):
    stack, folder = without

    arguments = ("--input", "query=x", "--system", "conversation_id=c", "--offline", "--json")
    status, out, err = stack.command("run_workflow", str(folder / "remembers.yml"), *arguments)

    # The rest of the workflow runs; the first of them that is reached fails.
    assert status == 1
    assert "no node type memory-recall" in json.loads(out)["error"]
    assert "no node type memory-store" in err


def test_memory_off_recalling_into_a_prompt_is_unknown_by_name(without: tuple[LiveStack, Path]):
    stack, folder = without

    status, said = run_workflow(stack, str(folder / "recalling.yml"), "--input", "name=Mia")

    assert status == 1
    assert "Unknown field enhanced_memory" in json.loads(said)["error"]


def test_memory_nodes_off_leaves_recalling_into_a_prompt(without_nodes: LiveStack, tmp_path: Path):
    document = tmp_path / "recalling.yml"
    document.write_text(RECALLING)

    status, said = run_workflow(without_nodes, str(document), "--input", "name=Mia")

    assert (status, json.loads(said)["status"]) == (0, "succeeded"), said


def test_memory_nodes_off_leaves_memory_and_hides_its_nodes(
    without_nodes: LiveStack, tmp_path: Path
):
    document = tmp_path / "remembers.yml"
    document.write_text(SECTION_12)
    asked = without_nodes.manage(
        "shell", "--no-imports", "-c",
        "from django.urls import reverse; from workflows.execution.kinds import load_kinds;"
        "print(reverse('memory:list'), [k for k in load_kinds() if k.startswith('memory')])",
    )  # fmt: skip

    status, said = run_workflow(
        without_nodes, str(document), *("--input", "query=x", "--system", "conversation_id=c")
    )

    assert asked.strip() == "/memory/ []"
    assert (status, "memory-recall" in json.loads(said)["error"]) == (1, True)
