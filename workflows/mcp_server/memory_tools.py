"""Memory as tools: search, store, forget and explain what is remembered about the caller's person, and search knowledge pages.

A key needs the scope for each. The memory is that of the person for whom the client is connected; a tool can't be told to
use that of anybody else.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.utils.translation import gettext as _
from mcp import types

from accounts.roles import SPEAK_SCOPE
from config.ids import uuid7
from workflows import memory_app
from workflows.errors import InvalidValue
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.memory_reasons import explain_memory
from workflows.mcp_server.resources import build_page_uri
from workflows.mcp_server.tools import Call, ServedTool, build_error, build_result, build_schema


Json = Any  # JSON

MAX_RESULTS: Final = 20
DEFAULT_RESULTS: Final = 5
_LIMIT: Final = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_RESULTS,
    "default": DEFAULT_RESULTS,
    "description": "How many results at most",
}
_QUERY: Final = {"type": "string", "minLength": 1, "description": "What to look for, in words"}
_KEY: Final = {
    "type": "string",
    "description": "The name of a memory, such as favourite_colour. Storing under a known key replaces its text.",
}
_KNOWN_KEY: Final = {
    "type": "string",
    "minLength": 1,
    "description": "The name of a memory, as memory_search and memory_store return it",
}
# A client is an agent, which may have read anything, unless its key says that it passes on what people say.
OUTSIDE: Final = {"origin": "tool"}
_READS: Final = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)


def list_memory_tools(caller: Caller) -> list[ServedTool]:
    """Return the tools of memory for which the key has the scopes."""
    if not memory_app.is_on():
        return []
    return [served for scopes, served in _TOOLS if caller.allows(*scopes)]


async def _search(call: Call) -> types.CallToolResult:
    caller, arguments = call.caller, call.arguments
    query, limit = str(arguments["query"]), read_limit(arguments)
    entries = await caller.run(
        lambda: memory_app.recall(
            caller.memory,
            namespace=caller.own_namespace,
            query_text=query,
            top_k=limit,
            for_prompt=True,
        )
    )
    return build_result({"memories": [_serialize(entry) for entry in entries]})


async def _store(call: Call) -> types.CallToolResult:
    caller, arguments = call.caller, call.arguments
    key = str(arguments.get("key") or f"note-{uuid7().hex[-12:]}")

    def store() -> "memory_app.MemoryEntry":
        entry = memory_app.remember(
            caller.memory,
            namespace=caller.own_namespace,
            key=key,
            value=arguments["text"],
            metadata={} if caller.allows(SPEAK_SCOPE) else OUTSIDE,
        )
        memory_app.propose_contradictions(caller.memory, [entry])
        return entry

    return build_result({"stored": _serialize(await caller.run(store))})


async def _forget(call: Call) -> types.CallToolResult:
    caller, arguments = call.caller, call.arguments
    result = await caller.run(
        lambda: memory_app.forget(
            caller.memory, namespace=caller.own_namespace, key=str(arguments["key"])
        )
    )
    if not result.count:
        return build_error(f"key: nothing is remembered under {arguments['key']}.")
    return build_result({"forgotten": result.count})


async def _search_pages(call: Call) -> types.CallToolResult:
    caller, arguments = call.caller, call.arguments
    search = partial(
        memory_app.search_all_pages,
        caller.memory,
        query=str(arguments["query"]),
        top_k=read_limit(arguments),
    )
    results = await caller.run(search)
    pages = [
        {
            "uri": build_page_uri(hit.entry.id),
            **{name: hit.page[name] for name in ("title", "summary", "content")},
            "knowledge_base": hit.entry.namespace,
            "score": round(hit.score, 4),
        }
        for hit in results.hits
    ]
    return build_result({"pages": pages})


def read_limit(arguments: Mapping[str, Json]) -> int:
    """Return how many results are asked for. Raises InvalidValue unless it is a whole number within the limits."""
    limit = arguments.get("limit", DEFAULT_RESULTS)
    if type(limit) is not int or not 1 <= limit <= MAX_RESULTS:
        message = _("limit: must be a whole number from 1 to %(max)s.") % {"max": MAX_RESULTS}
        raise InvalidValue(message, field="limit")
    return limit


def _serialize(entry: "memory_app.MemoryEntry") -> dict[str, Json]:
    score = {} if entry.score is None else {"score": round(entry.score, 4)}
    waits = {"waits_for_review": True} if entry.tier == "quarantine" else {}
    return {"key": entry.key, "text": entry.value, **score, **waits}


_TOOLS: Final[tuple[tuple[tuple[str, ...], ServedTool], ...]] = (
    (
        ("memory:read",),
        ServedTool(
            types.Tool(
                name="memory_search",
                title="Search memory",
                description="Finds what is remembered about the user, by words and by meaning; the best matches first.",
                input_schema=build_schema(("query",), query=_QUERY, limit=_LIMIT),
                annotations=_READS,
            ),
            _search,
        ),
    ),
    (
        ("memory:read", "memory:write"),
        ServedTool(
            types.Tool(
                name="memory_store",
                title="Store a memory",
                description="Remembers one fact about the user, in a sentence that is understood on its own.",
                input_schema=build_schema(
                    ("text",),
                    text={"type": "string", "minLength": 1, "description": "The fact"},
                    key=_KEY,
                ),
                annotations=types.ToolAnnotations(destructive_hint=False, open_world_hint=False),
            ),
            _store,
        ),
    ),
    (
        ("memory:read", "memory:write"),
        ServedTool(
            types.Tool(
                name="memory_forget",
                title="Forget a memory",
                description="Forgets what is remembered under a key. People of the team can undo it.",
                input_schema=build_schema(("key",), key=_KNOWN_KEY),
                annotations=types.ToolAnnotations(
                    destructive_hint=True, idempotent_hint=True, open_world_hint=False
                ),
            ),
            _forget,
        ),
    ),
    (
        ("memory:read",),
        ServedTool(
            types.Tool(
                name="memory_explain",
                title="Explain a memory",
                description="Says why something is remembered: when it was stored and changed, by whom, in which run, and what it said before.",
                input_schema=build_schema(("key",), key=_KNOWN_KEY),
                annotations=_READS,
            ),
            explain_memory,
        ),
    ),
    (
        ("memory:read",),
        ServedTool(
            types.Tool(
                name="knowledge_search",
                title="Search knowledge",
                description="Finds pages of the team's knowledge bases, by words and by meaning; the best matches first.",
                input_schema=build_schema(("query",), query=_QUERY, limit=_LIMIT),
                annotations=_READS,
            ),
            _search_pages,
        ),
    ),
)
