"""Make a statement of what answers the assistant's question in a word: "Where do you live?" "Lyon." is "My home: Lyon."."""

import re
from typing import Final

from memory.logic.judgement.labels import Attribute
from memory.logic.judgement.wording.scripts import UNSPACED


MAX_WORDS: Final = 6
MAX_CHARACTERS: Final = 60
MAX_UNSPACED: Final = 16  # characters where words have no spaces between them

A: Final = Attribute
_ATTRIBUTES: Final = (
    A.NAME, A.HOME, A.WORK, A.EMPLOYER, A.AGE, A.BIRTHDAY, A.PHONE, A.MAIL, A.ADDRESS, A.ALLERGY, A.PETS,
)  # fmt: skip
# What each of these is called, in their order.
_NAMES: Final = {
    "en": "My name|My home|My job|My employer|My age|My birthday|My phone number|My email address|My address|My allergy|My pet",
    "de": "Mein Name|Mein Wohnort|Mein Beruf|Mein Arbeitgeber|Mein Alter|Mein Geburtstag|Meine Telefonnummer|Meine E-Mail-Adresse|Meine Adresse|Meine Allergie|Mein Haustier",
    "es": "Mi nombre|Mi casa|Mi trabajo|Mi empresa|Mi edad|Mi cumpleaños|Mi teléfono|Mi correo|Mi dirección|Mi alergia|Mi mascota",
    "fr": "Mon nom|Mon domicile|Mon métier|Mon employeur|Mon âge|Mon anniversaire|Mon téléphone|Mon adresse e-mail|Mon adresse|Mon allergie|Mon animal",
    "it": "Il mio nome|La mia casa|Il mio lavoro|La mia azienda|La mia età|Il mio compleanno|Il mio telefono|La mia e-mail|Il mio indirizzo|La mia allergia|Il mio animale",
    "pt": "Meu nome|Minha casa|Meu trabalho|Minha empresa|Minha idade|Meu aniversário|Meu telefone|Meu e-mail|Meu endereço|Minha alergia|Meu animal de estimação",
    "nl": "Mijn naam|Mijn woonplaats|Mijn beroep|Mijn werkgever|Mijn leeftijd|Mijn verjaardag|Mijn telefoonnummer|Mijn e-mailadres|Mijn adres|Mijn allergie|Mijn huisdier",
    "pl": "Moje imię|Moje miejsce zamieszkania|Mój zawód|Mój pracodawca|Mój wiek|Moje urodziny|Mój telefon|Mój e-mail|Mój adres|Moja alergia|Moje zwierzę",
    "ru": "Моё имя|Мой дом|Моя профессия|Моя работа|Мой возраст|Мой день рождения|Мой телефон|Моя почта|Мой адрес|Моя аллергия|Мой питомец",
    "tr": "Benim adım|Yaşadığım yer|Mesleğim|İş yerim|Yaşım|Doğum günüm|Telefonum|E-postam|Adresim|Alerjim|Evcil hayvanım",
    "ar": "اسمي|مكان سكني|مهنتي|مكان عملي|عمري|عيد ميلادي|رقم هاتفي|بريدي الإلكتروني|عنواني|حساسيتي|حيواني الأليف",
    "th": "ชื่อของฉัน|บ้านของฉัน|อาชีพของฉัน|ที่ทำงานของฉัน|อายุของฉัน|วันเกิดของฉัน|เบอร์โทรของฉัน|อีเมลของฉัน|ที่อยู่ของฉัน|ฉันแพ้|สัตว์เลี้ยงของฉัน",
    "zh": "我的名字|我的住处|我的职业|我的工作单位|我的年龄|我的生日|我的电话|我的邮箱|我的地址|我过敏的东西|我的宠物",
    "zh-hant": "我的名字|我的住處|我的職業|我的工作單位|我的年齡|我的生日|我的電話|我的郵箱|我的地址|我過敏的東西|我的寵物",
    "ja": "私の名前|私の住まい|私の職業|私の勤め先|私の年齢|私の誕生日|私の電話番号|私のメール|私の住所|私のアレルギー|私のペット",
    "ko": "제 이름|제 집|제 직업|제 직장|제 나이|제 생일|제 전화번호|제 이메일|제 주소|제 알레르기|제 반려동물",
}  # fmt: skip
# The script of a language, or words that its questions have.
_LANGUAGES: Final = {
    "ja": r"[\u3040-\u30ff]", "ko": r"[\uac00-\ud7a3]", "th": r"[\u0e00-\u0e7f]", "ar": r"[\u0600-\u06ff]", "ru": r"[\u0400-\u04ff]",
    "zh-hant": r"[麼裡裏嗎誰電話號職歲養寵過麽們]", "zh": r"[\u4e00-\u9fff]",
    "de": r"\b(?:wie|wo|was|wer|wann|du|dein\w*|sie|ihr\w*|hast|bist|wohnst|heißt|welche\w*)\b",
    "nl": r"\b(?:hoe|waar|wat|wie|wanneer|je|jij|jouw|uw|heb|ben|woon|heet|welke)\b",
    "fr": r"\b(?:où|quel\w*|comment|qui|quand|tu|vous|ton|ta|votre|as-tu|est-ce)\b|t'appelles|habites",
    "es": r"[¿ñ]|\b(?:cómo|dónde|cuál|cuándo|cuántos|tienes|vives|tu|usted)\b",
    "pt": r"[ãõ]|\b(?:onde|qual|como|quando|quantos|você|seu|sua|teu|tua|tens|tem|moras|mora)\b",
    "it": r"\b(?:dove|come|qual|quale|quando|quanti|che|chi|tuo|tua|hai|sei|abiti|vivi)\b",
    "pl": r"[ąęłńśźż]|\b(?:jak|gdzie|kiedy|ile|czym|jaki|jaka|twoje|masz)\b",
    "tr": r"[ğş]|(?-i:ı)|\b(?:nerede|nedir|adın|ne|kaç|hangi|sen|senin)\b",
}  # fmt: skip
_PATTERNS: Final = {
    language: re.compile(pattern, re.IGNORECASE) for language, pattern in _LANGUAGES.items()
}
_SCRIPTS: Final = ("ja", "ko", "th", "ar", "ru", "zh-hant", "zh")
_LAST_SENTENCE: Final = re.compile(r"[^.!?。！？؟\n]+[?？؟]\s*[\"'”»)]*\s*$")
# Answers that name no value.
_NO_VALUE: Final = re.compile(
    r"(?:yes|yeah|yep|no|nope|none|nothing|ok(?:ay)?|sure|maybe|why|skip|next|later|(?:i )?don't know|not sure|ja|nein|nee|vielleicht|weiß nicht|"
    r"oui|non|peut-être|sí|si|quizás|sim|não|talvez|forse|tak|nie|może|да|нет|может быть|evet|hayır|belki|نعم|لا|ربما|ใช่|ไม่|ไม่ใช่|是的?|不是?|没有|沒有|"
    r"对|對|不知道|はい|いいえ|うん|いや|네|예|아니요?|몰라요?)\W*",
    re.IGNORECASE,
)


def find_question(answer: str) -> str:
    """Return the question with which what the assistant wrote ends, or an empty text."""
    match = _LAST_SENTENCE.search(answer.strip())
    return match[0].strip() if match else ""


def is_short_answer(message: str) -> bool:
    """Return whether the message may be nothing but the value that was asked for."""
    text = message.strip()
    if not text or len(text) > MAX_CHARACTERS or "\n" in text or text.endswith(("?", "？", "؟")):
        return False
    if _NO_VALUE.fullmatch(text):
        return False
    if UNSPACED.search(text):
        return len(text) <= MAX_UNSPACED
    return len(text.split()) <= MAX_WORDS


def build_statement(attribute: Attribute, question: str, message: str) -> str:
    """Return what the answer states in the language of the question, or an empty text for an attribute without a name."""
    if attribute not in _ATTRIBUTES:
        return ""
    names = _NAMES[_find_language(question)].split("|")
    return f"{names[_ATTRIBUTES.index(attribute)]}: {message.strip()}"


def _find_language(question: str) -> str:
    for language in _SCRIPTS:
        if _PATTERNS[language].search(question):
            return language
    counts = {
        language: len(pattern.findall(question))
        for language, pattern in _PATTERNS.items()
        if language not in _SCRIPTS
    }
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else "en"
