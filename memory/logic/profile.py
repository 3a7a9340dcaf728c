"""The profile of a person: the few entries that every prompt gets, however a question reads.

Nobody chose anything for most entries. Then what the entry is decides: the person's name and language, and standing
instructions, are in the profile, and everything else is recalled when it is relevant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from memory.core.recall.floor import ABOUT, ATTRIBUTE
from memory.core.records import (
    Json,
    MemoryEntry,
    MemoryQuery,
    NotedEntry,
    PromptUse,
    StoreParams,
)
from memory.core.values import to_compact_json
from memory.logic.conversations.messages import estimate_tokens
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.judgement.labels import About, Attribute, Kind
from memory.logic.judgement.related_entries import KIND


MAX_TOKENS: Final = 300  # with what a prompt says above the entries
HEADING_TOKENS: Final = 40
MAX_ENTRY_TOKENS: Final = MAX_TOKENS - HEADING_TOKENS
# The attributes that are in a profile by themselves, in the order of the profile.
ATTRIBUTES: Final = (Attribute.NAME, Attribute.LANGUAGE)
# The part of a score that says why an entry of the profile was recalled.
ALWAYS_PART: Final = "always"

_STANDING: Final[Mapping[str, Json]] = {
    "$and": [
        {
            "$or": [
                {ATTRIBUTE: {"$in": [str(attribute) for attribute in ATTRIBUTES]}},
                {KIND: str(Kind.INSTRUCTION)},
            ]
        },
        {ABOUT: {"$ne": str(About.OTHER)}},
    ]
}
_IN_PROFILE: Final[Mapping[str, Json]] = {
    "$or": [
        {"prompt_use": str(PromptUse.ALWAYS)},
        {"$and": [{"prompt_use": str(PromptUse.AUTO)}, _STANDING]},
    ]
}


@dataclass(frozen=True, slots=True)
class Profile:
    """The entries that enter a prompt, in their order; ``left_out`` are those for which there was no room.

    ``withheld`` says why memory withholds the profile, if it does.
    """

    entries: tuple[MemoryEntry, ...] = ()
    left_out: tuple[MemoryEntry, ...] = ()
    tokens: int = 0
    withheld: str | None = None

    @property
    def entry_tokens(self) -> int:
        """Return the tokens of the entries alone."""
        return max(0, self.tokens - HEADING_TOKENS)


class Usable(Protocol):
    """An entry, or its row in a database."""

    @property
    def prompt_use(self) -> str: ...
    @property
    def metadata(self) -> Mapping[str, Json]: ...


def get_prompt_use(entry: Usable) -> PromptUse:
    """Return how the entry is used: what the person chose, or else what follows from what it is."""
    choice = PromptUse(entry.prompt_use)
    if choice is not PromptUse.AUTO:
        return choice
    return PromptUse.ALWAYS if _find_place(entry.metadata) else PromptUse.RELEVANT


def build_profile_query(namespace: str) -> MemoryQuery:
    """Return the query for everything that wants to be in the profile and holds now."""
    return MemoryQuery(namespace, filter=_IN_PROFILE, for_prompt=True)


def build_profile(hits: Iterable[MemoryEntry]) -> Profile:
    """Return the profile of these entries: first what the person pinned, the newest first, then what belongs there by itself.

    An entry that doesn't fit is left out, and a shorter one behind it may still be in. One that others disagree with brings
    them along.
    """
    entries: list[MemoryEntry] = []
    left_out: list[MemoryEntry] = []
    shown_ids: set[str] = set()
    tokens = HEADING_TOKENS
    candidates = [hit for hit in hits if get_prompt_use(hit) is PromptUse.ALWAYS]
    for entry in sorted(candidates, key=_get_rank):
        if entry.id in shown_ids:
            continue  # it stands beside the one that it disagrees with
        others = entry.disagrees_with if isinstance(entry, NotedEntry) else ()
        size = sum(_count_tokens(each.value) for each in (entry, *others))
        if tokens + size > MAX_TOKENS:
            left_out.append(entry)
            continue
        tokens += size
        shown_ids |= {each.id for each in others}
        entries.append(replace(entry, score=None, explain={ALWAYS_PART: 1.0}))
    return Profile(tuple(entries), tuple(left_out), tokens if entries else 0)


def keep_prompt_use(params: StoreParams, previous: Usable | None) -> StoreParams:
    """Return the parameters with what a person chose for the entry under the key, unless they choose themselves.

    Otherwise a step that writes an entry again would bring back into prompts what the person wants in none.
    """
    if previous is None or params.prompt_use is not PromptUse.AUTO:
        return params
    return replace(params, prompt_use=PromptUse(previous.prompt_use))


def inherit_prompt_use(replaced: Sequence[Usable]) -> PromptUse:
    """Return what was chosen for the entries whose place a new one takes; ``never`` outweighs the others."""
    choices = {PromptUse(entry.prompt_use) for entry in replaced}
    order = (PromptUse.NEVER, PromptUse.ALWAYS, PromptUse.RELEVANT)
    return next((use for use in order if use in choices), PromptUse.AUTO)


def _count_tokens(value: Json) -> int:
    """Return the tokens of a line of the profile."""
    text = value if isinstance(value, str) else to_compact_json(value)
    return estimate_tokens(f'- "{text}"\n')


def _find_place(metadata: Mapping[str, Json]) -> int:
    """Return the place of an entry that is in the profile by itself, or 0 for any other.

    What was found on the web or by a tool is never there by itself.
    """
    if metadata.get(ABOUT) == About.OTHER or get_untrusted_origin(metadata):
        return 0
    if metadata.get(KIND) == Kind.INSTRUCTION:
        return len(ATTRIBUTES) + 1
    attribute = metadata.get(ATTRIBUTE)
    return next((place for place, each in enumerate(ATTRIBUTES, 1) if each == attribute), 0)


def _get_rank(entry: MemoryEntry) -> tuple[int, float, str]:
    """Return the sort key: what a person chose comes first, then by place; in both the newest comes first."""
    is_chosen = entry.prompt_use is PromptUse.ALWAYS
    age = -entry.updated_at.timestamp() if entry.updated_at else 0.0
    return 0 if is_chosen else _find_place(entry.metadata), age, entry.id
