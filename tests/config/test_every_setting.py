"""Every setting of `.env.example` reaches the product: started with it, the product has it typed, and acts by it."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from config.env import ROOT, Env
from tests.fakes.serving import serving
from tests.support import servers
from tests.support.database import database_name


TEAM = "01890000-0000-7000-8000-000000000001"
KEYS = tuple(base64.urlsafe_b64encode(key * 32).decode() for key in (b"1", b"2"))


@dataclass(frozen=True)
class Row:
    """A setting's text in the environment, the value that it becomes, and what it changes."""

    text: str
    value: object
    effect: object
    is_without_memory: bool = (
        False  # of the second start, without memory and with generated secrets
    )


# The words in braces are the addresses of the test's own servers and folders.
SETTINGS: Mapping[str, Row] = {
    "database_url": Row("{database}", "{database}", ["mnemoflow_app", "{database_name}"]),
    "database_owner_url": Row("{owner}", "{owner}", ["postgres"]),
    "database_backup_url": Row("{owner}?connect_timeout=9", "{owner}?connect_timeout=9", "{owner}?connect_timeout=9"),
    "broker_url": Row("{broker}", "{broker}", [True, "virtual_host=5"]),
    "redis_url": Row("{valkey}?db=6", "{valkey}?db=6", ["OutageCache", "arrived"]),
    "mnemoflow_home": Row("{home}", "{home}", [True], is_without_memory=True),
    "files_dir": Row("{home}/disk/files", "{home}/disk/files", True, is_without_memory=True),
    "files_bucket": Row("runs", "runs", "runs"),
    "files_endpoint_url": Row("{server}", "{server}", "{server}"),
    "files_region": Row("eu-central-1", "eu-central-1", "eu-central-1"),
    "files_access_key": Row("AK47", "AK47", "AK47"),
    "files_secret_key": Row("secret", "secret", "secret"),
    "audit_heads_file": Row("{home}/disk/heads.jsonl", "{home}/disk/heads.jsonl", [0, True]),
    "host": Row("0.0.0.0", "0.0.0.0", "0.0.0.0"),
    "port": Row("8123", 8123, "8123"),
    "web_processes": Row("3", 3, ["web", "web-2", "web-3"]),
    "public_url": Row(
        "https://flows.example.org/", "https://flows.example.org/",
        ["https://flows.example.org", "__Host-session", True],
    ),
    "allowed_hosts": Row("a.example, b.example", ["a.example", "b.example"], "b.example"),
    "trusted_proxies": Row("10.0.0.0/8, ::1", ["10.0.0.0/8", "::1"], "203.0.113.9"),
    "body_seconds": Row("0.2", 0.2, 408),
    "debug": Row("1", True, True),
    "secret_key": Row("k" * 40, "k" * 40, "text"),
    "secret_keys_at_rest": Row(",".join(KEYS), [*KEYS], ["a secret text", "an older text"]),
    "memory_enabled": Row("0", False, [False, False], is_without_memory=True),
    "memory_nodes_enabled": Row("0", False, [True, []]),
    "memory_places": Row(
        f"run=redis, workflow@{TEAM}=http", ["run=redis", f"workflow@{TEAM}=http"],
        ["redis", "kept in Valkey", True, None],
    ),
    "memory_redis_url": Row("{valkey}?db=7", "{valkey}?db=7", 7),
    "memory_http_url": Row("{server}", "{server}", "/api/v1/memory/forget"),
    "memory_http_key": Row("key-elsewhere", "key-elsewhere", "Bearer key-elsewhere"),
    "memory_embedder": Row("openai_compatible", "openai_compatible", "OpenAICompatible"),
    "memory_embedder_url": Row("{server}/v7", "{server}/v7", "/v7/embeddings"),
    "memory_embedder_key": Row("key-embed", "key-embed", "Bearer key-embed"),
    "memory_embedder_model": Row("tiny-3", "tiny-3", "tiny-3"),
    "memory_embedder_dimensions": Row("3", 3, 3),
    "memory_embedder_question_prefix": Row("query: ", "query: ", ["query: text"]),
    "memory_embedder_text_prefix": Row("passage: ", "passage: ", ["passage: text"]),
    "memory_embedder_seconds": Row("2.5", 2.5, [[], True]),
    "memory_embedder_unrelated_cosine": Row("0.7", 0.7, 0.7),
    "worker_threads": Row("7", 7, [7, 7]),
    "team_running_runs": Row("11", 11, 11),
    "workflow_running_runs": Row("12", 12, 12),
    "team_queued_runs": Row("13", 13, 13),
    "run_max_steps": Row("321", 321, 321),
    "run_max_runs_below": Row("54", 54, 54),
    "run_max_steps_below": Row("55", 55, 55),
    "api_requests_per_minute": Row("7", 7, 7),
    "api_team_requests_per_minute": Row("9", 9, 9),
    "team_runs_per_day": Row("100", 100, 100),
    "team_concurrent_runs": Row("3", 3, 3),
    "team_tokens_per_day": Row("5000", 5_000, 5_000),
    "team_code_seconds_per_day": Row("60", 60, 60),
    "run_keep_days": Row("12", 12, 12),
    "run_keep_failed_days": Row("34", 34, 34),
    "file_document_mb": Row("3", 3, 3),
    "file_image_mb": Row("4", 4, 4),
    "file_media_mb": Row("5", 5, 5),
    "team_files_mb": Row("6", 6, 6),
    "file_link_seconds": Row("77", 77, 77),
    "database_pool_size": Row("3", 3, 3),
    "mfa_enabled": Row("true", True, "/accounts/2fa/"),
    "signup_open": Row("yes", True, True),
    "net_allow": Row("{address}, 10.1.0.0/16", ["{address}", "10.1.0.0/16"], [200, "AddressRefused"]),
    "net_proxy": Row(
        "http://proxy.internal:3128", "http://proxy.internal:3128", ["proxy.internal", 3128]
    ),
    "code_http": Row("0", False, "CODE_HTTP"),
    "code_full_python": Row("1", True, ["FullPython", "JavaScript"]),
    "local_models": Row("1", True, ["connected", "AddressRefused"]),
    "local_mcp": Row("1", True, ["connected", "AddressRefused"]),
    "ollama_host": Row("0.0.0.0:4711", "0.0.0.0:4711", "http://127.0.0.1:4711/v1"),
    "mcp_stdio_commands": Row(
        "git=/bin/mcp-git --repository /srv", ["git=/bin/mcp-git --repository /srv"],
        {"git": "/bin/mcp-git --repository /srv"},
    ),
    "openai_forwarded_headers": Row("1", True, ["ana", "chat-7"]),
    "embed_origins": Row(
        "https://wiki.example.com", ["https://wiki.example.com"],
        {"frame-ancestors": ["https://wiki.example.com"]},
    ),
    "log_format": Row("json", "json", ["important"]),
    "log_level": Row("WARNING", "WARNING", ["important"]),
    "metrics_token": Row("a-token-for-metrics", "a-token-for-metrics", [403, 200]),
    "worker_metrics_address": Row("127.0.0.1:0", "127.0.0.1:0", [403, 200]),
    "otel_endpoint": Row("http://127.0.0.1:4318", "http://127.0.0.1:4318", "http://127.0.0.1:4318"),
    "email_url": Row(
        "smtp://mia:p%40ss@mail.example:587", "smtp://mia:p%40ss@mail.example:587",
        ["mail.example", 587, "mia", "p@ss", True],
    ),
    "email_from": Row("flows@example.org", "flows@example.org", "flows@example.org"),
}  # fmt: skip


class _Server(BaseHTTPRequestHandler):
    """Answers as an embedder and as another installation's memory, and tells what it was sent last."""

    last: dict[str, Any] = {}
    pending = 0  # requests that are not answered before `/release`
    released = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/last":
            self._answer(self.last)
        else:
            self._answer({"pending": self.pending})
        if self.path == "/release":
            self.released.set()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {"authorization": self.headers["Authorization"]}
        type(self).last = {"path": self.path, "body": body, **headers}
        if "slow" in str(body.get("input")):
            type(self).pending += 1
            self.released.wait(90)
            type(self).pending -= 1
        vector = {"object": "embedding", "index": 0, "embedding": [1.0, 0.0, 0.5]}
        self._answer({"object": "list", "data": [vector], "model": "tiny-3", "count": 0})

    def _answer(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def _start_with_all(server: ThreadingHTTPServer, home: Path) -> dict[str, Any]:
    layout = servers.place()
    servers.start_valkey()
    names = {
        "database": layout.build_database_url("mnemoflow_app", database_name()),
        "database_name": database_name(),
        "owner": layout.build_database_url("postgres", database_name()),
        "broker": f"redis+socket://{layout.valkey_socket}?virtual_host=5",
        "valkey": f"unix://{layout.valkey_socket}",
        "server": f"http://127.0.0.1:{server.server_port}",
        "address": f"127.0.0.1:{server.server_port}",
        "home": str(home),
    }
    processes = [_start(rows, names) for rows in _split_rows()]
    report: dict[str, Any] = {"names": names}
    try:
        answers = [(process.communicate(timeout=120), process.returncode) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    for (out, err), status in answers:
        assert status == 0, err
        report |= json.loads(out)
    return report


def _split_rows() -> tuple[dict[str, Row], dict[str, Row]]:
    second = {name: row for name, row in SETTINGS.items() if row.is_without_memory}
    return {name: row for name, row in SETTINGS.items() if name not in second}, second


def _start(rows: Mapping[str, Row], names: Mapping[str, str]) -> subprocess.Popen[str]:
    own = {field.upper() for field in Env.model_fields}
    environment = {name: value for name, value in os.environ.items() if name not in own}
    environment |= {name.upper(): _fill(row.text, names) for name, row in rows.items()}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "MNEMOFLOW_ENV_FILE": os.devnull}
    environment.setdefault("MNEMOFLOW_HOME", names["home"])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.config.setting_effects", *rows],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _fill(value: Any, names: Mapping[str, str]) -> Any:
    """Return the value with the names of the test's own servers and folders in place of the words in braces."""
    if isinstance(value, list):
        return [_fill(item, names) for item in value]
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
    return value


def test_every_setting_has_a_row():
    assert list(SETTINGS) == list(Env.model_fields)


def test_every_row_differs_from_the_default():
    defaults = {name: field.default for name, field in Env.model_fields.items()}

    assert [name for name, row in SETTINGS.items() if row.value == defaults[name]] == []


@pytest.mark.slow
def test_settings_arrive_typed_and_change_what_they_say(
    django_db_setup: None, tmp_path: Path
) -> None:
    """One test for all, since the product is started for it, twice at the same time."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    _Server.released.clear()
    with serving(server):
        reports = _start_with_all(server, tmp_path)

    names = reports.pop("names")
    assert reports == {
        name: [_fill(row.value, names), _fill(row.effect, names)] for name, row in SETTINGS.items()
    }
