"""Finds and replaces external users' ids and pseudonyms in strings of the audit trail.

This module handles strings only; ``accounts.models.persons`` creates pseudonyms and resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from config.ids import is_identifier, unescape


# A function that lists the prefixes of persons' namespaces, such as ``user`` in ``user:zoe``.
ListPrefixes = Callable[[], Iterable[str]]
ReplaceId = Callable[[str], str]

# Stands for a string that can't be an id: requests with it were refused, and no person could request its erasure.
INVALID_ID: Final = "~-"
# Fields of a detail that hold prose. The values of other fields are prose if they contain spaces.
PROSE_FIELDS: Final = ("why", "reason")

# Accounts and API keys are identified by UUIDs of version 7 and need no pseudonym. Ids of external users are mostly
# UUIDs of version 4; an external UUID of version 7 can't be distinguished from an account's.
_OWN_UUID = re.compile(r"(?:key-)?[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_PSEUDONYM = re.compile(r"~[a-z2-7]{26}(?![a-z2-7])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MAX_QUOTED_LENGTH = 100  # characters of an invalid id that a refusal quotes
_PREFIX_LISTERS: dict[str, ListPrefixes] = {"persons": lambda: ("user",)}


def register_person_prefixes(list_prefixes: ListPrefixes) -> None:
    """Replace the function that lists the prefixes, for an app whose plug-ins add prefixes."""
    _PREFIX_LISTERS["persons"] = list_prefixes


def is_external(person: str) -> bool:
    """Return whether an id may identify an external user."""
    return is_identifier(person) and not _OWN_UUID.fullmatch(person)


def find_external_ids(text: str) -> list[str]:
    """Return the external users' ids in a string such as ``user:zoe``, the name of a person's namespace."""
    return [person for part in _split_ids(text) if is_external(person := _unescape(part))]


def find_persons(subject: str, detail: Mapping[str, Any]) -> set[str]:
    """Return the ids of all external users whom an entry names."""
    persons: set[str] = set()

    def collect(person: str) -> str:
        persons.add(person)
        return person

    replace_ids(subject, detail, collect)
    return persons


def replace_ids(
    subject: str, detail: Mapping[str, Any], replace_id: ReplaceId
) -> tuple[str, dict[str, Any]]:
    """Return the subject and the detail with ``replace_id`` applied to every external user's id."""
    pairs = [("", subject), *_iterate_strings(detail)]
    all_text = "\n".join(text for _, text in pairs)
    if not _compile_person_pattern(_join_prefixes()).search(all_text):
        return subject, dict(detail)  # nearly every entry names an account or no person
    texts = [subject, *(text for name, text in pairs[1:] if not _is_prose(name, text))]
    persons = {
        person
        for text in texts
        for person in _split_ids(text)
        if person and not _OWN_UUID.fullmatch(person)
    }
    # Prose quotes a person's id as it is, too.
    persons |= {_unescape(person) for person in persons} - {""}
    quotations = _list_quotations(persons)

    def replace_in_field(name: str, text: str) -> str:
        if _is_prose(name, text):
            return _replace_in_prose(text, quotations, replace_id)
        return _replace_in_name(text, replace_id)

    return _replace_in_name(subject, replace_id), _map_strings(detail, replace_in_field)


def substitute_names(value: Any, names: Mapping[str, str]) -> Any:  # Any: JSON
    """Return the value with its pseudonyms replaced by ``names``; unknown pseudonyms stay."""
    return _map_strings(
        value, lambda _name, text: _PSEUDONYM.sub(lambda match: names.get(match[0], match[0]), text)
    )


def list_pseudonyms(value: Any) -> set[str]:  # Any: JSON
    """Return all pseudonyms in the strings and keys of a value."""
    texts = (text for _name, text in _iterate_strings(value))
    return {pseudonym for text in texts for pseudonym in _PSEUDONYM.findall(text)}


def replace_pseudonyms(text: str, label: str) -> str:
    """Replace every pseudonym in a text, together with the prefix before it, by a label such as "erased user"."""
    return re.sub(rf"(?:(?:{_join_prefixes()}):)?{_PSEUDONYM.pattern}", lambda _m: label, text)


def _split_ids(text: str) -> list[str]:
    """Return the escaped ids after a person's prefix: ``["zoe"]`` for ``user:zoe``; none without such a prefix."""
    for prefix in _load_prefixes():
        if text.startswith(f"{prefix}:"):
            return text[len(prefix) + 1 :].split(":")
    return []


def _replace_in_name(text: str, replace_id: ReplaceId) -> str:
    ids = _split_ids(text)
    if not ids:
        return text
    prefix = text.removesuffix(":".join(ids))
    return prefix + ":".join(_replace_if_external(person, replace_id) for person in ids)


def _replace_if_external(text: str, replace_id: ReplaceId) -> str:
    """Return what stands for an id, escaped or as it is, of a person."""
    if not text or _OWN_UUID.fullmatch(text):
        return text
    person = _unescape(text)
    if not is_external(person) and is_external(text):
        person = text  # with a percent sign that escapes nothing, in prose
    return replace_id(person) if is_external(person) else INVALID_ID


def _unescape(text: str) -> str:
    """Return the id of an escaped one, or an empty string for a text that is none."""
    try:
        return unescape(text)
    except ValueError:
        return ""


def _replace_in_prose(text: str, quotations: Mapping[str, str], replace_id: ReplaceId) -> str:
    """Replace ids that the entry names elsewhere, wherever they occur, and the word after a person's prefix."""
    alternatives = "|".join(map(_build_word, sorted(quotations, key=len, reverse=True)))
    prefix = rf"(?<![\w-])(?:{_join_prefixes()}):"
    quoted = rf"(?:{prefix})?(?P<known>{alternatives})|" if alternatives else ""

    def replace_match(match: re.Match[str]) -> str:
        if alternatives and match["known"] is not None:
            matched_prefix = match[0][: -len(match["known"])]
            return matched_prefix + _replace_if_external(quotations[match["known"]], replace_id)
        matched_prefix = match[0][: -len(match["id"])]
        person = match["id"].rstrip("'\"’”.,;!?)]}>…")
        punctuation = match["id"][len(person) :]
        return matched_prefix + _replace_if_external(person, replace_id) + punctuation

    return re.sub(rf"{quoted}{prefix}(?P<id>[^\s:]+)", replace_match, text)


def _build_word(quoted: str) -> str:
    """Return the pattern of a quoted id as a whole word. Scripts without spaces have no ends of words."""
    before = "" if _UNSPACED.match(quoted[0]) else r"(?<!\w)"
    after = "" if _UNSPACED.match(quoted[-1]) else r"(?!\w)"
    return f"{before}{re.escape(quoted)}{after}"


def _list_quotations(persons: set[str]) -> dict[str, str]:
    """Map each form in which a refusal may quote a person, in full, escaped or cut, to that person."""
    quotations: dict[str, str] = {}
    for person in persons:
        for quoted in (person, person[:_MAX_QUOTED_LENGTH]):
            quotations |= {quoted: person, repr(quoted)[1:-1]: person}
    return quotations


def _is_prose(name: str, text: str) -> bool:
    if name in PROSE_FIELDS:
        return True
    return " " in text and not any(text.startswith(f"{prefix}:") for prefix in _load_prefixes())


def _map_strings(value: Any, convert: Callable[[str, str], str], name: str = "") -> Any:
    """Return the JSON value with ``convert``, a function of field name and string, applied to all keys and strings."""
    if isinstance(value, str):
        return convert(name, value)
    if isinstance(value, Mapping):
        return {convert("", key): _map_strings(item, convert, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(item, convert, name) for item in value]
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
    return tuple(_PREFIX_LISTERS["persons"]())
