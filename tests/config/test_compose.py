"""compose.yaml and the Caddyfile as text: Docker itself isn't part of the tests."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from config.encryption.new_keys import list_lines
from config.env import ROOT, Env
from config.http.health import LIVE_PATH


COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
CADDYFILE = (ROOT / "Caddyfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OF_COMPOSE = re.compile(r"\$\{(\w+)(:[?-][^}]*)?\}")
# Variables of the images, not of the product.
FOREIGN = {"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB", "APP_PASSWORD", "REDISCLI_AUTH"}


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_service_has_a_health_check_and_restarts(name: str):
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert service["restart"] == "unless-stopped"


def test_services_wait_until_others_are_healthy():
    waits = {
        (name, other): condition["condition"]
        for name, service in SERVICES.items()
        for other, condition in service.get("depends_on", {}).items()
    }

    assert set(waits.values()) == {"service_healthy", "service_completed_successfully"}
    assert {name for (name, other) in waits if other == "migrate"} == {"web", "worker", "beat"}


def test_passwords_come_from_env_without_a_default_and_one_line_makes_them():
    variables = dict(OF_COMPOSE.findall(str(COMPOSE)))
    secrets = {name for name in variables if re.search(r"PASSWORD|KEY|TOKEN", name)}

    assert secrets == {line.split("=")[0] for line in list_lines()}
    assert {variables[name] for name in secrets} == {":?"}
    assert not re.search(r"(password|://\w+):(?!\$)\w{3,}@", str(COMPOSE))


def test_variables_are_those_of_the_product():
    known = {name.upper() for name in Env.model_fields} | FOREIGN | {"PUBLIC_URL"}

    for name, service in SERVICES.items():
        assert set(service.get("environment", {})) <= known, name


def test_audit_heads_and_files_are_on_volumes_of_their_own_that_all_processes_share():
    environment = SERVICES["worker"]["environment"]
    audit = environment["AUDIT_HEADS_FILE"].rsplit("/", 1)[0]

    for name in ("web", "worker"):
        assert SERVICES[name]["volumes"] == [f"audit:{audit}", f"files:{environment['FILES_DIR']}"]
    assert {"audit", "files", "db", "valkey", "caddy"} <= set(COMPOSE["volumes"])


def test_proxy_alone_is_reachable_from_outside():
    published = {name for name, service in SERVICES.items() if service.get("ports")}

    assert published == {"caddy"}


def test_proxy_shows_the_pages_of_a_web_server_whose_database_is_away():
    checked = re.findall(r"^\s*health_uri (\S+)$", CADDYFILE, re.MULTILINE)

    assert checked == [
        LIVE_PATH
    ]  # with /readyz, an outage would end in an empty answer of the proxy


def test_proxy_answers_for_a_web_server_that_is_away():
    answers = CADDYFILE.split("handle_errors {")[1]
    body = re.search(r"handle /api/\* \{.*?respond `(.*?)` 503", answers, re.DOTALL)

    assert body
    assert json.loads(body[1])["error"]["retryable"] is True
    assert "header Retry-After" in answers
    assert 'http-equiv="refresh"' in answers
    assert "header HX-Reswap none" in answers  # or a fragment of a page becomes this page


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy isn't installed")
@pytest.mark.parametrize("url", ["https://flows.example.org", "http://localhost"])
def test_caddyfile_is_valid(url: str):
    done = subprocess.run(
        ["caddy", "adapt", "--config", "Caddyfile", "--adapter", "caddyfile"],
        cwd=ROOT, env={"PUBLIC_URL": url, "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "web:8000" in done.stdout
