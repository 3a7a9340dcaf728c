"""The shapes of secrets: keys with a known form, and values after the word "password" that resemble one.

For card numbers and the like, a check digit or the length decides. No pattern has nested repetition, and every repetition
is bounded.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from memory.logic.entries.password_words import (
    INNER_SEPARATOR,
    build_name_pattern,
    build_pin_pattern,
    build_plain_patterns,
    build_quoted_patterns,
    is_ordinary_word,
)


_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}"  # Discover
    r"|62\d{14,17}"  # UnionPay
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
)

_MIN_PASSWORD_LENGTH = 6
_MIN_DISTINCT_CHARACTERS = 2
_MIN_PASSWORD_CLASSES = 2
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
# Dates, versions, paths and addresses have two classes, too, as hyphenated and capitalized words do.
_ORDINARY_TEXT = re.compile(
    r"[\d.,:/-]+(?:[a-z]{1,2})?"
    r"|v?\d+(?:\.\d+)+"
    r"|https?://\S+"
    r"|(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]*"
)

# The names of fields that contain secrets.
_NAME_PATTERN = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|client[_ -]?secret|secret[_ -]?key"
    r"|api[_ -]?key|apikey"
    r"|access[_ -]?key|(?:access|auth|refresh|bearer|session|id)?[_ -]?token|private[_ -]?key"
    r"|credentials?|pin)"
)
NAME_IN_ANY_LANGUAGE = re.compile(build_name_pattern())  # in lower case
NAME = re.compile(
    rf"(?:[^\W_]+[ _-]){{0,4}}(?:{_NAME_PATTERN}|{NAME_IN_ANY_LANGUAGE.pattern})", re.IGNORECASE
)
_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9_-])"


@dataclass(frozen=True, slots=True)
class SecretShape:
    """How the secrets of one kind look; a pattern may name the part that is secret ``secret``."""

    kind: str
    text: str  # of the pattern
    is_valid: Callable[[str], bool] = lambda _text: True
    sign: str = ""  # which every match contains

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compile(self.text)


@cache
def _compile(text: str) -> re.Pattern[str]:
    """Compile a pattern when a first text is searched: most commands start without searching any."""
    return re.compile(text)


def _is_valid_card(text: str) -> bool:
    """Check issuer, length and check digit; otherwise one long number in ten would pass for a card."""
    digits = [int(character) for character in text if character.isascii() and character.isdigit()]
    if len(set(digits)) == 1 or not _ISSUERS.fullmatch("".join(map(str, digits))):
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_real_value(text: str) -> bool:
    """Return whether the text is long and varied enough for a secret, and no placeholder."""
    plain = text.strip("\"'`")
    has_variety = len(plain) >= _MIN_PASSWORD_LENGTH and len(set(plain)) > _MIN_DISTINCT_CHARACTERS
    return has_variety and not _PLACEHOLDER.match(plain)


def _is_likely_password(text: str) -> bool:
    """Return whether a word in running text is a password rather than the sentence's next word."""
    plain = text.strip("\"'`.,;:!?。，；：！？)")
    if not is_real_value(plain):
        return False
    kinds = (str.isdigit, str.islower, str.isupper, lambda character: not character.isalnum())
    classes = sum(any(map(kind, plain)) for kind in kinds)
    is_ordinary = is_ordinary_word(plain) or _ORDINARY_TEXT.fullmatch(plain)
    return classes >= _MIN_PASSWORD_CLASSES and not is_ordinary


def _is_likely_phrase(text: str) -> bool:
    """Return whether a quotation is a password rather than a message about one."""
    return _is_likely_password("".join(text.split()))


def _is_varied_number(text: str) -> bool:
    return len(set(text)) > 1


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


SECRET_SHAPES: Final = (
    SecretShape(
        "private key",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        # up to the next line of dashes, or to the end of a truncated key
        r"(?:[^-]"
        r"|-(?!----)){0,20000}(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    SecretShape("JWT", rf"{_START}eyJ[\w-]{{8,2000}}\.[\w-]{{8,4000}}\.[\w-]{{10,1000}}{_END}"),
    SecretShape("AWS key", rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    SecretShape("API key", rf"{_START}sk-(?:[a-z]{{2,10}}-){{0,2}}[\w-]{{16,300}}", _has_digit),
    SecretShape("API key", rf"{_START}(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{{16,200}}{_END}"),
    SecretShape("API key", rf"{_START}AIza[\w-]{{35}}{_END}"),
    SecretShape("API key", rf"{_START}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}{_END}"),
    SecretShape(
        "API key",
        rf"{_START}(?:hf|gsk|r8|nvapi|xai|pplx|dop_v1|shpat|lin_api|ntn)[_-][\w-]{{24,200}}",
        _has_digit,
    ),
    SecretShape("access token", rf"{_START}gh[pousr]_[A-Za-z0-9]{{30,255}}{_END}"),
    SecretShape("access token", rf"{_START}github_pat_[A-Za-z0-9_]{{22,255}}{_END}"),
    SecretShape("access token", rf"{_START}gl(?:pat|dt|rt|cbt)-[\w-]{{20,100}}"),
    SecretShape("access token", rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,250}}"),
    SecretShape("access token", rf"{_START}xapp-\d-[A-Za-z0-9-]{{10,250}}"),
    SecretShape("access token", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    SecretShape("access token", rf"{_START}pypi-[\w-]{{50,300}}"),
    SecretShape("access token", rf"{_START}\d{{8,10}}:AA[\w-]{{32,36}}{_END}"),
    SecretShape("access token", rf"{_START}ya29\.[\w-]{{20,500}}"),
    SecretShape("secret address", r"https://hooks\.slack\.com/services/[\w/]{20,120}"),
    SecretShape(
        "secret address",
        r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{5,25}/[\w-]{20,120}",
    ),
    SecretShape(
        "password in an address",
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@?#\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{1,200})@",
        lambda text: not text.startswith(("<", "$", "{", "*")),
    ),
    SecretShape(
        "access token",
        r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic"
        r"|token)\s{1,3})(?P<secret>[\w.~+/=-]{8,4000})",
    ),
    SecretShape(
        "access token",
        r"(?i:\bbearer)\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})",
        _has_digit,
    ),
    SecretShape(
        "account key", r"(?i:\b(?:Account|SharedAccess)Key)=(?P<secret>[A-Za-z0-9+/=]{20,200})"
    ),
    *(
        SecretShape(
            "password",
            rf"(?i:(?<![A-Za-z0-9]){_NAME_PATTERN})[\"']?\s{{0,3}}(?:[:=]|=>"
            rf"|:=)\s{{0,3}}{quote}(?P<secret>[^{quote}\n]{{6,300}}){quote}",
            is_real_value,
        )
        for quote in "\"'"
    ),
    SecretShape(
        "password",
        rf"(?i:(?<![A-Za-z0-9]){_NAME_PATTERN})\s{{0,3}}(?:[:=]|:=|\bis\b"
        rf"|was\b)\s{{0,3}}(?P<secret>(?:[^\s\"'&,;]|{INNER_SEPARATOR}){{6,300}})",
        _is_likely_password,
    ),
    SecretShape("card number", r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-]|\.\d)", _is_valid_card),
)
# Only for texts in which a password is named, since there are many languages.
PASSWORD_SHAPES: Final = (
    *(SecretShape("password", text, _is_likely_password) for text in build_plain_patterns()),
    *(
        SecretShape("password", text, _is_likely_phrase, sign)
        for sign, text in build_quoted_patterns().items()
    ),
    SecretShape("password", build_pin_pattern(), _is_varied_number),
)
