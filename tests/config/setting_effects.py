"""Runs in a process of its own: what each setting changed in the product that was started with it.

``python -m tests.config.setting_effects NAME …`` starts Django as every program does and prints, for each setting, its
value and what it switches, as JSON. One function a setting, under the setting's name.
"""

import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import django

from tests.config import (
    api_setting_effects,
    code_setting_effects,
    memory_setting_effects,
    net_setting_effects,
)


def database_url() -> object:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select current_user, current_database()")
        return cursor.fetchone()


def database_owner_url() -> object:
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("select current_user")
        return cursor.fetchone()


def database_backup_url() -> object:
    from config.management.commands.backup import choose_url

    return choose_url()


def broker_url() -> object:
    from config.celery import app

    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=30)
        return [connection.connected, app.conf.broker_url.rpartition("?")[2]]


def redis_url() -> object:
    from django.core.cache import caches

    caches["default"].set("setting", "arrived")
    return [type(caches["default"]).__name__, caches["default"].get("setting")]


def mnemoflow_home() -> object:
    from django.conf import settings

    home = settings.ENV.mnemoflow_home
    return [json.loads((home / "secrets.json").read_text())["secret_key"] == settings.SECRET_KEY]


def audit_heads_file() -> object:
    from django.conf import settings

    from accounts.services.checkpoints import write_checkpoint

    return [write_checkpoint(), settings.AUDIT_HEADS_FILE.exists()]


def host() -> object:
    return _read_options_of_web()["--host"]


def port() -> object:
    return _read_options_of_web()["--port"]


def web_processes() -> object:
    from pathlib import Path

    from config.embedded.programs import build_web_processes, choose_web_process_count
    from config.env import env

    count = choose_web_process_count(env(), has_shared_cache=env().has_shared_cache)
    processes = build_web_processes(env(), 8000, 7, count=count, metrics=Path("metrics"))
    return [each.name for each in processes]


def public_url() -> object:
    from django.conf import settings
    from django.test import RequestFactory

    from config.http.context import get_base_url

    address = get_base_url(RequestFactory().get("/"))
    return [address, settings.SESSION_COOKIE_NAME, settings.SECURE_SSL_REDIRECT]


def allowed_hosts() -> object:
    from django.test import RequestFactory

    return RequestFactory().get("/", headers={"host": "b.example"}).get_host()


def trusted_proxies() -> object:
    """Return the address that a request through a proxy is counted for."""
    from config.http.proxies import TrustedProxies

    seen = []

    async def note(scope: Any, _receive: object, _send: object) -> None:
        seen.append(scope["client"][0])

    headers = [(b"x-forwarded-for", b"203.0.113.9")]
    scope = {"type": "http", "client": ("10.1.2.3", 1), "headers": headers}
    asyncio.run(TrustedProxies(note)(scope, None, None))
    return seen[0]


def body_seconds() -> object:
    """Return the status of a request whose body never comes."""
    from config.http.body_timeout import BodyTimeout

    sent: list[Any] = []

    async def read(_scope: object, receive: Any, _send: object) -> None:
        await receive()

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # which nobody sets
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/", "headers": [(b"content-length", b"5")]}
    asyncio.run(BodyTimeout(read)(scope, receive, send))
    return sent[0]["status"]


def debug() -> object:
    from django.conf import settings

    return settings.DEBUG


def secret_key() -> object:
    from django.core import signing

    return signing.Signer(key="k" * 40).unsign(signing.Signer().sign("text"))


def secret_keys_at_rest() -> object:
    from cryptography.fernet import Fernet
    from django.conf import settings

    from config.encryption.crypto import decrypt, encrypt

    newest, older = map(Fernet, settings.SECRET_KEYS_AT_REST)
    token = encrypt("a secret text")
    return [newest.decrypt(token).decode(), decrypt(older.encrypt(b"an older text"))]


def worker_threads() -> object:
    from config.celery import app
    from workflows.execution.worker import Worker

    return [app.conf.worker_concurrency, Worker()._shares.capacity]


def run_max_steps() -> object:
    from django.conf import settings

    return settings.RUN_MAX_STEPS


def api_requests_per_minute() -> object:
    return _list_request_limits()[0]


def api_team_requests_per_minute() -> object:
    return _list_request_limits()[1]


def _list_request_limits() -> list[int]:
    """Return the limits of a person and of the person's team."""
    from django.test import RequestFactory

    from accounts.http import throttles
    from accounts.models import Role, User
    from accounts.principals import UserPrincipal

    request: Any = RequestFactory().get("/")
    request.principal = UserPrincipal(User(), {uuid.uuid4(): Role.OWNER})
    return [limit for _name, limit in throttles._list_limits(request)]


def team_runs_per_day() -> object:
    return _read_team_limit("runs_per_day")


def team_concurrent_runs() -> object:
    return _read_team_limit("concurrent_runs")


def team_tokens_per_day() -> object:
    return _read_team_limit("tokens_per_day")


def team_code_seconds_per_day() -> object:
    return _read_team_limit("code_seconds_per_day")


def _read_team_limit(name: str) -> int | None:
    """Return the limit of a team that has set none itself."""
    from accounts.models import Team
    from workflows.services.budgets.limits import find_team_limits

    return getattr(find_team_limits(Team()), name)


def team_running_runs() -> object:
    from django.conf import settings

    return settings.TEAM_RUNNING_RUNS


def workflow_running_runs() -> object:
    from django.conf import settings

    return settings.WORKFLOW_RUNNING_RUNS


def team_queued_runs() -> object:
    from django.conf import settings

    return settings.TEAM_QUEUED_RUNS


def run_keep_days() -> object:
    from workflows.execution.history.upkeep import _get_default_days

    return _get_default_days()[0]


def run_keep_failed_days() -> object:
    from workflows.execution.history.upkeep import _get_default_days

    return _get_default_days()[1]


def files_dir() -> object:
    from pathlib import Path

    from django.conf import settings

    from workflows.files import contents

    contents.write("folder/name", b"x")
    return (Path(settings.FILES_DIR) / "folder/name").read_bytes() == b"x"


def files_bucket() -> object:
    return _read_bucket_option("bucket_name")


def files_endpoint_url() -> object:
    return _read_bucket_option("endpoint_url")


def files_region() -> object:
    return _read_bucket_option("region_name")


def files_access_key() -> object:
    return _read_bucket_option("access_key")


def files_secret_key() -> object:
    return _read_bucket_option("secret_key")


def _read_bucket_option(name: str) -> object:
    """Return an option of the storage. Its package is an extra, and not installed for tests."""
    from django.conf import settings

    return settings.STORAGES["files"]["OPTIONS"][name]


def file_document_mb() -> object:
    from workflows.files.limits import get_limit

    return get_limit("document")


def file_image_mb() -> object:
    from workflows.files.limits import get_limit

    return get_limit("image")


def file_media_mb() -> object:
    from workflows.files.limits import get_limit

    return get_limit("video")


def team_files_mb() -> object:
    from django.conf import settings

    return settings.TEAM_FILES_MB


def file_link_seconds() -> object:
    from django.conf import settings

    return settings.FILE_LINK_SECONDS


def database_pool_size() -> object:
    from django.db import connection

    return connection.pool.max_size


def mfa_enabled() -> object:
    from django.urls import reverse

    return reverse("mfa_index")


def signup_open() -> object:
    from django.test import RequestFactory

    from accounts.http import adapter
    from accounts.http.adapter import AccountAdapter

    adapter.has_owner = lambda: True  # the answer without one is tested with the pages
    return AccountAdapter().is_open_for_signup(RequestFactory().get("/"))


def ollama_host() -> object:
    from workflows.services.models.local_servers import list_candidates

    return next(url for preset, url in list_candidates() if preset.name == "ollama")


def mcp_stdio_commands() -> object:
    from workflows.tools.mcp.commands import list_commands

    return dict(list_commands())


def embed_origins() -> object:
    from django.http import HttpResponse

    from workflows.views.editor.page import _allow_framing

    response: Any = _allow_framing(HttpResponse())
    return response._csp_replace


def log_format() -> object:
    return _write_log_lines()


def log_level() -> object:
    return _write_log_lines()


def metrics_token() -> object:
    from django.test import RequestFactory

    from config.http.health import metrics

    headers: list[dict[str, str]] = [{}, {"authorization": "Bearer a-token-for-metrics"}]
    return [metrics(RequestFactory().get("/metrics", headers=h)).status_code for h in headers]


def worker_metrics_address() -> object:
    import urllib.error
    import urllib.request

    from django.conf import settings

    from config.monitoring.server import serve_metrics

    assert settings.WORKER_METRICS_ADDRESS
    server = serve_metrics(settings.WORKER_METRICS_ADDRESS, settings.METRICS_TOKEN)
    assert server is not None
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    statuses = []
    for token in ("wrong", settings.METRICS_TOKEN):
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        try:
            statuses.append(urllib.request.urlopen(request).status)
        except urllib.error.HTTPError as error:
            statuses.append(error.code)
    server.shutdown()
    return statuses


def otel_endpoint() -> object:
    """What uses it is tested by tests/config/monitoring/test_tracing.py, where the extra is installed."""
    from django.conf import settings

    return settings.OTEL_ENDPOINT


def email_url() -> object:
    from django.core import mail

    backend = mail.get_connection()
    return [backend.host, backend.port, backend.username, backend.password, backend.use_tls]


def email_from() -> object:
    from django.core import mail

    return mail.EmailMessage("subject", "text", to=["a@b.example"]).from_email


def _read_options_of_web() -> dict[str, str]:
    from django.conf import settings

    from config.embedded.programs import build_web

    command = build_web(settings.ENV, settings.ENV.port).command
    return dict(pairwise(command))


def _write_log_lines() -> object:
    """Return the lines of an event that is too unimportant and of one that isn't."""
    from io import StringIO

    handler: Any = logging.getLogger().handlers[0]
    lines = StringIO()
    handler.setStream(lines)
    logging.getLogger("setting").info("unimportant")
    logging.getLogger("setting").warning("important")
    handler.setStream(sys.stderr)
    return [json.loads(line)["event"] for line in lines.getvalue().splitlines()]


def main(names: list[str]) -> None:
    django.setup()
    from config.env import env

    known = {
        **vars(memory_setting_effects),
        **vars(code_setting_effects),
        **vars(api_setting_effects),
        **vars(net_setting_effects),
        **globals(),
    }
    effects: dict[str, Callable[[], object]] = {name: known[name] for name in names}
    report = {name: [getattr(env(), name), effect()] for name, effect in effects.items()}
    print(json.dumps(report, default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
