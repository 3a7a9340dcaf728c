"""Find what of a message somebody else said: quoted speech, the lines of a pasted chat, and what is only played.

"My favourite book is “I, Robot”" quotes nobody, and neither does "Call me “Ana”": a quotation is of a whole clause, and a word
for speaking, a comma or a colon stands beside it, or nothing at all.
"""

import re
from collections.abc import Sequence
from typing import Final

from memory.logic.judgement.wording.scripts import UNSPACED


MIN_WORDS: Final = 3  # of a quoted clause
MIN_CHARACTERS: Final = 4  # … where words have no spaces between them
MAX_LABEL: Final = 3  # words of a name in a chat
MAX_BESIDE: Final = 200  # characters before and after a quotation that say whose words it has

_QUOTATION: Final = re.compile(
    '"(?P<a>[^"\\n]+)"|“(?P<b>[^”\\n]+)”|„(?P<c>[^“”\\n]+)[“”]|«(?P<d>[^»\\n]+)»|「(?P<e>[^」\\n]+)」|『(?P<f>[^』\\n]+)』'
)
_SAYING: Final = (
    r"say(?:s|ing)?|said|told|wrote|writes|asked|asks|replied|answered|texted|sagt\w*|meint\w*|schreibt|schrieb|fragt\w*|"
    r"dit|disait|écrit|demande|répond\w*|dice|dicen|dijo|escribió|preguntó|disse|diz|escreveu|perguntou|ha detto|diceva|scrive|"
    r"zei|zegt|schreef|vroeg|mówi|powiedział\w*|napisał\w*|сказал\w*|говорит|написал\w*|спросил\w*|"
    r"dedi|diyor|yazdı|sordu|قال|قالت|يقول|تقول|كتب|كتبت|พูดว่า|บอกว่า|เขียนว่า|ถามว่า"
)
_UNSPACED_SAYING: Final = (
    r"[说說道问問写寫讲講][：:，,]?|と(?:言|い|話|書|聞|述)|って(?:言|い)|(?:이)?라고|하고"
)
# What is quoted from a song, a film or a book is no fact either, but whoever names it says so otherwise.
_BEFORE: Final = re.compile(
    rf"(?:^|[.!?。！？…]\s*|[:：,，、]\s*|\b(?:{_SAYING})\s*|(?:{_UNSPACED_SAYING})\s*)$",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    rf"^\s*(?:[,，、–—-]|(?:[^\W\d_]+\s+){{0,3}}(?:{_SAYING})\b|[^，。]{{0,6}}(?:{_UNSPACED_SAYING})|[.!?。]*\s*$)",
    re.IGNORECASE,
)
# The speaker's own words, which they repeat: "I told them: “I live in Oslo”".
_OWN: Final = re.compile(
    rf"(?:\b(?:i|ich|je|j'ai|yo|eu|io|ik|ja|я)\s+(?:\w+\s+)?(?:{_SAYING})|[我私僕俺][^，。]{{0,4}}[说說道])\W*$",
    re.IGNORECASE,
)

# "[12:03] Ben: I'm in Oslo", "Ana (10:15): me too", "小王：我在上海".
_CHAT_LINE: Final = re.compile(
    r"^[ \t]{0,3}(?:\[[^\]\n]{3,25}\][ \t]{0,3}|\d{1,2}[:.]\d\d(?::\d\d)?[ \t]{0,3}[-–]?[ \t]{0,3})?"
    r"(?P<name>[^\W\d_][\w'. -]{0,30}?)[ \t]{0,3}(?:\([\d:. apmAPM]+\))?[ \t]{0,3}[:：](?!//)[ \t]{0,3}(?P<words>\S.*)$"
)
_OF_CHATTER: Final = re.compile(
    r"\b(?:i|i'm|my|we|you|your|ich|mein\w*|wir|du|dein\w*|je|j'\w+|mon|ma|nous|tu|ton|yo|mi|soy|tengo|vivo|eu|meu|minha|moro|io|mio|mia|sono|"
    r"abito|ik|mijn|wij|jij|jouw|ja|mój|moja|mam|ty|я|мой|моя|у меня|мы|ты|ben|benim|sen|biz|أنا|أنت|أسكن)\b"
    r"|[我你咱私僕俺]|[내제나저]\s?|우리|ฉัน|ผม|เรา|คุณ",
    re.IGNORECASE,
)
_ME: Final = re.compile(
    r"(?:me|i|ich|moi|yo|eu|io|ik|ja|я|ben|أنا|ฉัน|ผม|我|私|나|저)$", re.IGNORECASE
)

_PLAYED: Final = re.compile(
    r"^(?:(?:please|now|ok(?:ay)?|bitte|por favor|s'il te pla[iî]t|per favore)[,\s]+)*(?:"
    r"(?:let's |let us )?(?:pretend|role[ -]?play)\b|imagine(?! that[.!]?$)(?: that)? (?:i|we|you|my)\b|act as (?:if|though)\b"
    r"|let's (?:say|assume|suppose|imagine)\b|suppose (?:that )?(?:i|we|my)\b|in this (?:story|game|scene|role)\b"
    r"|tu(?:n wir)? (?:mal )?so,? als\b|stell dir (?:mal )?vor\b|nehmen wir (?:mal )?an\b|angenommen\b|spielen wir\b"
    r"|finge que\b|fingamos\b|imagin[ae] que\b|supongamos\b|haz como si\b|digamos que\b"
    r"|fai[st]? comme si\b|faisons comme si\b|imagine[zr]? que\b|supposons\b|disons que\b"
    r"|finja que\b|finge que\b|imagine que\b|suponhamos\b|vamos fingir\b|faz de conta\b"
    r"|fa(?:i|cciamo) finta\b|immagina (?:che|di)\b|supponiamo\b|mettiamo che\b"
    r"|doe alsof\b|stel(?: je)? voor\b|laten we (?:doen alsof|aannemen)\b|stel dat\b"
    r"|udawaj\w*\b|wyobraź sobie\b|załóżmy\b|powiedzmy,? że\b|представь(?:те)?\b|притворись\b|допустим\b|предположим\b|давай(?:те)? (?:представим|притворимся)\b"
    r"|(?:diyelim|farz edelim) ki\b|hayal et\b|تخيل\b|تظاهر\b|لنفترض\b|افترض\b)"
    r"|^(?:请|請)?(?:你)?(?:假装|假裝|假设|假設|想象一下|想像一下|扮演)|^(?:สมมติ|แกล้ง|ลองนึก)|^(?:仮に|もしも?)"
    r"|(?:ふりをして|ふりして|と想像して|としましょう|と仮定)(?:ください|くれ|ね)?[。.!]?$"
    r"|(?:farz et|varsay|gibi yap)(?:in|ın|alım|elim)?[.!]?$|(?:척해|척하자|고 (?:가정|상상|치자))\S*(?: ?줘)?[.!]?$",
    re.IGNORECASE,
)


def remove_chat(text: str) -> str:
    """Return the text without the lines of a chat that is pasted into it.

    Lines of two people or more, of whom one speaks of themselves, are a chat; "Name: Ana" and "Diet: vegan" are none. What
    the person says in it under "Me" is kept.
    """
    matches = [_CHAT_LINE.match(line) for line in text.split("\n")]
    lines = [match for match in matches if match and len(match["name"].split()) <= MAX_LABEL]
    names = {match["name"].casefold() for match in lines}
    if len(names) < 2 or not any(_OF_CHATTER.search(match["words"]) for match in lines):
        return text
    removed = {match.string: match["words"] if _ME.match(match["name"]) else "" for match in lines}
    return "\n".join(removed.get(line, line) for line in text.split("\n"))


def remove_quotations(text: str) -> str:
    """Return the text without the sentences that say what somebody else said, word for word."""
    return "\n".join(map(_remove_from_line, text.split("\n")))


def _remove_from_line(line: str) -> str:
    start, parts = 0, []
    for match in _QUOTATION.finditer(line):
        before, after = line[start : match.start()], line[match.end() :]
        if not _is_speech(match, before[-MAX_BESIDE:], after[:MAX_BESIDE]):
            continue
        parts.append(_cut_last_sentence(before))
        start = match.end() + _measure_sentence(after)
    return " ".join([*filter(None, parts), line[start:]]) if parts else line


def _is_speech(match: re.Match[str], before: str, after: str) -> bool:
    words = next(filter(None, match.groups()))
    is_clause = len(words.split()) >= MIN_WORDS or (
        len(words) >= MIN_CHARACTERS and UNSPACED.search(words) is not None
    )
    is_beside = _BEFORE.search(before) and (before.strip() or _AFTER.search(after))
    is_before_verb = re.match(rf"\s*(?:{_UNSPACED_SAYING})", after)
    return is_clause and bool(is_beside or is_before_verb) and not _OWN.search(before)


def _cut_last_sentence(text: str) -> str:
    """Return the text up to the sentence that ends with a quotation."""
    ends = [*re.finditer(r"[.!?。！？…]\s*", text)]
    return text[: ends[-1].end()].strip() if ends else ""


def _measure_sentence(text: str) -> int:
    """Return the number of characters up to the end of the sentence, which goes on after a quotation."""
    if re.match(r"\s*(?:$|[A-ZÀ-ÞА-Я](?!\w*\s+(?:" + _SAYING + r")\b))", text):
        return 0
    end = re.search(r"[.!?。！？…]", text)
    return end.end() if end else len(text)


def leave_out_played(sentences: Sequence[str]) -> list[str]:
    """Return the sentences before one that begins a play or a supposition: what follows belongs to it."""
    played = next((n for n, text in enumerate(sentences) if _PLAYED.search(text)), None)
    return [*sentences[:played]]
