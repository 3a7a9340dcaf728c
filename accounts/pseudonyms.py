"""Finds external users' ids in strings of the audit trail, and the pseudonyms that replace them.

This module handles strings only; ``accounts.models.persons`` creates pseudonyms and resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final


# The prefixes of persons' namespaces; an app whose plug-ins add prefixes registers a function that lists them.
Prefixes = Callable[[], Iterable[str]]
Swap = Callable[[str], str]

# Replaces strings that can't be an id: they were refused, and no person could request their erasure.
INVALID_ID: Final = "~-"
# Fields that hold prose; values of other fields are prose if they contain spaces.
PROSE: Final = ("why", "reason")

_ID = re.compile(r"[!-9;-~]{1,80}")
# Accounts and API keys are identified by UUIDs of version 7 and need no pseudonym. Ids of external users are mostly
# UUIDs of version 4; an external UUID of version 7 can't be distinguished from an account's.
_OWN_UUID = re.compile(r"(?:key-)?[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_PSEUDONYM = re.compile(r"~[a-z2-7]{26}(?![a-z2-7])")
_MAX_QUOTED_LENGTH = 100  # characters of an invalid id that a refusal quotes
_PREFIXES: dict[str, Prefixes] = {"persons": lambda: ("user",)}


def register_person_prefixes(prefixes: Prefixes) -> None:
    _PREFIXES["persons"] = prefixes


def is_external(person: str) -> bool:
    """Return whether an id may identify an external user."""
    return bool(_ID.fullmatch(person)) and not _OWN_UUID.fullmatch(person)


def find_external_ids(text: str) -> list[str]:
    """Return the external users' ids in the name of a person's namespace."""
    return [person for person in _split_ids(text) if is_external(person)]


def find_persons(subject: str, detail: Mapping[str, Any]) -> set[str]:
    """Return every external user whom an entry names."""
    persons: list[str] = []

    def collect(person: str) -> str:
        persons.append(person)
        return person

    hide(subject, detail, collect)
    return set(persons)


def hide(subject: str, detail: Mapping[str, Any], swap: Swap) -> tuple[str, dict[str, Any]]:
    """Return the same entry with ``swap`` applied to every external user's id."""
    pairs = [("", subject), *_iterate_strings(detail)]
    if not _compile_person_pattern(_join_prefixes()).search("\n".join(text for _, text in pairs)):
        return subject, dict(detail)  # nearly every entry names an account or no person
    texts = [subject, *(text for name, text in pairs[1:] if not _is_prose(name, text))]
    persons = {
        person
        for text in texts
        for person in _split_ids(text)
        if person and not _OWN_UUID.fullmatch(person)
    }
    quotations = _list_quotations(persons)

    def swap_text(name: str, text: str) -> str:
        if _is_prose(name, text):
            return _swap_in_prose(text, quotations, swap)
        return _swap_in_name(text, swap)

    return _swap_in_name(subject, swap), _map_strings(detail, swap_text)


def substitute_names(value: Any, names: Mapping[str, str]) -> Any:  # Any: JSON
    """Return the value with its pseudonyms replaced by ``names``; unknown pseudonyms stay."""
    return _map_strings(
        value, lambda _name, text: _PSEUDONYM.sub(lambda match: names.get(match[0], match[0]), text)
    )


def list_pseudonyms(value: Any) -> set[str]:  # Any: JSON
    texts = (text for _name, text in _iterate_strings(value))
    return {pseudonym for text in texts for pseudonym in _PSEUDONYM.findall(text)}


def replace_pseudonyms(text: str, words: str) -> str:
    """Replace every remaining pseudonym, together with the prefix before it, by ``words``."""
    return re.sub(rf"(?:(?:{_join_prefixes()}):)?{_PSEUDONYM.pattern}", lambda _m: words, text)


def _split_ids(text: str) -> list[str]:
    for prefix in _load_prefixes():
        if text.startswith(f"{prefix}:"):
            return text[len(prefix) + 1 :].split(":")
    return []


def _swap_in_name(text: str, swap: Swap) -> str:
    ids = _split_ids(text)
    if not ids:
        return text
    rest = ":".join(ids)
    return text[: len(text) - len(rest)] + ":".join(_swap_id(person, swap) for person in ids)


def _swap_id(person: str, swap: Swap) -> str:
    if not person or _OWN_UUID.fullmatch(person):
        return person
    return swap(person) if is_external(person) else INVALID_ID


def _swap_in_prose(text: str, quotations: Mapping[str, str], swap: Swap) -> str:
    """Replace ids that the entry names elsewhere, wherever they occur, and the word after a person's prefix."""
    alternatives = "|".join(map(re.escape, sorted(quotations, key=len, reverse=True)))
    prefix = rf"(?<![\w-])(?:{_join_prefixes()}):"
    quoted = rf"(?:{prefix}|(?<!\w))(?P<known>{alternatives})(?!\w)|" if alternatives else ""

    def swap_match(match: re.Match[str]) -> str:
        if alternatives and match["known"] is not None:
            before = match[0][: -len(match["known"])]
            return before + _swap_id(quotations[match["known"]], swap)
        before = match[0][: -len(match["id"])]
        bare = match["id"].rstrip("'\"’”.,;!?)]}>…")
        return before + _swap_id(bare, swap) + match["id"][len(bare) :]

    return re.sub(rf"{quoted}{prefix}(?P<id>[^\s:]+)", swap_match, text)


def _list_quotations(persons: set[str]) -> dict[str, str]:
    """Map each form in which a refusal may quote a person, in full, escaped or cut, to that person."""
    quotations: dict[str, str] = {}
    for person in persons:
        for quoted in (person, person[:_MAX_QUOTED_LENGTH]):
            quotations |= {quoted: person, repr(quoted)[1:-1]: person}
    return quotations


def _is_prose(name: str, text: str) -> bool:
    return name in PROSE or (
        " " in text and not any(text.startswith(f"{p}:") for p in _load_prefixes())
    )


def _map_strings(value: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Mapping):
        return {change("", key): _map_strings(item, change, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(item, change, name) for item in value]
    return value


def _iterate_strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each string with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield "", key
            yield from _iterate_strings(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iterate_strings(item, name)


@cache
def _compile_person_pattern(prefixes: str) -> re.Pattern[str]:
    """Compile a pattern for a person's prefix that is not followed by a UUID alone."""
    return re.compile(rf"(?:{prefixes}):(?!{_OWN_UUID.pattern}(?:\n|\Z))")


def _join_prefixes() -> str:
    return "|".join(map(re.escape, _load_prefixes()))


def _load_prefixes() -> tuple[str, ...]:
    return tuple(_PREFIXES["persons"]())
