"""Split what a person wrote into sentences and clauses, in any language, and leave out what others wrote.

Where a sentence may be split is told from punctuation and from the words for *and* and *but*. Whether it is split is
decided by the judgement of both halves (``memory.logic.judgement.turns``), so a place too many here does no harm.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from memory.logic.judgement.wording.quotations import remove_chat, remove_quotations


MAX_SENTENCES: Final = 40  # of one message; who pastes a book tells nothing about themselves
MAX_LENGTH: Final = (
    500  # characters of a sentence; longer ones are rarely facts, and cost tokens in each prompt
)
MAX_CLAUSES: Final = 6  # of one sentence

_CODE_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE: Final = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_HEADER: Final = (
    r"(?:from|to|cc|bcc|subject|date|sent|reply-to|von|an|betreff|datum|gesendet|de|à|objet|envoyé|para|asunto|fecha|"
    r"enviado|assunto|data|da|a|oggetto|inviato|van|aan|onderwerp|verzonden|od|do|temat|wysłano|от|кому|тема|дата|"
    r"kimden|kime|konu|tarih|发件人|收件人|主题|日期|抄送|寄件者|主旨|差出人|宛先|件名|보낸사람|받는사람|제목|من|إلى|الموضوع)"
)
_SUBJECT: Final = "@|subject|betreff|objet|asunto|assunto|oggetto|onderwerp|temat|тема|konu|主题|主旨|件名|제목|الموضوع"
# A pasted mail: two lines of its head or more, and all that follows, up to a line of dashes. Where it ends otherwise
# can't be told, and a fact that is missed does less harm than one about somebody else.
_MAIL: Final = re.compile(
    rf"^(?=(?:[^\n]+\n){{0,5}}?[^\n]*(?:{_SUBJECT}))[ \t]*{_HEADER}[ \t]*[:：][^\n]*\n(?:[ \t]*{_HEADER}[ \t]*[:：][^\n]*(?:\n|\Z))+.*?(?:^[ \t]*[-=_*]{{3,}}[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
# A line that only a program or a log has.
_CODE_LINE: Final = re.compile(
    r"^\s*(?:(?:def|class|import|from|return|const|let|var|function|public|SELECT|INSERT|UPDATE)\b.*[;:({*]"
    r"|(?:at )?[\w.]+\(.*\)\s*;?|.*[{};]|<[^>]+>.*|\$ .*|Traceback .*|\s*File \".*"
    r"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.*|\[?(?:DEBUG|INFO|TRACE|WARN)\b.*|Step \d+ of \d+\b.*)\s*$",
    re.MULTILINE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…؟])[\"'”’»)]*\s+|(?<=[。！？])[」』”’）]*\s*|\n+")
# An abbreviation or an initial doesn't end a sentence: "Dr. Chen", "J. Doe", "z. B.".
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:\w|[A-Z][a-z]{1,2}|e\.g|i\.e|etc|bzw|ca|approx)\.$"
)
_SIGNS: Final = ",;:،؛、，；："
_WORDS: Final = (
    r"and|but|so|und|aber|y|pero|et|mais|e|ed|ma|però|mas|en|maar|i|ale|oraz|и|но|а|ve|ama|و|لكن|และ|แต่|"
    r"而且|并且|並且|但是?|还|還|そして|でも|그리고|하지만"
)
# Words that mean *and* in one language and something else in another: Dutch "en" is Spanish "in".
_UNSURE_WORDS: Final = frozenset({"en", "i", "e", "a", "so", "ma"})
# Of them, those that may begin a clause, too, after a sign.
_KEPT_WORDS: Final = frozenset({"en", "i", "so", "ma"})
# A sentence that begins so is English, in which "i" is the speaker.
_ENGLISH: Final = re.compile(r"(?:i|i'm|my|we|hi|hey|hello)\b", re.IGNORECASE)
# A capital I is the speaker in English, and no Polish *and*.
_WORD: Final = rf"(?!(?-i:I)\b)(?:{_WORDS})"
_UNSPACED_WORD: Final = "(?:而且|并且|並且|但是)"  # which no space need follow
_MARK: Final = rf"\s*[,;:،؛、，；：]\s*(?:(?:{_WORD})\s+|{_UNSPACED_WORD})?|\s+[-–—]+\s+"
_MARKS: Final = re.compile(_MARK, re.IGNORECASE)
# With the words for *and* and *but*, some of which mean something else in another language. In Thai a space does.
_MARKS_AND_WORDS: Final = re.compile(
    rf"{_MARK}|\s+{_WORD}\s+|\s+و(?=\w)|(?<=[\u0e00-\u0e7f])\s*(?:และ|แต่)|(?<=[\u4e00-\u9fff]){_UNSPACED_WORD}"
    r"|(?<=[\u0e00-\u0e7f])\s+(?=(?:ฉัน|ดิฉัน|ผม|เรา|หนู))"
    r"|(?<=[ぁ-んァ-ヶ一-龠])(?:で、|て、|し、|が、)|(?<=[가-힣])(?:고|며)\s+",
    re.IGNORECASE,
)
# Who does something together with the speaker is no clause: "My dog Rex and I live in Bonn", "Mein Mann und ich".
_COMPANION: Final = re.compile(
    r"(?i:(?:(?:il|la|o|a)\s+)?(?:my|our|mein\w*|unser\w*|mon|ma|notre|mi|nuestr[oa]|meu|minha|mio|mia|mijn|onze|mój|moja|мой|моя)\s)"
    r"[^\W\d_]+(?:\s+[A-ZÀ-ÞŁŚŻА-Я][^\W\d_]*)?"
)
_SPEAKER: Final = re.compile(r"(?:I|ich|je|moi|yo|eu|io|ik|ja|я|i)\b")
_LAST_WORD: Final = re.compile(r"[^\W_]+(?=\s*$)")
_VERB_END: Final = re.compile(r"(?:で|て|し|が)、|(?:고|며)\s+")
# A clause with one of these says itself whom it is about.
_OF_SPEAKER: Final = re.compile(
    r"\b(?:i|me|my|mine|we|ours?|ich|mich|mir|mein\w*|wir|uns|unser\w*|je|j|moi|mon|ma|nous|notre|nos|yo|mis?|nosotr[oa]s|nuestr[oa]s?|"
    r"eu|meus?|minhas?|noss[oa]s?|io|mio|mia|miei|mie|noi|nostr[oaie]|ik|mijn|wij|ons|onze|mój|moja|moje|moi[mch]|nasz\w*|"
    r"я|меня|мне|мой|моя|моё|мои|моей|мы|нас|наш\w*|benim|biz|bizim|أنا|نحن)\b"
    r"|[我咱私僕俺]|うち|(?:^|\s)(?:나|저|내|제|우리|저희)(?:[는가의도를]?\s)|ฉัน|ผม|เรา",
    re.IGNORECASE,
)
# Where these begin a sentence, a later clause about the speaker may leave them out. It leaves out more after a verb that
# only says what they are: "I am Ana, a nurse".
_PRONOUN: Final = re.compile(r"(?:I(?! am\b)|Ich(?! bin\b)|Je(?! suis\b)|Ik(?! ben\b)|Я)\s|我们?")
# … unless it begins with a verb: "I'm Ana, live in Bonn".
_TO_BE: Final = re.compile(r"(I)(?: am|'m)\b")
_VERB: Final = re.compile(
    r"(?:am|have|live|work|love|like|hate|speak|study|come|own|play|drink|eat|need|prefer|use)\s"
)
_REMEMBER: Final = re.compile(
    r"^(?:(?:please|pls)[,\s]+)?(?:(?:remember|note|keep in mind|don't forget|do not forget)(?!\s+to\b)(?:\s+that\b|\s*[:,])?\s+"
    r"|for the record[:,\s]+|fyi[:,\s]+|by the way[:,\s]+|btw[:,\s]+)"
    # Not in languages whose verb would stand at the end then.
    r"|^(?:n'oublie[zr]? (?:surtout )?pas que|no (?:te |se )?olvid\w+ (?:de )?que|não (?:te |se )?esque\w+ (?:de )?que"
    r"|non (?:ti )?(?:dimentic|scord)\w+ che|nie zapom\w+,? że|не забуд\w+,? что|не забывай\w*,? что|لا تنسَ? أن)\s+"
    r"|^(?:请|麻烦)?(?:帮我|你)?(?:要)?(?:记住|记下|记一下|别忘了)[:：,，\s]*",
    re.IGNORECASE,
)

_GREETING_WORDS: Final = (
    r"hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|hallo|guten (?:morgen|tag|abend)|servus|moin|"
    r"bonjour|bonsoir|salut|hola|buen[oa]s (?:d[ií]as|tardes|noches)|olá|oi|bom dia|boa (?:tarde|noite)|"
    r"ciao|buon ?giorno|buona ?sera|hoi|goeden?(?:dag|morgen|avond)|cześć|hej|dzień dobry|dobry wieczór|"
    r"привет|здравствуй(?:те)?|добрый (?:день|вечер)|доброе утро|merhaba|selam|günaydın|مرحبا|السلام عليكم|"
    r"สวัสดี(?:ครับ|ค่ะ|คะ)?|你好|您好|大家好|嗨|早上好|晚上好|こんにちは|こんばんは|おはよう(?:ございます)?|안녕하세요|안녕"
)
# A greeting tells nothing, and kept before a fact it would keep the sentence from being split: "Hi, my name is Ana and I
# live in Bonn". A sign ends it, or else English that begins with the speaker.
_GREETING: Final = re.compile(
    rf"^(?:{_GREETING_WORDS})(?:\s+(?:there|all|everyone|everybody|again|zusammen|à tous|a todos|a tutti|allemaal))?"
    r"(?:\s*[,;:!.،؛、，；：！。~]+\s*|\s+[–—-]+\s+|\s+(?=(?-i:I)\b|my\b|we\b))(?=\w)",
    re.IGNORECASE,
)


def remove_foreign_text(text: str) -> str:
    """Return the text without code, pasted mails and chats, quotations and lines of a program: the person's own words."""
    plain = _replace(text, (_CODE_BLOCK, _MAIL, _QUOTED_LINE, _CODE_LINE))
    return remove_quotations(remove_chat(plain))


def remove_code(text: str) -> str:
    """Return the text without code and lines of a program."""
    return _replace(text, (_CODE_BLOCK, _CODE_LINE))


def split_sentences(text: str) -> list[str]:
    """Return the person's own sentences, at most ``MAX_SENTENCES``."""
    sentences: list[str] = []
    start = 0
    plain = remove_foreign_text(text).replace("’", "'")
    for match in _SENTENCE_END.finditer(plain):
        part = plain[start : match.start()].strip()
        if part and "\n" not in match[0] and _ABBREVIATION.search(part):
            continue
        sentences += [part] if part else []
        start = match.end()
    last = plain[start:].strip()
    return [*sentences, *([last] if last else [])][:MAX_SENTENCES]


def remove_introduction(sentence: str) -> str:
    """Return the sentence without a beginning such as "Hello" or "Please remember that"."""
    fact = _REMEMBER.sub("", _GREETING.sub("", sentence, count=1), count=1).strip()
    return fact[:1].upper() + fact[1:] if fact and fact != sentence else sentence


def list_splits(sentence: str) -> list[list[str]]:
    """Return the ways to split the sentence: at its marks, and at the words for *and* and *but*, all or the sure ones."""
    all_parts = (
        [*_iterate_parts(sentence, _MARKS, _UNSURE_WORDS)],
        [*_iterate_parts(sentence, _MARKS_AND_WORDS, _UNSURE_WORDS)],
        [*_iterate_parts(sentence, _MARKS_AND_WORDS)],
    )
    splits: list[list[str]] = []
    for parts in all_parts:
        if 1 < len(parts) <= MAX_CLAUSES and parts not in splits:
            splits.append(parts)
    return splits


def names_speaker(clause: str) -> bool:
    return _OF_SPEAKER.search(clause) is not None


def begins_with_verb(clause: str) -> bool:
    """Return whether the clause begins with an English verb whose subject is left out."""
    return _VERB.match(clause) is not None


def repeat_subject(first: str, clause: str) -> str:
    """Return the clause with the "I" that begins the first clause of its sentence, or an empty text if it needs none."""
    may_begin_with_verb = clause[:1].isalpha() and not clause[:1].isupper()
    if not may_begin_with_verb or names_speaker(clause):
        return ""
    if begins_with_verb(clause) and _TO_BE.match(first):
        return f"I {clause}"
    pronoun = _PRONOUN.match(first)
    return pronoun[0] + clause if pronoun else ""


def _replace(text: str, patterns: Iterable[re.Pattern[str]]) -> str:
    for pattern in patterns:
        text = pattern.sub("\n", text)
    return text


def _iterate_parts(
    sentence: str, separator: re.Pattern[str], kept_words: Collection[str] = ()
) -> Iterator[str]:
    start = 0
    is_english = _ENGLISH.match(sentence) is not None
    for match in separator.finditer(sentence):
        separator_word = _LAST_WORD.search(match[0])
        word = separator_word[0].casefold() if separator_word else ""
        is_alone = word == match[0].strip().casefold()
        if is_alone and (word in kept_words or (word == "i" and is_english)):
            continue
        so_far = sentence[start : match.start()].strip()
        if is_alone and _COMPANION.fullmatch(so_far) and _SPEAKER.match(sentence[match.end() :]):
            continue
        # A separator that is the end of the word before it, as in Japanese and Korean, stays with it.
        end = match.end() if _VERB_END.fullmatch(match[0]) else match.start()
        part = sentence[start:end].strip(f" {_SIGNS}")
        if part:
            yield part
        is_kept = (kept_words and word in _KEPT_WORDS) or (word == "i" and is_english)
        start = (
            match.start() + separator_word.start() if separator_word and is_kept else match.end()
        )
    if rest := sentence[start:].strip():
        yield rest
