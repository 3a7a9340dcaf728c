"""The operations say what is to be done to memory after a turn: one for each thing that the person said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from memory.core.records import Json, MemoryEntry
from memory.logic.judgement.wording.validity import ALWAYS, Validity, parse_moment


class Action(StrEnum):
    ADD = "add"
    REPLACE = "replace"  # the new text takes the place of known entries, which stop holding
    END = "end"  # known entries stop holding, and nothing takes their place
    FORGET = "forget"  # the person asked for it
    ASK = "ask"  # the person asked to forget something, and several entries could be meant


@dataclass(frozen=True, slots=True)
class KnownFact:
    """An entry that the turn may speak of. A model is shown it only if it ``may_enter_prompts``.

    ``is_of_other`` says that somebody else told it a memory that people share: what it says of "me" is about them. What
    ``is_former`` stopped holding, and is compared only with a wish to forget.
    """

    id: str
    text: str
    may_enter_prompts: bool = True
    is_of_other: bool = False
    is_former: bool = False


@dataclass(frozen=True, slots=True)
class RelatedFacts:
    """Lists what a turn may speak of: known facts, and the ids of what was stored last, or of all if the turn means these.

    ``compared_texts`` are those of further facts, which its statements are compared with when they are stored. ``entries``
    are the entries of all these, by id, as they were read.
    """

    facts: Sequence[KnownFact] = ()
    latest: Sequence[str] = ()
    everything: Sequence[str] = ()
    compared_texts: Sequence[str] = ()
    entries: Mapping[str, MemoryEntry] = field(default_factory=dict)


NOTHING_RELATED: Final = RelatedFacts()


@dataclass(frozen=True, slots=True)
class Operation:
    """``targets`` are the ids of known entries; ``evidence`` is what the person wrote, word for word.

    ``validity`` is when the text holds if somebody else than its own words says so.
    """

    action: Action
    text: str = ""
    targets: tuple[str, ...] = ()
    evidence: str = ""
    key: str = ""  # of the entry that gets the text
    validity: Validity = ALWAYS


def parse_operation(fields: Mapping[str, Json]) -> Operation:
    targets, texts = tuple(fields["targets"]), (fields["evidence"], fields["key"])
    validity = Validity(*(parse_moment(fields.get(name)) for name in ("valid_from", "valid_until")))
    return Operation(Action(fields["action"]), fields["text"], targets, *texts, validity)


@dataclass(frozen=True, slots=True)
class LearnedChange:
    """It says what became of an operation.

    ``entry`` is the entry that has the text now, ``is_new`` whether this step stored it, ``ended`` the entries that
    stopped holding, ``forgotten`` those that were forgotten, ``remaining`` new entries with what these said beside what was to
    be forgotten, and ``choices`` those of which the person is to say which one to forget. ``reasons`` are the codes of the
    content filter if it kept the text out.
    """

    action: Action
    entry: MemoryEntry | None = None
    is_new: bool = False
    ended: tuple[MemoryEntry, ...] = ()
    forgotten: tuple[MemoryEntry, ...] = ()
    remaining: tuple[MemoryEntry, ...] = ()
    choices: tuple[MemoryEntry, ...] = ()
    reasons: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class LearnRequest:
    """It has the operations of a turn, and what all entries that it stores have in common."""

    operations: Sequence[Operation]
    metadata: Mapping[str, Json]
    tier: str
    ttl_seconds: float | None
