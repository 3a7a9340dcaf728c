"""Scope words and the namespaces they stand for.

A workflow's author chooses a word; the namespace string is built here, from what the server knows,
and nowhere else. The grammar is strict because two spellings of one person would be two memories,
and one spelling of two people would be a leak.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json, Tier
from memory.core.scope_kinds import ScopeKind, ScopeTable, SeenBy


class Scope(StrEnum):
    """The built-in words; plug-ins add theirs with ``plug_in``."""

    CONVERSATION = "conversation"  # across the runs of one conversation
    USER = "user"  # across the conversations of one person
    GLOBAL = "global"  # the application's own
    WORKFLOW = "workflow"  # one workflow's own, per group
    RUN = "run"  # notes, cleared when the run ends
    RUN_METADATA = "run_metadata"  # what a run is about; no author names it


NOTES_LIVE = 30 * 60.0  # seconds
METADATA_LIVES = 3 * 24 * 60 * 60.0
WORKING_LIVES = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class ParsedNamespace:
    """A namespace taken apart; ``ids`` holds one id, or stream and group for a workflow's own."""

    scope: str  # a built-in word is the member of ``Scope``
    ids: tuple[str, ...]

    @property
    def text(self) -> str:
        return ":".join((_TABLE.named(self.scope).prefix, *self.ids))

    @property
    def seen_by(self) -> SeenBy:
        return _TABLE.named(self.scope).seen_by

    def __str__(self) -> str:
        return self.text


def resolve_namespace(scope: str, identity: Mapping[str, Json]) -> str:
    """The namespace a scope word means for someone; a missing identity names the variable."""
    kind = _TABLE.offered(scope)
    ids = tuple(_check_id(value, f"The {kind.word} scope") for value in kind.ids(identity))
    if len(ids) != kind.arity:
        raise InvalidInput(f"The {kind.word} scope made {len(ids)} ids; it needs {kind.arity}.")
    return ParsedNamespace(kind.word, ids).text


def parse_namespace(text: str) -> ParsedNamespace:
    for kind in _TABLE.all():
        if text.startswith(f"{kind.prefix}:"):
            ids = tuple(text[len(kind.prefix) + 1 :].split(":"))
            if len(ids) != kind.arity:
                break
            return ParsedNamespace(kind.word, tuple(_check_id(value, text) for value in ids))
    raise InvalidInput(f"{text!r} is not a namespace.")


def notes_namespace(run_id: str) -> str:
    return ParsedNamespace(Scope.RUN, (_check_id(run_id, "A run's notes"),)).text


def metadata_namespace(run_id: str) -> str:
    return ParsedNamespace(Scope.RUN_METADATA, (_check_id(run_id, "What a run is about"),)).text


def stream_of(names: Sequence[str]) -> str:
    """The name of merged workflows: ``chat`` and ``desktop`` make ``chat-desktop``.

    The order is part of it: the first one leads. A server that must keep streams apart passes ids,
    which are all of one length: no two lists of them make the same name. What would be longer than an id may be keeps its
    beginning and gets a digest of the whole, so that two such names still differ.
    """
    stream = "-".join(names)
    if len(stream) <= LONGEST_ID:
        return stream
    digest = hashlib.sha256(stream.encode()).hexdigest()[:32]
    return f"{stream[: LONGEST_ID - len(digest) - 1]}-{digest}"


def life_in(scope: str, asked_seconds: float | None, tier: str = "") -> float | None:
    """Return how long an entry lives: what its author asked for, but no longer than its scope allows.

    Working memory is a day's, unless its author says otherwise.
    """
    if tier == Tier.WORKING and asked_seconds is None:
        asked_seconds = WORKING_LIVES
    longest = _TABLE.named(scope).lives_seconds
    if longest is None or asked_seconds is None:
        return longest if asked_seconds is None else asked_seconds
    return min(longest, asked_seconds)


def require_variable(scope: str, variable: str, identity: Mapping[str, Json]) -> str:
    """A system variable that a scope can't do without, fit to be an id."""
    value = _text(identity.get(variable))
    if not value:
        raise InvalidInput(f"sys.{variable} is not set; the {scope} scope needs it.")
    return _check_id(value, f"sys.{variable}")


def plug_in(kinds: Iterable[ScopeKind]) -> None:
    """Instead of whatever was plugged in before; a clash is refused and changes nothing."""
    _TABLE.plug_in(kinds)


def scope_kinds() -> tuple[ScopeKind, ...]:
    return _TABLE.all()


def list_plugged_scopes() -> tuple[ScopeKind, ...]:
    return _TABLE.plugged()


def scope_named(word: str) -> ScopeKind:
    return _TABLE.named(word)


def words_seen_by(seen_by: SeenBy) -> tuple[str, ...]:
    return _TABLE.words_seen_by(seen_by)


# Visible ASCII without the colon: look-alikes of other scripts can't be told apart by a reader.
LONGEST_ID = 80
_ID = re.compile(r"[!-9;-~]{1,80}")


def _check_id(value: object, where: str) -> str:
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise InvalidInput(
        f"{where}: {str(value)[:100]!r} is not a valid ID; "
        "use 1 to 80 visible ASCII characters without a colon."
    )


def _text(value: Json) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def _conversation(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (require_variable(Scope.CONVERSATION, "conversation_id", identity),)


def _user(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (require_variable(Scope.USER, "user_id", identity),)


def _global(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (_check_id(_text(identity.get("app_id")) or "default", "sys.app_id"),)


def _workflow(identity: Mapping[str, Json]) -> tuple[str, ...]:
    """Merged workflows share a stream of their own: chat + desktop is ``chat-desktop``."""
    names = identity.get("workflow_names")
    if isinstance(names, list | tuple) and names:
        parts = [_check_id(_text(name), "sys.workflow_names") for name in names]
        stream = stream_of(parts)
    else:
        stream = require_variable(Scope.WORKFLOW, "workflow_id", identity)
    return (stream, require_variable(Scope.WORKFLOW, "group_id", identity))


def _run(identity: Mapping[str, Json]) -> tuple[str, ...]:
    return (require_variable(Scope.RUN, "run_id", identity),)


_TABLE = ScopeTable(
    (
        ScopeKind(Scope.CONVERSATION, "conv", _conversation, seen_by=SeenBy.PARTICIPANTS),
        ScopeKind(Scope.USER, "user", _user, seen_by=SeenBy.PERSON),
        ScopeKind(Scope.GLOBAL, "global", _global, seen_by=SeenBy.TEAM),
        ScopeKind(Scope.WORKFLOW, "ai:memory", _workflow, arity=2, seen_by=SeenBy.TEAM),
        ScopeKind(Scope.RUN, "ai:notes", _run, seen_by=SeenBy.RUN, lives_seconds=NOTES_LIVE),
        ScopeKind(
            Scope.RUN_METADATA,
            "ai:workflow",
            _run,
            seen_by=SeenBy.RUN,
            lives_seconds=METADATA_LIVES,
            is_offered=False,
        ),
    )
)


def of_group(identity: Mapping[str, Json], group_id: str | None) -> Mapping[str, Json]:
    """Return the identity of the same run in another group; the gateway checks whether it may use that group."""
    return identity if group_id is None else {**identity, "group_id": group_id}


def check_target(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    """Refuse to forget when neither a key nor a filter says what."""
    if key is None and not filter_:
        raise InvalidInput("key: specify a key or a filter.")


def tier_named(tier: str) -> Tier:
    """Return the tier with this name; raise InvalidInput for an unknown one."""
    try:
        return Tier(tier)
    except ValueError:
        raise InvalidInput(f"tier: use one of {', '.join(Tier)}.") from None
