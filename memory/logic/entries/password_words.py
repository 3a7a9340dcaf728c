"""Find the sentences in which people write down a password, in a dozen languages.

A value that follows such words is a candidate only: ``secrets`` decides whether it resembles a password.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PasswordWords:
    """The words of a language: names of a password, what may stand between a name and its value, and "now"."""

    names: str
    verbs: str
    qualifiers: str = ""
    adverbs: str = ""
    has_compounds: bool = (
        False  # whether a name may be the end of a longer word, as in Bankpasswort
    )


_FOR_WHAT: Final = r"(?:\s{{1,3}}(?:{})(?:\s{{1,3}}[^\s:=]{{1,20}}){{1,3}}?)?"

# Patterns of regular expressions, written in lower case.
WORDS: Final[dict[str, PasswordWords]] = {
    "en": PasswordWords(
        r"password|passphrase|passcode", r"is|was|=>|(?:is |was )?(?:set|changed) to", "for|of|to|on", "now",
    ),
    "de": PasswordWords(
        r"passw(?:ort|örter|oerter)|kennw(?:ort|örter)|zugangscode|zugangsschlüssel|losungswort",
        "ist|war|lautet|heißt|sind", "für|fürs|von|vom|zum|zur|am", "jetzt|nun", has_compounds=True,
    ),
    "fr": PasswordWords(
        r"mots? de passe|mdp|code secret|code d[’']accès|phrase secrète", "est|était|sont", "du|de|des|pour", "maintenant",
    ),
    "es": PasswordWords(
        r"contrase[ñn]as?|(?:mi|tu|su) clave|clave (?:de acceso|secreta|del? (?:la )?(?:wi-?fi|cuenta|red|router))|clave(?==)",
        "es|era|son", "del|de|para|al", "ahora",
    ),
    "pt": PasswordWords(
        r"senhas?|palavras?[- ]passe|código de acesso", "é|era|são", "do|da|de|para", "agora",
    ),
    "it": PasswordWords(
        r"password|parola d[’']ordine|codice (?:segreto|d[’']accesso)", r"è|e[’']|era", "del|della|di|per", "ora|adesso",
    ),
    "nl": PasswordWords("wachtwoord(?:en)?|toegangscode", "is|was|zijn", "van|voor", "nu", has_compounds=True),
    "pl": PasswordWords("has[łl]o|has[łl]em", "to|jest|jest to", "do|od|dla", "teraz"),
    "ru": PasswordWords("пароль|паролем|код доступа", "[—–-]|это|[—–-] это|был", "от|для|к|на", "теперь"),
    "tr": PasswordWords(r"[şs]ifre(?:miz|m|si)?|parola(?:mız|m|sı)?", "", "", "artık"),
    "ar": PasswordWords("كلمة (?:ال)?(?:مرور|سر)|الرقم السري", "هي|هو", "", "الآن"),
    "fa": PasswordWords("رمز عبور|گذرواژه|پسورد|رمز", "", "", ""),
    "hi": PasswordWords("पासवर्ड|कूटशब्द", "", "", ""),
}  # fmt: skip
# Written without spaces, so that no boundary is before the name, and the value is in ASCII.
UNSPACED: Final[dict[str, PasswordWords]] = {
    "zh": PasswordWords("密码|密碼|口令|密钥|密鑰|令牌|金鑰", "是|为|為|改成了|改为"),
    "ja": PasswordWords("パスワード|パスコード|暗証番号|合言葉", "は"),
    "ko": PasswordWords("비밀번호|비번|패스워드|암호", "는|은|가|이"),
}
# In these languages "my password" needs no verb: "Şifrem Tr0ub4dor&3".
POSSESSIVES: Final = r"[şs]ifrem|parolam|رمز عبورم|پسوردم"
PIN_NAMES: Final = r"pin(?:[- ]?code|[- ]?nummer)?|geheimzahl|code pin|пин-?код|暗証番号|pin码"

# A sign that may separate two fields, or stand inside a password: "Tr0ub4dor&3", but not "hunter22&user=ana".
INNER_SEPARATOR: Final = r"[&,;](?=[^\s\"'])(?![\w.-]{1,40}\s{0,3}[=:])"
_VALUE: Final = rf"(?:[^\s\"'&,;«»“”„，。；、？！،؛]|{INNER_SEPARATOR}){{6,300}}"
_ASCII_VALUE: Final = rf"(?:(?=[!-~])[^\"'&,;]|{INNER_SEPARATOR}){{6,300}}"
_QUOTES: Final = {
    '"': '"',
    "'": "'",
    "»": "«",
    "”": "“„",
    "“": "„",
    "」": "「",
    "’": "‘",
}  # last: first
_SIGNS: Final = r"[\"']?\s{0,3}(?:[:：=]|:=|=>)\s{0,3}"


def build_plain_patterns() -> list[str]:
    """Return the patterns of a name, a sign or verb, and a word that may be a password."""
    patterns = [
        rf"(?i:{_build_name(words)})(?:{_build_links(words)})(?P<secret>{_VALUE})"
        for words in WORDS.values()
    ]
    patterns += [
        rf"(?:{words.names})\s{{0,3}}(?:{_SIGNS}|(?:{words.verbs})\s{{0,3}}[:：]?\s{{0,3}})(?P<secret>{_ASCII_VALUE})"
        for words in UNSPACED.values()
    ]
    return [*patterns, rf"(?i:(?<![^\W_])(?:{POSSESSIVES}))\s{{1,3}}(?P<secret>{_VALUE})"]


def build_quoted_patterns() -> dict[str, str]:
    """Return the patterns of a name, a sign or verb, and a quotation, in which there may be spaces, by its last sign."""
    heads = [rf"(?i:{_build_name(words)})(?:{_build_links(words)})" for words in WORDS.values()]
    heads += [
        rf"(?:{words.names})\s{{0,3}}(?:{_SIGNS}|(?:{words.verbs})\s{{0,3}})"
        for words in UNSPACED.values()
    ]
    head = "|".join(heads)
    return {
        last: rf"(?:{head})[{first}]\s?(?P<secret>[^{first}{last}\n]{{5,299}}[^{first}{last}\n\s])\s?{last}"
        for last, first in _QUOTES.items()
    }


def build_pin_pattern() -> str:
    return (
        rf"(?i:(?<![^\W_])(?:{PIN_NAMES})(?:{_SIGNS}|\s{{0,3}}(?:is|ist|lautet|est|es|é|è|—|は|是)\s{{0,3}}))"
        r"(?P<secret>\d{4,12})(?![A-Za-z0-9_%€$]|[.,:/-]\d)"
    )


def build_name_pattern() -> str:
    """Return the pattern of every name, of a field or in a text."""
    every = (*WORDS.values(), *UNSPACED.values())
    return "|".join([*(words.names for words in every), POSSESSIVES, PIN_NAMES])


def _build_name(words: PasswordWords) -> str:
    """Return the pattern of a name with what it is for."""
    qualifiers = _FOR_WHAT.format(words.qualifiers) if words.qualifiers else ""
    boundary = "" if words.has_compounds else r"(?<![^\W_])"
    return rf"{boundary}(?:{words.names}){qualifiers}"


def _build_links(words: PasswordWords) -> str:
    if not words.verbs:
        return _SIGNS
    adverbs = rf"(?:(?:{words.adverbs})\s{{1,3}})?" if words.adverbs else ""
    return rf"{_SIGNS}|\s{{1,3}}(?i:{words.verbs})\s{{0,3}}:?\s{{1,3}}(?i:{adverbs})"


def is_ordinary_word(text: str) -> bool:
    """Return whether the text is a word, capitalized or not, or several with hyphens, apostrophes or slashes."""
    parts = [part for part in re.split(r"[-'’/]+", text) if part]
    return bool(parts) and all(
        part.isalpha() and part in (part.lower(), part.capitalize()) for part in parts
    )
