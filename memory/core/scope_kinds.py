"""What a scope is, as data: one row each for the built-in words, and the rows plug-ins add.

This package looks for no plug-ins itself; ``memory.plugins`` hands in what it found.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.errors import InvalidInput
from memory.core.records import Json


class SeenBy(StrEnum):
    """Who may look into a scope's namespaces from outside a run. Grants come on top."""

    RUN = "run"  # nobody: only runs that reach it
    PARTICIPANTS = "participants"  # as a conversation: the accounts and keys that take part
    PERSON = "person"  # as a person's: the first id is whose
    TEAM = "team"  # as an application's: by role


@dataclass(frozen=True, slots=True)
class ScopeKind:
    """``ids`` makes as many ids as ``arity`` says from the run's system variables.

    It raises ``InvalidInput`` naming the variable it misses; ``memory.core.scopes.needed`` does that.
    ``lives_seconds`` is how long an entry stays at most; of none, as long as its author says.
    ``is_offered``: authors may choose it; what a run keeps about itself they may not name.
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
    """Rows by word. The plugged ones are replaced as a whole, so that a second start adds nothing."""

    def __init__(self, built_in: Iterable[ScopeKind]) -> None:
        self._built_in = {kind.word: kind for kind in built_in}
        self._kinds = dict(self._built_in)

    def plug_in(self, plugged: Iterable[ScopeKind]) -> None:
        """All or none: a row that doesn't fit leaves the table as it was."""
        kinds = dict(self._built_in)
        for kind in plugged:
            _check_grammar(kind)
            for other in kinds.values():
                _check_clash(kind, other)
            kinds[kind.word] = kind
        self._kinds = kinds

    def all(self) -> tuple[ScopeKind, ...]:
        return tuple(self._kinds.values())

    def plugged(self) -> tuple[ScopeKind, ...]:
        return tuple(kind for kind in self.all() if kind.word not in self._built_in)

    def named(self, word: str) -> ScopeKind:
        return self._one_of(self._kinds, word)

    def offered(self, word: str) -> ScopeKind:
        """The same for a word that an author wrote."""
        return self._one_of({kind.word: kind for kind in self.all() if kind.is_offered}, word)

    def words_seen_by(self, seen_by: SeenBy) -> tuple[str, ...]:
        return tuple(kind.word for kind in self.all() if kind.seen_by is seen_by)

    def _one_of(self, kinds: Mapping[str, ScopeKind], word: str) -> ScopeKind:
        if word in kinds:
            return kinds[word]
        known = ", ".join(kind.word for kind in self.all() if kind.is_offered)
        raise InvalidInput(f"Unknown memory scope {word!r}; use one of: {known}.")


# A namespace has 200 characters: the prefix, and two ids of 80.
MOST_IDS = 2
LONGEST_PREFIX = 36

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PREFIX = re.compile(r"[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)?")
# What runs keep about themselves under a namespace no author may name.
_RESERVED = ("ai",)


def _check_grammar(kind: ScopeKind) -> None:
    if not _WORD.fullmatch(kind.word):
        raise InvalidInput(
            f"The scope {kind.word!r}: a word is up to 40 lowercase letters, digits, - and _."
        )
    if not _PREFIX.fullmatch(kind.prefix) or len(kind.prefix) > LONGEST_PREFIX:
        raise InvalidInput(
            f"The scope {kind.word!r}: the prefix {kind.prefix!r} must be one or two lowercase words "
            f"with a colon between, at most {LONGEST_PREFIX} characters."
        )
    if not 1 <= kind.arity <= MOST_IDS:
        raise InvalidInput(f"The scope {kind.word!r}: a namespace has 1 to {MOST_IDS} ids.")
    if kind.lives_seconds is not None and not kind.lives_seconds > 0:
        raise InvalidInput(f"The scope {kind.word!r}: lives_seconds is more than 0.")
    if not isinstance(kind.seen_by, SeenBy):
        raise InvalidInput(f"The scope {kind.word!r}: seen_by is one of {', '.join(SeenBy)}.")
    if kind.prefix.split(":")[0] in _RESERVED:
        raise InvalidInput(f"The scope {kind.word!r}: the prefix {kind.prefix!r} is reserved.")


def _check_clash(kind: ScopeKind, other: ScopeKind) -> None:
    if kind.word == other.word:
        raise InvalidInput(f"There are two scopes named {kind.word!r}.")
    one, two = f"{kind.prefix}:", f"{other.prefix}:"
    if one.startswith(two) or two.startswith(one):
        raise InvalidInput(
            f"The scopes {kind.word!r} and {other.word!r} would share namespaces: "
            f"their prefixes are {kind.prefix!r} and {other.prefix!r}."
        )
