"""Secrets in a text, found by their shape, so that none is remembered or sent to a model.

Shapes first, words second: a key that looks like one is found anywhere; what merely follows
"password:" has to look like a secret, too, or every form with such a field would be blotted out.
A check digit or a length decides where there is one. Patterns are written so that a long text
costs one pass: no nested repetition, every repetition bounded.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memory.core.records import Json


_SHORTEST = 4  # a secret of three letters would blank out half of every text


@dataclass(frozen=True, slots=True)
class Secret:
    """Where it stands and what it looks like; never the secret itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    value: Json
    kinds: tuple[str, ...]  # each once, in order


def find_secrets(text: str, known: Iterable[str] = ()) -> tuple[Secret, ...]:
    """Find secrets in order, without overlaps.

    ``known`` are secrets that are live here, in every form in which they may appear, whatever they look like.
    """
    found = [
        Secret("known secret", *span)
        for form in known
        if len(form) >= _SHORTEST
        for span in _find_all(form, text)
    ]
    for shape in _SHAPES:
        for match in shape.pattern.finditer(text):
            group = "secret" if "secret" in shape.pattern.groupindex else 0
            if shape.holds(match[group]):
                found.append(Secret(shape.kind, *match.span(group)))
    return _without_overlaps(found)


def redact(text: str, known: Iterable[str] = ()) -> Redacted:
    """Each secret is replaced by its kind, so that the sentence round it stays readable."""
    parts, at = [], 0
    secrets = find_secrets(text, known)
    for secret in secrets:
        parts += [text[at : secret.start], f"[redacted: {secret.kind}]"]
        at = secret.end
    return Redacted("".join([*parts, text[at:]]), _each_once(one.kind for one in secrets))


def redact_json(value: Json, known: Iterable[str] = ()) -> Redacted:
    """Texts anywhere in a value, names included; what stands under a telling name goes whole."""
    known = tuple(known)
    kinds: list[str] = []

    def clean(one: Json) -> Json:
        if isinstance(one, str):
            done = redact(one, known)
            kinds.extend(done.kinds)
            return done.value
        if isinstance(one, Mapping):
            return {clean(name): member(name, inner) for name, inner in one.items()}
        if isinstance(one, list | tuple):
            return [clean(inner) for inner in one]
        return one

    def member(name: str, inner: Json) -> Json:
        if isinstance(inner, str) and _SECRET_NAME.fullmatch(name) and _is_no_placeholder(inner):
            kinds.append("password")
            return "[redacted: password]"
        return clean(inner)

    return Redacted(clean(value), _each_once(kinds))


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = lambda _: True


def _find_all(form: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + len(form))


def _without_overlaps(found: Iterable[Secret]) -> tuple[Secret, ...]:
    """Of two that overlap the one that starts first, then the longer."""
    kept: list[Secret] = []
    for one in sorted(found, key=lambda secret: (secret.start, -secret.end, secret.kind)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
        elif one.end > kept[-1].end:
            kept[-1] = Secret(kept[-1].kind, kept[-1].start, one.end)
    return tuple(kept)


def _each_once(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kinds))


def _passes_luhn(text: str) -> bool:
    digits = [int(one) for one in text if one.isascii() and one.isdigit()]
    if not _is_card_number("".join(map(str, digits))):
        return False
    doubled = [sum(divmod(2 * one, 10)) for one in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_card_number(digits: str) -> bool:
    """By issuer and length, or one long number in ten would pass for a card."""
    return len(set(digits)) > 1 and _ISSUERS.fullmatch(digits) is not None


_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}"  # Discover
    r"|62\d{14,17}"  # UnionPay
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
)


def _is_no_placeholder(text: str) -> bool:
    """Something a program would accept as a secret, rather than a word about one."""
    plain = text.strip("\"'`")
    if len(plain) < _SHORTEST_PASSWORD or _PLACEHOLDER.match(plain):
        return False
    return len(set(plain)) > _FEWEST_CHARACTERS


def _looks_chosen(text: str) -> bool:
    """A password in running text: not a plain word, which would be the next of the sentence."""
    plain = text.strip("\"'`.,;:!?。，；：！？)")
    if not _is_no_placeholder(plain):
        return False
    kinds = (str.isdigit, str.islower, str.isupper, lambda one: not one.isalnum())
    classes = sum(any(map(kind, plain)) for kind in kinds)
    return classes >= _CLASSES_IN_A_PASSWORD and not _ORDINARY.fullmatch(plain)


_SHORTEST_PASSWORD = 6
_FEWEST_CHARACTERS = 2
_CLASSES_IN_A_PASSWORD = 2
_PLACEHOLDER = re.compile(
    r"""
    [<\[({$%*#] | x{4,} | \.{3} | \*
    | (?: your | my | the | example | placeholder | changeme | change_me | required | optional
        | redacted | string | none | null | true | false | undefined | missing | invalid | expired
        | os\.environ | os\.getenv | process\.env | env\. | getenv | settings\. | config\. | self\.
      ) (?: \b | _ | - )
    | \w+\( | \w+\[
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Hyphenated and capitalised words, dates, versions, paths and addresses have two classes, too.
_ORDINARY = re.compile(
    r"[A-Z]?[a-z]+(?:[-'’/][A-Za-z]+)*"
    r"|[\d.,:/-]+(?:[a-z]{1,2})?"
    r"|v?\d+(?:\.\d+)+"
    r"|https?://\S+"
    r"|(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]*"
)

_NAMES = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|client[_ -]?secret|secret[_ -]?key"
    r"|api[_ -]?key|apikey"
    r"|access[_ -]?key|(?:access|auth|refresh|bearer|session|id)?[_ -]?token|private[_ -]?key"
    r"|credentials?|pin)"
)
_SECRET_NAME = re.compile(rf"(?:[a-z0-9]+[_-]){{0,4}}{_NAMES}|密码|口令|密钥|令牌", re.IGNORECASE)
_EDGE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9_-])"


def _shape(kind: str, pattern: str, holds: Callable[[str], bool] = lambda _: True) -> _Shape:
    return _Shape(kind, re.compile(pattern), holds)


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


_SHAPES = (
    _shape(
        "private key",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        # up to the next line of dashes, or to the end of a key that was cut
        r"(?:[^-]"
        r"|-(?!----)){0,20000}(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    _shape("JWT", rf"{_EDGE}eyJ[\w-]{{8,2000}}\.[\w-]{{8,4000}}\.[\w-]{{10,1000}}{_END}"),
    _shape("AWS key", rf"{_EDGE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    _shape("API key", rf"{_EDGE}sk-(?:[a-z]{{2,10}}-){{0,2}}[\w-]{{16,300}}", _has_digit),
    _shape("API key", rf"{_EDGE}(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{{16,200}}{_END}"),
    _shape("API key", rf"{_EDGE}AIza[\w-]{{35}}{_END}"),
    _shape("API key", rf"{_EDGE}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}{_END}"),
    _shape(
        "API key",
        rf"{_EDGE}(?:hf|gsk|r8|nvapi|xai|pplx|dop_v1|shpat|lin_api|ntn)[_-][\w-]{{24,200}}",
        _has_digit,
    ),
    _shape("access token", rf"{_EDGE}gh[pousr]_[A-Za-z0-9]{{30,255}}{_END}"),
    _shape("access token", rf"{_EDGE}github_pat_[A-Za-z0-9_]{{22,255}}{_END}"),
    _shape("access token", rf"{_EDGE}gl(?:pat|dt|rt|cbt)-[\w-]{{20,100}}"),
    _shape("access token", rf"{_EDGE}xox[abeoprs]-[A-Za-z0-9-]{{10,250}}"),
    _shape("access token", rf"{_EDGE}xapp-\d-[A-Za-z0-9-]{{10,250}}"),
    _shape("access token", rf"{_EDGE}npm_[A-Za-z0-9]{{36}}{_END}"),
    _shape("access token", rf"{_EDGE}pypi-[\w-]{{50,300}}"),
    _shape("access token", rf"{_EDGE}\d{{8,10}}:AA[\w-]{{32,36}}{_END}"),
    _shape("access token", rf"{_EDGE}ya29\.[\w-]{{20,500}}"),
    _shape("secret address", r"https://hooks\.slack\.com/services/[\w/]{20,120}"),
    _shape(
        "secret address",
        r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{5,25}/[\w-]{20,120}",
    ),
    _shape(
        "password in an address",
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@?#\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{1,200})@",
        lambda text: not text.startswith(("<", "$", "{", "*")),
    ),
    _shape(
        "access token",
        r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic"
        r"|token)\s{1,3})(?P<secret>[\w.~+/=-]{8,4000})",
    ),
    _shape(
        "access token", r"(?i:\bbearer)\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})", _has_digit
    ),
    _shape("account key", r"(?i:\b(?:Account|SharedAccess)Key)=(?P<secret>[A-Za-z0-9+/=]{20,200})"),
    _shape(
        "password",
        rf"(?i:(?<![A-Za-z0-9]){_NAMES})[\"']?\s{{0,3}}(?:[:=]|=>"
        rf"|:=)\s{{0,3}}\"(?P<secret>[^\"\n]{{6,300}})\"",
        _is_no_placeholder,
    ),
    _shape(
        "password",
        rf"(?i:(?<![A-Za-z0-9]){_NAMES})[\"']?\s{{0,3}}(?:[:=]|=>"
        rf"|:=)\s{{0,3}}'(?P<secret>[^'\n]{{6,300}})'",
        _is_no_placeholder,
    ),
    _shape(
        "password",
        rf"(?i:(?<![A-Za-z0-9]){_NAMES})\s{{0,3}}(?:[:=]|:=|\bis\b"
        rf"|was\b)\s{{0,3}}(?P<secret>[^\s\"'&,;]{{6,300}})",
        _looks_chosen,
    ),
    _shape(
        "password",
        r"(?:密码|口令|密钥|令牌)\s{0,3}(?:[:：=]|是|为)\s{0,3}[\"'“]?(?P<secret>[!-~]{6,300})",
        _looks_chosen,
    ),
    _shape("card number", r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-]|\.\d)", _passes_luhn),
)
