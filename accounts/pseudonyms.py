"""Who is meant in a text of the audit trail: outside people's ids, and the pseudonyms that stand there for them.

Texts only; what a pseudonym is made of, and whose it is, ``accounts.models.persons`` knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final


# A namespace of a person begins so; an app whose plug-ins have more of them says here which.
Prefixes = Callable[[], Iterable[str]]
Swap = Callable[[str], str]

# Of what can't be anybody's id nothing is kept: it was refused, and nobody could have it erased.
NO_ID: Final = "~-"
PROSE: Final = (
    "why",
    "reason",
)  # words, whatever their length; other values are if they have spaces

_ID = re.compile(r"[!-9;-~]{1,80}")
# An account is told by a number already, and so is a programme that speaks for itself: of version 7, as all of ours
# are. Others' are mostly of version 4, and somebody's id outside; one of version 7 can't be told from an account's here.
_NUMBER = re.compile(r"(?:key-)?[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_PSEUDONYM = re.compile(r"~[a-z2-7]{26}(?![a-z2-7])")
_QUOTED = 100  # so much of what can't be an id a refusal repeats


def persons_are_under(prefixes: Prefixes) -> None:
    _PREFIXES["persons"] = prefixes


def is_outside(person: str) -> bool:
    """Whether an id may say who somebody is to the world outside."""
    return bool(_ID.fullmatch(person)) and not _NUMBER.fullmatch(person)


def outside_in(text: str) -> list[str]:
    """The ids of a namespace, if it is a person's and they are from outside."""
    return [one for one in _ids(text) if is_outside(one)]


def persons_in(subject: str, detail: Mapping[str, Any]) -> set[str]:
    """Everybody from outside whom an entry names."""
    found: list[str] = []

    def noted(person: str) -> str:
        found.append(person)
        return person

    hidden(subject, detail, noted)
    return set(found)


def hidden(subject: str, detail: Mapping[str, Any], swap: Swap) -> tuple[str, dict[str, Any]]:
    """The same entry with ``swap`` in place of everybody's id from outside."""
    pairs = [("", subject), *_texts(detail)]
    if not _may_name(_prefixes()).search("\n".join(text for _name, text in pairs)):
        return subject, dict(detail)  # nearly every entry: an account's, or of no person
    texts = [subject, *(text for name, text in pairs[1:] if not _is_prose(name, text))]
    known = {one for text in texts for one in _ids(text) if one and not _NUMBER.fullmatch(one)}
    spoken = _spoken_of(known)

    def said(name: str, text: str) -> str:
        return _prose(text, spoken, swap) if _is_prose(name, text) else _swapped(text, swap)

    return _swapped(subject, swap), _each(detail, said)


def revealed(value: Any, names: Mapping[str, str]) -> Any:  # Any: JSON
    """The same with what ``names`` has for a pseudonym; others stay."""
    return _each(value, lambda _name, text: _PSEUDONYM.sub(lambda m: names.get(m[0], m[0]), text))


def pseudonyms_in(value: Any) -> set[str]:  # Any: JSON
    return {one for _name, text in _texts(value) for one in _PSEUDONYM.findall(text)}


def worded(text: str, words: str) -> str:
    """``words`` for every pseudonym that is left, the prefix before it with it."""
    return re.sub(rf"(?:(?:{_any_prefix()}):)?{_PSEUDONYM.pattern}", lambda _m: words, text)


def _ids(text: str) -> list[str]:
    for prefix in _prefixes():
        if text.startswith(f"{prefix}:"):
            return text[len(prefix) + 1 :].split(":")
    return []


def _swapped(text: str, swap: Swap) -> str:
    ids = _ids(text)
    if not ids:
        return text
    rest = ":".join(ids)
    return text[: len(text) - len(rest)] + ":".join(_one(each, swap) for each in ids)


def _one(person: str, swap: Swap) -> str:
    if not person or _NUMBER.fullmatch(person):
        return person
    return swap(person) if is_outside(person) else NO_ID


def _prose(text: str, spoken: Mapping[str, str], swap: Swap) -> str:
    """Ids that the entry names elsewhere, wherever they stand, and whatever follows a person's prefix."""
    asked = "|".join(re.escape(one) for one in sorted(spoken, key=len, reverse=True))
    prefix = rf"(?<![\w-])(?:{_any_prefix()}):"
    known = rf"(?:{prefix}|(?<!\w))(?P<known>{asked})(?!\w)|" if asked else ""

    def swapped(found: re.Match[str]) -> str:
        if asked and found["known"] is not None:
            before = found[0][: -len(found["known"])]
            return before + _one(spoken[found["known"]], swap)
        before = found[0][: -len(found["id"])]
        bare = found["id"].rstrip("'\"’”.,;!?)]}>…")
        return before + _one(bare, swap) + found["id"][len(bare) :]

    return re.sub(rf"{known}{prefix}(?P<id>[^\s:]+)", swapped, text)


def _spoken_of(known: set[str]) -> dict[str, str]:
    """How a refusal may quote each: whole, escaped, or its beginning."""
    found: dict[str, str] = {}
    for one in known:
        for said in (one, one[:_QUOTED]):
            found |= {said: one, repr(said)[1:-1]: one}
    return found


def _is_prose(name: str, text: str) -> bool:
    return name in PROSE or (" " in text and not any(text.startswith(f"{p}:") for p in _prefixes()))


def _each(value: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Mapping):
        return {change("", one): _each(item, change, one) for one, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(item, change, name) for item in value]
    return value


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Each with the name of the field it is the value of."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for one, item in value.items():
            yield "", one
            yield from _texts(item, one)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, name)


@cache
def _may_name(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    """A person's prefix before anything but a number and no more."""
    said = "|".join(re.escape(one) for one in prefixes)
    return re.compile(rf"(?:{said}):(?!{_NUMBER.pattern}(?:\n|\Z))")


def _any_prefix() -> str:
    return "|".join(re.escape(one) for one in _prefixes())


def _prefixes() -> tuple[str, ...]:
    return tuple(_PREFIXES["persons"]())


_PREFIXES: dict[str, Prefixes] = {"persons": lambda: ("user",)}
