"""Runs in a process of its own: what each setting changed in the product that was started with it.

``python -m tests.config.setting_effects NAME …`` starts Django as every program does and prints, for each setting, its
value and what it switches, as JSON. One function a setting, under the setting's name.
"""

import json
import logging
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import django


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


def broker_url() -> object:
    from config.celery import app

    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=5)
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


def public_url() -> object:
    from django.conf import settings
    from django.test import RequestFactory

    from config.http.context import get_base_url

    address = get_base_url(RequestFactory().get("/"))
    return [address, settings.SESSION_COOKIE_NAME, settings.SECURE_SSL_REDIRECT]


def allowed_hosts() -> object:
    from django.test import RequestFactory

    return RequestFactory().get("/", headers={"host": "b.example"}).get_host()


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


def memory_enabled() -> object:
    from django.apps import apps

    return [apps.is_installed("memory"), "memory" in sys.modules]


def memory_nodes_enabled() -> object:
    from django.apps import apps

    from workflows.execution.kinds import load_kinds

    return [apps.is_installed("memory"), [k for k in load_kinds() if k.startswith("memory")]]


def memory_places() -> object:
    """Store working memory of a run as any caller does, and look for it in Valkey."""
    from django.conf import settings
    from redis import Redis

    from memory.core.policy import NO_LIMITS
    from memory.core.records import MemoryQuery, StoreParams
    from memory.core.scopes import parse_namespace
    from memory.routing import find_external_provider

    team, run = uuid.uuid4(), f"ai:notes:{uuid.uuid4()}"
    place = find_external_provider(team, parse_namespace(run), NO_LIMITS)
    assert place is not None
    place.provider.store(StoreParams(run, "note", value="kept in Valkey"))
    (entry,) = place.provider.recall(MemoryQuery(run, key="note"))
    keys = Redis.from_url(str(settings.MEMORY_REDIS_URL)).scan_iter(match=f"*{team}*")
    stays = find_external_provider(team, parse_namespace("user:mia"), NO_LIMITS)
    return [place.name, entry.value, any(keys), stays]


def memory_redis_url() -> object:
    from memory.core.policy import NO_LIMITS
    from memory.core.scopes import parse_namespace
    from memory.routing import find_external_provider

    place = find_external_provider(uuid.uuid4(), parse_namespace("ai:notes:1"), NO_LIMITS)
    assert place is not None
    pool: Any = place.provider._connection._redis.connection_pool
    return pool.connection_kwargs["db"]


def memory_http_url() -> object:
    return _send_to_http_provider()["path"]


def memory_http_key() -> object:
    return _send_to_http_provider()["authorization"]


def memory_embedder() -> object:
    from memory.embedding.embedders import get_configured_embedder

    return type(get_configured_embedder()).__name__


def memory_embedder_url() -> object:
    return _embed("text", question=False)["path"]


def memory_embedder_key() -> object:
    return _embed("text", question=False)["authorization"]


def memory_embedder_model() -> object:
    return _embed("text", question=False)["body"]["model"]


def memory_embedder_dimensions() -> object:
    return _embed("text", question=False)["body"]["dimensions"]


def memory_embedder_question_prefix() -> object:
    return _embed("text", question=True)["body"]["input"]


def memory_embedder_text_prefix() -> object:
    return _embed("text", question=False)["body"]["input"]


def memory_embedder_unrelated_cosine() -> object:
    from memory.core.records import MemoryQuery
    from memory.embedding.query_embedding import clear_cache, embed_query

    clear_cache()  # the embedder may be paused because it was slow
    meaning = embed_query(MemoryQuery("user:mia", query_text="text")).meaning
    return meaning and meaning.unrelated_cosine


def memory_embedder_seconds() -> object:
    """Return whether a recall stopped waiting for an embedder that is slower than the setting."""
    from memory.embedding import query_embedding
    from memory.embedding.embedders import get_configured_embedder

    embedder = get_configured_embedder()
    assert embedder is not None
    began = time.monotonic()
    vector = query_embedding._embed_text(embedder, "be slow")
    return [vector, time.monotonic() - began < 2]


def worker_threads() -> object:
    from config.celery import app
    from workflows.execution.worker import Worker

    return [app.conf.worker_concurrency, Worker()._capacity]


def run_max_steps() -> object:
    from django.conf import settings

    return settings.RUN_MAX_STEPS


def database_pool_size() -> object:
    from django.db import connection

    return connection.pool.max_size


def mfa_enabled() -> object:
    from django.urls import reverse

    return reverse("mfa_index")


def signup_open() -> object:
    from django.test import RequestFactory

    from accounts.http.adapter import AccountAdapter

    return AccountAdapter().is_open_for_signup(RequestFactory().get("/"))


def net_allow() -> object:
    """Return the answers of an internal host that is allowed and of one that isn't."""
    from django.conf import settings

    from config import net

    with net.build_sync_client(timeout=5) as client:
        allowed = client.get(str(settings.MEMORY_EMBEDDER_URL)).status_code
        try:
            client.get("http://127.0.0.2:1/")
        except net.NetFault as fault:
            return [allowed, type(fault).__name__]
    return [allowed, ""]


def local_models() -> object:
    """Return whether the client of models reaches another port of this machine, and the other client doesn't."""
    import asyncio
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from config import net

    class QuietHandler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), QuietHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"

        async def call(*, for_models: bool) -> str:
            async with net.build_client(timeout=5, for_models=for_models) as client:
                try:
                    await client.get(url)
                except net.NetFault as fault:
                    return type(fault).__name__
            return "connected"

        return [asyncio.run(call(for_models=True)), asyncio.run(call(for_models=False))]


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


def _send_to_http_provider() -> Any:
    """Return the request that arrived for the team whose working memory ``MEMORY_PLACES`` puts elsewhere."""
    from django.conf import settings

    from memory.core.policy import NO_LIMITS
    from memory.core.scopes import parse_namespace
    from memory.routing import find_external_provider

    rule = next(rule for rule in settings.MEMORY_PLACES if "@" in rule)
    team = uuid.UUID(rule.partition("@")[2].partition("=")[0])
    place = find_external_provider(team, parse_namespace("ai:memory:chat:1"), NO_LIMITS)
    assert place is not None
    place.provider.delete("ai:memory:chat:1", "note")
    return _read_last_request()


def _embed(text: str, *, question: bool) -> Any:
    """Return the request that arrived from the embedder."""
    from memory.embedding.embedders import get_configured_embedder

    embedder = get_configured_embedder()
    assert embedder is not None
    embedder.embed([text], question=question, seconds=5)
    return _read_last_request()


def _read_last_request() -> Any:
    """Return what the test's server was sent last."""
    from django.conf import settings

    with urllib.request.urlopen(f"{settings.MEMORY_HTTP_URL}/last") as response:
        return json.load(response)


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

    effects: dict[str, Callable[[], object]] = {name: globals()[name] for name in names}
    report = {name: [getattr(env(), name), effect()] for name, effect in effects.items()}
    print(json.dumps(report, default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
