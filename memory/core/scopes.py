"""Scope words and the namespaces that they resolve to.

The author of a workflow chooses a word. Only this module builds the namespace string, from variables that the server
sets. Ids are any text, normalized and escaped by ``memory.core.identifiers``: two spellings of one person would be two
memories, and one spelling of two people would leak memory.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.identifiers import (
    MAX_ID_LENGTH,
    escape,
    escape_hidden,
    normalize_identifier,
    parse_id,
    unescape,
)
from memory.core.records import Json, Tier
from memory.core.scope_kinds import ScopeKind, ScopeTable, SeenBy


# Visible ASCII without the characters that are escaped: nearly every id, which needs no further work.
_PLAIN = re.compile(rf"[!-$&-9;-~]{{1,{MAX_ID_LENGTH}}}")

NOTES_LIFETIME = 30 * 60.0  # seconds
METADATA_LIFETIME = 3 * 24 * 60 * 60.0
WORKING_LIFETIME = 24 * 60 * 60.0


class Scope(StrEnum):
    """The built-in words; plug-ins add theirs with ``plug_in``."""

    CONVERSATION = "conversation"  # across the runs of one conversation
    USER = "user"  # across the conversations of one person
    GLOBAL = "global"  # one for the application
    WORKFLOW = "workflow"  # one for each workflow and group
    RUN = "run"  # notes, cleared when the run ends
    RUN_METADATA = "run_metadata"  # the metadata of a run; not for authors


@dataclass(frozen=True, slots=True)
class ParsedNamespace:
    """The parts of a namespace; ``ids`` has one id, or stream and group for a workflow's namespace, unescaped."""

    scope: str  # a built-in word is the member of ``Scope``
    ids: tuple[str, ...]

    @property
    def text(self) -> str:
        return ":".join((_TABLE.get_kind(self.scope).prefix, *map(_escape, self.ids)))

    @property
    def seen_by(self) -> SeenBy:
        return _TABLE.get_kind(self.scope).seen_by

    def __str__(self) -> str:
        return self.text


def resolve_namespace(scope: str, identity: Mapping[str, Json]) -> str:
    """Return the namespace of a scope for the system variables of a run; raise InvalidInput if one is missing."""
    kind = _TABLE.get_offered_kind(scope)
    ids = tuple(_parse_id(value, f"The {kind.word} scope") for value in kind.ids(identity))
    if len(ids) != kind.arity:
        raise InvalidInput(f"The {kind.word} scope made {len(ids)} ids; it needs {kind.arity}.")
    return ParsedNamespace(kind.word, ids).text


def parse_namespace(text: str) -> ParsedNamespace:
    """Return the parts of a namespace; raise InvalidInput if no scope has its prefix and number of ids.

    The ids are normalized, so ``text`` of the result can differ from the argument, and is the one to use.
    """
    for kind in _TABLE.list_all():
        if text.startswith(f"{kind.prefix}:"):
            parts = text[len(kind.prefix) + 1 :].split(":")
            if len(parts) != kind.arity:
                raise InvalidInput(f"{text!r} is not a namespace.{_suggest_escaped(kind, parts)}")
            ids = (_parse_id(_unescape(part, text), text) for part in parts)
            return ParsedNamespace(kind.word, tuple(ids))
    raise InvalidInput(f"{text!r} is not a namespace.")


def build_notes_namespace(run_id: str) -> str:
    return ParsedNamespace(Scope.RUN, (_parse_id(run_id, "A run's notes"),)).text


def build_metadata_namespace(run_id: str) -> str:
    return ParsedNamespace(Scope.RUN_METADATA, (_parse_id(run_id, "What a run is about"),)).text


def build_stream_name(names: Sequence[str]) -> str:
    """Return the name of the stream of merged workflows: ``chat`` and ``desktop`` make ``chat-desktop``.

    The order matters: the first name leads. A server that must keep streams apart gives each of them a name of its own
    as ``stream_name``. A name that is too long for an id keeps its beginning and gets a digest of the whole name, so
    that two such names still differ.
    """
    stream = "-".join(names)
    if len(stream) <= MAX_ID_LENGTH:
        return stream
    digest = hashlib.sha256(stream.encode()).hexdigest()[:32]
    return f"{stream[: MAX_ID_LENGTH - len(digest) - 1]}-{digest}"


def get_stream_name(identity: Mapping[str, Json]) -> str:
    """Return the stream of a run: the one that the server chose, or else one made of its workflows' names.

    Merged workflows share a stream: chat + desktop is ``chat-desktop``.
    """
    if stream := identity.get("stream_name"):
        return _parse_id(_to_text(stream), "sys.stream_name")
    names = identity.get("workflow_names")
    if isinstance(names, list | tuple) and names:
        return build_stream_name([_parse_id(_to_text(n), "sys.workflow_names") for n in names])
    return require_variable(Scope.WORKFLOW, "workflow_id", identity)


def compute_lifetime(scope: str, ttl_seconds: float | None, tier: str = "") -> float | None:
    """Return the lifetime of an entry in seconds: the author's choice, a day for working memory, limited by its scope."""
    if tier == Tier.WORKING and ttl_seconds is None:
        ttl_seconds = WORKING_LIFETIME
    max_seconds = _TABLE.get_kind(scope).lives_seconds
    return min((s for s in (max_seconds, ttl_seconds) if s is not None), default=None)


def require_variable(scope: str, variable: str, identity: Mapping[str, Json]) -> str:
    """Return a system variable that the scope needs; raise InvalidInput unless it is set and a valid id."""
    value = _to_text(identity.get(variable))
    if not value:
        raise InvalidInput(f"sys.{variable} is not set; the {scope} scope needs it.")
    return _parse_id(value, f"sys.{variable}")


def replace_group(identity: Mapping[str, Json], group_id: str | None) -> Mapping[str, Json]:
    """Return the run's identity with another group. The caller checks that the run may use that group."""
    return identity if group_id is None else {**identity, "group_id": group_id}


def check_namespace_text(text: str) -> None:
    """Raise InvalidInput unless the text is a namespace in its one spelling, in which providers take it."""
    if parse_namespace(text).text != text:
        raise InvalidInput(f"{text[:200]!r} is not a normalized namespace.")


def normalize_namespace(text: str) -> str:
    """Return the one spelling of a namespace. What is none is returned as it is, and refused where it is used."""
    try:
        return parse_namespace(text).text
    except InvalidInput:
        return text


def _parse_id(value: object, field: str) -> str:
    is_plain = isinstance(value, str) and _PLAIN.fullmatch(value)
    return value if is_plain else parse_id(value, field)  # type: ignore[return-value]  # a plain one is a string


def _suggest_escaped(kind: ScopeKind, parts: Sequence[str]) -> str:
    """Return a hint if the only id has colons that are not escaped."""
    if kind.arity != 1 or not all(parts):
        return ""
    return f" A colon in an id is written %3A: {kind.prefix}:{'%3A'.join(parts)[:200]}"


def _escape(id_: str) -> str:
    return id_ if _PLAIN.fullmatch(id_) else escape(id_)


def _unescape(text: str, namespace: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    try:
        return unescape(escape_hidden(normalize_identifier(text)))
    except ValueError:
        raise InvalidInput(
            f"{namespace[:200]!r} is not a namespace: {text[:100]!r} is not escaped."
        ) from None


def _to_text(value: Json) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _require_ids(scope: Scope, variable: str) -> Callable[[Mapping[str, Json]], Sequence[str]]:
    """Return the function that builds the only id of a namespace of this scope from a system variable."""
    return lambda identity: (require_variable(scope, variable, identity),)


def _build_global_ids(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_parse_id(_to_text(identity.get("app_id")) or "default", "sys.app_id"),)


def _build_workflow_ids(identity: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the stream and the group."""
    stream = get_stream_name(identity)
    return (stream, require_variable(Scope.WORKFLOW, "group_id", identity))


_conversation_ids = _require_ids(Scope.CONVERSATION, "conversation_id")
_user_ids = _require_ids(Scope.USER, "user_id")
_run_ids = _require_ids(Scope.RUN, "run_id")
_TABLE = ScopeTable(
    (
        ScopeKind(Scope.CONVERSATION, "conv", _conversation_ids, seen_by=SeenBy.PARTICIPANTS),
        ScopeKind(Scope.USER, "user", _user_ids, seen_by=SeenBy.PERSON),
        ScopeKind(Scope.GLOBAL, "global", _build_global_ids, seen_by=SeenBy.TEAM),
        ScopeKind(Scope.WORKFLOW, "ai:memory", _build_workflow_ids, arity=2, seen_by=SeenBy.TEAM),
        ScopeKind(Scope.RUN, "ai:notes", _run_ids, lives_seconds=NOTES_LIFETIME),
        ScopeKind(
            Scope.RUN_METADATA,
            "ai:workflow",
            _run_ids,
            lives_seconds=METADATA_LIFETIME,
            is_offered=False,
        ),
    )
)


def check_target(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    """Raise InvalidInput unless a key or a filter names the entries to forget."""
    if key is None and not filter_:
        raise InvalidInput("key: specify a key or a filter.")


def parse_tier(tier: str) -> Tier:
    """Return the tier with this name; raise InvalidInput for an unknown one."""
    try:
        return Tier(tier)
    except ValueError:
        raise InvalidInput(f"tier: use one of {', '.join(Tier)}.") from None


# The functions of the one table; ``ScopeTable`` documents them.
plug_in = _TABLE.plug_in
list_scope_kinds = _TABLE.list_all
list_plugged_scopes = _TABLE.list_plugged_in
list_words_seen_by = _TABLE.list_words
get_scope = _TABLE.get_kind
