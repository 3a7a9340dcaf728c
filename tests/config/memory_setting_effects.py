"""What the settings of memory change; see ``setting_effects``."""

import json
import sys
import urllib.request
import uuid
from typing import Any

from tests.support.waiting import until


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
    meaning = embed_query(MemoryQuery("user:mia", query_text="text"), uuid.uuid4()).meaning
    return meaning and meaning.unrelated_cosine


def memory_embedder_seconds() -> object:
    """Return whether a recall stopped waiting for an embedder that answers only after that."""
    from memory.embedding import query_embedding
    from memory.embedding.embedders import get_configured_embedder

    embedder = get_configured_embedder()
    assert embedder is not None
    vectors = []

    def waited_in_vain() -> bool:
        vectors.append(query_embedding._embed_text(embedder, "be slow"))
        return bool(_ask_server("/pending")["pending"])

    # On a busy machine the time may be over before the question was even sent: then it is asked again.
    until(waited_in_vain)
    # Nobody waits for the answer any more, and the server hasn't given it.
    return [vectors[-1], _ask_server("/release")["pending"] >= 1]


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
    embedder.embed([text], question=question, seconds=30)
    return _read_last_request()


def _read_last_request() -> Any:
    """Return what the test's server was sent last."""
    return _ask_server("/last")


def _ask_server(path: str) -> Any:
    from django.conf import settings

    with urllib.request.urlopen(f"{settings.MEMORY_HTTP_URL}{path}") as response:
        return json.load(response)
