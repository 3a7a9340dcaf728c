"""The table of scopes: one row for each built-in word, and the rows that plug-ins add.

This package does not look for plug-ins itself; ``memory.plugins`` passes them in.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json


# A namespace has 200 characters: the prefix, and two ids of 80.
MAX_IDS = 2
MAX_PREFIX_LENGTH = 36

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PREFIX = re.compile(r"[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)?")
# The metadata of runs is under this prefix, which no author can name.
_RESERVED = ("ai",)


class SeenBy(StrEnum):
    """The people who can see a scope's namespaces from outside a run. Grants can add others."""

    RUN = "run"  # no person, only runs that use it
    PARTICIPANTS = "participants"  # the accounts and keys of the conversation
    PERSON = "person"  # the person with the first id
    TEAM = "team"  # the team's members, by role


@dataclass(frozen=True, slots=True)
class ScopeKind:
    """A scope word and its rules.

    ``ids`` builds ``arity`` ids from the run's system variables. It raises ``InvalidInput`` with the name of a
    missing variable, as ``memory.core.scopes.require_variable`` does. ``lives_seconds`` is the longest lifetime of an
    entry; ``None`` leaves it to the author. ``is_offered`` means that authors can choose the scope; the scope of run
    metadata is not offered.
    """

    word: str
    prefix: str
    ids: Callable[[Mapping[str, Json]], Sequence[str]]
    arity: int = 1
    seen_by: SeenBy = SeenBy.RUN
    label: str = ""
    lives_seconds: float | None = None
    is_offered: bool = True


class ScopeTable:
    """The scopes by word. ``plug_in`` replaces the rows of all plug-ins, so that a second start adds none twice."""

    def __init__(self, built_in: Iterable[ScopeKind]) -> None:
        self._built_in = {kind.word: kind for kind in built_in}
        self._kinds = dict(self._built_in)

    def plug_in(self, plugin_kinds: Iterable[ScopeKind]) -> None:
        """Replace the rows of plug-ins. Raise InvalidInput and change nothing if one is invalid or conflicts with another."""
        kinds = dict(self._built_in)
        for kind in plugin_kinds:
            _check_grammar(kind)
            for other in kinds.values():
                _check_conflict(kind, other)
            kinds[kind.word] = kind
        self._kinds = kinds

    def list_all(self) -> tuple[ScopeKind, ...]:
        return tuple(self._kinds.values())

    def list_plugged_in(self) -> tuple[ScopeKind, ...]:
        """Return the scopes of plug-ins."""
        return tuple(kind for kind in self.list_all() if kind.word not in self._built_in)

    def get_kind(self, word: str) -> ScopeKind:
        """Return the kind of a scope word; raise InvalidInput for an unknown one."""
        return self._find_kind(self._kinds, word)

    def get_offered_kind(self, word: str) -> ScopeKind:
        """Return the kind of a scope that authors can choose; raise InvalidInput for any other word."""
        offered_kinds = {kind.word: kind for kind in self.list_all() if kind.is_offered}
        return self._find_kind(offered_kinds, word)

    def list_words(self, seen_by: SeenBy) -> tuple[str, ...]:
        """Return the words of the scopes that these people see."""
        return tuple(kind.word for kind in self.list_all() if kind.seen_by is seen_by)

    def _find_kind(self, kinds: Mapping[str, ScopeKind], word: str) -> ScopeKind:
        if word in kinds:
            return kinds[word]
        choices = ", ".join(kind.word for kind in self.list_all() if kind.is_offered)
        raise InvalidInput(f"Unknown memory scope {word!r}; use one of: {choices}.")


def _check_grammar(kind: ScopeKind) -> None:
    scope, prefix = f"The scope {kind.word!r}", kind.prefix
    if not _WORD.fullmatch(kind.word):
        raise InvalidInput(f"{scope}: a word is up to 40 lowercase letters, digits, - and _.")
    if not _PREFIX.fullmatch(prefix) or len(prefix) > MAX_PREFIX_LENGTH:
        raise InvalidInput(
            f"{scope}: the prefix {prefix!r} must be one or two lowercase words with a colon between, "
            f"at most {MAX_PREFIX_LENGTH} characters."
        )
    if not 1 <= kind.arity <= MAX_IDS:
        raise InvalidInput(f"{scope}: a namespace has 1 to {MAX_IDS} ids.")
    if kind.lives_seconds is not None and not kind.lives_seconds > 0:
        raise InvalidInput(f"{scope}: lives_seconds is more than 0.")
    if not isinstance(kind.seen_by, SeenBy):
        raise InvalidInput(f"{scope}: seen_by is one of {', '.join(SeenBy)}.")
    if prefix.split(":")[0] in _RESERVED:
        raise InvalidInput(f"{scope}: the prefix {prefix!r} is reserved.")


def _check_conflict(kind: ScopeKind, other: ScopeKind) -> None:
    if kind.word == other.word:
        raise InvalidInput(f"There are two scopes named {kind.word!r}.")
    prefix, other_prefix = f"{kind.prefix}:", f"{other.prefix}:"
    if prefix.startswith(other_prefix) or other_prefix.startswith(prefix):
        raise InvalidInput(
            f"The scopes {kind.word!r} and {other.word!r} would share namespaces: "
            f"their prefixes are {kind.prefix!r} and {other.prefix!r}."
        )
