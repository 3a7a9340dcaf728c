"""Put a correction in the place of what it corrects: of "My name is Jon, no wait, John." only "My name is John." is left.

Nothing is judged here. The shape of the words tells what replaces what: a name takes the place of a name, a number that of
a number, and words that of others that begin or end alike. Whatever can't be told apart stays as it was written.
"""

import re
from collections.abc import Sequence
from typing import Final

from memory.logic.judgement.wording.scripts import UNSPACED


MAX_CORRECTIONS: Final = 3  # of one sentence
MAX_WORDS: Final = 3  # of a correction that has no shape in common with what it corrects
ALIKE: Final = 0.6  # the share of a clause's words with which the clause that corrects it begins

# Whoever says one of these takes back what they stated.
_SURE: Final = (
    r"no,? wait|wait,? no(?! idea)|i (?:mean|meant)(?: to say)?(?! it\b| that\b)|correction|make that|or rather|scratch that|"
    r"nein,? (?:warte|moment)|(?:warte|moment),? nein|ich (?:meine|meinte)|korrektur|besser gesagt|quatsch|"
    r"non,? attends?|je (?:veux|voulais) dire|ou plut[oô]t|rectification|"
    r"no,? espera|quiero decir|quise decir|mejor dicho|digo|corrección|"
    r"não,? espera|quero dizer|ou melhor|digo|correção|"
    r"no,? aspetta|v(?:olevo|oglio) dire|o meglio|anzi|correzione|"
    r"nee,? wacht|ik bedoel(?:de)?|of beter gezegd|correctie|"
    r"nie,? czekaj|(?:chciał[ae]?m|mam na myśli) powiedzieć|a raczej|poprawka|"
    r"нет,? подожди(?:те)?|я (?:имел[а]? в виду|хотел[а]? сказать)|вернее|точнее|поправка|"
    r"hayır,? dur|daha doğrusu|düzeltiyorum|düzeltme|demek istedi[ğg]im|"
    r"لا انتظر|أقصد|قصدي|أعني|تصحيح|"
    r"เอ้ย|ไม่ใช่สิ|หมายถึง|ขอแก้(?:ไข)?|"
    r"不对|不對|我是说|我是說|我的意思是|说错了|說錯了|更正|(?:应该|應該)是(?!的)|"
    r"いや(?!な)|じゃなくて|違う|違った|間違えた|訂正(?:します)?|"
    r"아니,? 잠깐|그게 아니라|아니 참|정정(?:할게요|합니다)?|제 말은"
)
# These may mean something else: "I was late, sorry, the train broke down."
_UNSURE: Final = (
    r"no|sorry|pardon|oops|whoops|nein|entschuldigung|äh|ähm|non|enfin|excuse[zr]?-moi|perdón|perdona|ay|"
    r"não|desculpa|desculpe|aliás|quer dizer|scusa|scusate|cioè|nee|nou nee|nie|przepraszam|to znaczy|"
    r"нет|ой|извини(?:те)?|прости(?:те)?|то есть|hayır|pardon|yani|لا|عفوا|عفوًا|ขอโทษ|ไม่ใช่|"
    r"哦不|不不?(?=[，、,])|不是(?=[，、,])|抱歉|对不起|對不起|すみません|아니(?:요|다)?|미안"
)
_SIGNS: Final = r"[,;:.!…،؛、，。：；！–—-]+"
_MARK: Final = (
    rf"(?P<mark>(?:(?:(?P<sure>{_SURE})|(?:{_UNSURE}))(?![^\W\d_\u0e00-\u9fff\uac00-\ud7a3])"
    rf"(?:\s*{_SIGNS}\s*|\s+|(?<=[\u0e00-\u0e7f\u3040-\u9fff])(?=\w)))+)"
)
_INITIAL: Final = re.compile(rf"^{_MARK}(?=\w|\+)", re.IGNORECASE)
_INNER: Final = re.compile(
    rf"(?:\s*{_SIGNS}\s*|\s+[–—-]\s+|(?<=[\u0e00-\u0e7f\d])\s+){_MARK}(?=\w|\+)", re.IGNORECASE
)
_ENDS: Final = " .!?…。！？,，、;；"
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_HANGUL: Final = re.compile(r"[\uac00-\ud7a3]")

# What stands before the value: Chinese and Thai verbs.
_BEFORE_VALUE: Final = re.compile(
    r"^.*(?:[叫姓是在到有吃喝养養说說学學用为為去来來]|喜欢|喜歡|[:：]|ชื่อ|ที่|เป็น|คือ|มี|ชอบ|อายุ|เบอร์)"
)
_LAST_NUMBER: Final = re.compile(r"[\d一二三四五六七八九十百两兩〇零]+(?=\D{0,3}$)")
_NUMBER_FIRST: Final = re.compile(r"[\d一二三四五六七八九十百两兩〇零]")
_JA_TOPIC: Final = re.compile(r"^.*は")
_JA_END: Final = re.compile(r"(?:です|だ|ます|った|した|る|い)$")
_JA_COPULA: Final = re.compile(r"(?:です|だよ|だ)$")
_JA_VALUE: Final = re.compile(r"[^はがをにでと、\s]+(?=(?:に|を|が|で|と)(?!.*(?:に|を|が)))")
_KO_TOPIC: Final = re.compile(r"^.*[은는]\s")
_KO_END: Final = re.compile(r"(?:요|다|죠)$")
_KO_COPULA: Final = re.compile(r"(?:이에요|예요|입니다|이야|야|에서|에|을|를|이|가)$")
_KO_VALUE: Final = re.compile(r"[가-힣A-Za-z0-9]+(?=(?:에서|에|을|를|이|가)\s+\S+$)")


def apply_corrections(sentences: Sequence[str], earlier_sentence: str = "") -> list[str]:
    """Return the sentences of a message with what they correct in its place.

    A message that begins with a correction corrects ``earlier_sentence``, the last one that the person wrote before.
    """
    corrected: list[str] = []
    for sentence in sentences:
        match = _INITIAL.match(sentence)
        if match is None:
            corrected.append(_correct_within(sentence))
            continue
        is_sure, rest = bool(match["sure"]), _correct_within(sentence[match.end() :])
        merged = _merge(corrected[-1] if corrected else earlier_sentence, rest, is_sure=is_sure)
        if merged and corrected:
            corrected[-1] = merged
        elif merged or not _is_lost(rest, is_sure=is_sure):
            corrected.append(merged or sentence)
    return corrected


def _correct_within(sentence: str) -> str:
    for _number in range(MAX_CORRECTIONS):
        match = _INNER.search(sentence)
        if match is None:
            break
        statement, rest = sentence[: match.start()], sentence[match.end() :]
        merged = _merge(statement, rest, is_sure=bool(match["sure"]))
        if not merged:
            break
        sentence = merged
    return sentence


def _is_lost(rest: str, *, is_sure: bool) -> bool:
    """Return whether a correction of something that nobody knows says nothing by itself: "I meant Quito"."""
    return is_sure and len(rest.split()) <= MAX_WORDS and not UNSPACED.search(rest)


def _merge(statement: str, rest: str, *, is_sure: bool) -> str:
    """Return the statement with the correction in it, or an empty text if its place can't be told."""
    statement = statement.rstrip(_ENDS)
    if not statement or not rest.strip(f"{_ENDS}是"):
        return ""
    if UNSPACED.search(statement):
        return (_merge_japanese if _KANA.search(statement) else _merge_unspaced)(statement, rest)
    if _HANGUL.search(statement):
        return _merge_korean(statement, rest)
    return _merge_words(statement.split(), rest.split(), is_sure=is_sure)


def _merge_words(words: list[str], rest: list[str], *, is_sure: bool) -> str:
    if len(rest) == 1 and _has_digit(rest[0]):
        numbers = [index for index, word in enumerate(words) if _has_digit(word)]
        if numbers and numbers[-1] < len(words) - 1:
            return " ".join([*words[: numbers[-1]], _fold(rest[0]), *words[numbers[-1] + 1 :]])
    index = _find_place(words, rest, is_sure=is_sure)
    if index is None:
        return ""
    merged = " ".join([*words[:index], *rest])
    return merged[:1].upper() + merged[1:] if words[0][:1].isupper() else merged


def _find_place(words: Sequence[str], rest: Sequence[str], *, is_sure: bool) -> int | None:
    """Return the index of the first word that the correction takes the place of."""
    folded, first = [_fold(word) for word in words], _fold(rest[0])
    if _count_alike(folded, [_fold(word) for word in rest]) >= max(2, ALIKE * len(words)):
        return 0
    for index in range(len(words) - 1, 0, -1):
        if folded[index] == first and len(words) - index <= len(rest) + 1:
            return index
    count = _count_values(words) if _is_value(rest[0]) else 0
    if count and (is_sure or _has_digit(rest[0]) or len(rest) <= count + 1):
        return len(words) - count
    ends_alike = folded[-1] == _fold(rest[-1]) or (
        _has_digit(rest[0]) and _has_digit("".join(words[-len(rest) :][:1]))
    )
    is_typed_alike = not _is_value(rest[0]) or not any(map(_is_value, words))
    is_short = is_sure and is_typed_alike and len(rest) <= MAX_WORDS
    if len(rest) < len(words) and (ends_alike or is_short):
        return len(words) - len(rest)
    return None


def _count_alike(words: Sequence[str], other_words: Sequence[str]) -> int:
    """Return the number of words with which both begin."""
    pairs = [first == second for first, second in zip(words, other_words, strict=False)]
    return pairs.index(False) if False in pairs else len(pairs)


def _count_values(words: Sequence[str]) -> int:
    """Return the number of names and numbers at the end, the first word of a sentence not among them."""
    count = 0
    while count < len(words) - 1 and _is_value(words[-1 - count]):
        count += 1
    return count if count or len(words) > 1 else 1


def _is_value(word: str) -> bool:
    return _has_digit(word) or word[:1].isupper()


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _fold(word: str) -> str:
    return word.strip(_ENDS).casefold()


def _merge_unspaced(statement: str, rest: str) -> str:
    """Merge Chinese or Thai."""
    if rest[0] in "我咱ฉผ":
        return rest
    rest = rest.removeprefix("是")
    if _NUMBER_FIRST.match(rest) and (number := _LAST_NUMBER.search(statement)):
        return statement[: number.start()] + rest
    before = _BEFORE_VALUE.match(rest)
    verb = statement.rfind(rest[0]) if before else -1
    if verb > 0:
        return statement[:verb] + rest
    before = _BEFORE_VALUE.match(statement)
    return before[0] + rest if before else ""


def _merge_japanese(statement: str, rest: str) -> str:
    plain = rest.rstrip(_ENDS)
    is_clause = _JA_END.search(statement) is not None
    if is_clause and not _JA_COPULA.search(statement):
        value = _JA_COPULA.sub("", plain)
        return _JA_VALUE.sub(value, statement, count=1) if _JA_VALUE.search(statement) else ""
    if not _JA_END.search(plain):
        return ""
    topic = _JA_TOPIC.match(statement)
    return (topic[0] if topic and not _JA_TOPIC.match(plain) else "") + rest


def _merge_korean(statement: str, rest: str) -> str:
    plain = rest.rstrip(_ENDS)
    topic = _KO_TOPIC.match(f"{statement} ")
    is_clause = _KO_END.search(statement) is not None
    if is_clause and not statement.endswith(("예요", "이에요", "입니다")):
        value = _KO_COPULA.sub("", plain)
        return _KO_VALUE.sub(value, statement, count=1) if _KO_VALUE.search(statement) else ""
    if not _KO_END.search(plain):
        return ""
    return (topic[0] if topic and not _KO_TOPIC.match(plain) else "") + rest
