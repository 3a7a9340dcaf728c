"""Say whom a sentence is about that only has a pronoun for them: "My sister Anna is a vet. She lives in Oslo."

A pronoun of the third person is never the speaker. Whom it means is told from the sentences before it, where these name
somebody or something of the speaker's; of different genders nobody is taken for the other.
"""

import re
from collections.abc import Sequence
from typing import Final


# The probability that what tells somebody else's name is about the speaker.
MAX_WITH_NAME: Final = 0.45
MAX_JOINED: Final = 300  # characters of two sentences that are one fact together

# Pronouns that begin a sentence as its subject, of women, of men, and of those whose gender they don't say.
_SHE: Final = r"she|sie|elle|ella|ela|lei|zij|ze|ona|она|هي"
_HE: Final = r"he|er|il(?! (?:y a|fait|faut|pleut|neige|est \d))|él|ele|lui|hij|on(?= [^\W\d_]+(?:ł|je|ma|mieszka|jest|pracuje|lubi)\b)|он|هو"
_THEY: Final = r"they|ils|elles|ellos|ellas|eles|elas|loro|oni|они|onlar|هم|it|es(?= (?:heißt|ist ein|lebt|wohnt))|het(?= (?:heet|is een))|o(?! (?:meu|nosso)s? )(?= [^\W\d_]+)"
_UNSPACED_SUBJECT: Final = r"彼女(?!が(?:い|で)|と)(?=[はがも])|彼(?=[はがも])|あの人(?=[はがも])|她|他|它|牠|พวกเขา|เขา|เธอ|그녀(?=[는가])|그(?=는\s)|그 사람(?=[은이])"
_SUBJECT: Final = re.compile(
    rf"^(?:(?P<she>{_SHE})|(?P<he>{_HE})|(?P<they>{_THEY}))(?=['\s])|^(?:{_UNSPACED_SUBJECT})(?!的|们|們)",
    re.IGNORECASE,
)
# Words of the third person that begin a sentence about what somebody has, or leave its subject out.
_OTHER: Final = re.compile(
    r"^(?:her|his|its|their|ihr[e]?|sein[e]?|sa|ses|leurs?|son(?= [a-zà-ÿ])|sus?|(?:il |la )?su[oa]|zijn(?= [a-z])|haar|jego|jej|ich(?= imi)|его|её|ее|их|"
    r"onun|onların|se llaman?|si chiama(?:no)?|se chama|chama-se|s'appelle)\s"
    r"|^(?:o nome d(?:el[ea])|اسمها|اسمه)\b|^(?:[她他它牠][的们們]|彼女?の|彼女?ら|그녀?의|그들[은이]|ชื่อของ(?:เขา|เธอ|มัน)|มัน)",
    re.IGNORECASE,
)
# … that are about whom the sentence before names, and about the speaker without one.
_NAME_ALONE: Final = re.compile(r"^(?:名前は|名字(?:叫|是)|叫|이름은|ชื่อ|Adı\s)")
# Who is called so isn't the speaker, although the sentence begins with them: "I have a dog, his name is Rex".
_NAME_OF_OTHER: Final = re.compile(
    r"\b(?:her|his|its|their) names?\b|\b(?:ihr|sein) Name\b|\b(?:sie|er|der|die) heißt\b|\bson (?:nom|prénom)\b|\b(?:il|elle|qui) s'appelle\b|"
    r"\bsu nombre\b|\bse llaman?\b|\b(?:se chama|chama-se)\b|\bnome del[ea]\b|\bsi chiama(?:no)?\b|\b(?:die|hij|zij|ze) heet\b|"
    r"\b(?:ma na imię|jego imię|jej imię|nazywa się)\b|\b(?:его|её|ее) зовут\b|\bonun adı\b|\badı\s|\b(?:اسمها|اسمه)\b|[她他它牠]的?(?:名字)?叫|彼女?の名前|"
    r"(?:그녀?의|그 애) 이름",
    re.IGNORECASE,
)

_OWN: Final = (
    r"my|our|mein(?:en|em|er|e)?|unser\w*|mon|ma|notre|mi|nuestr[oa]|(?:o )?(?:meu|nosso)|(?:a )?(?:minha|nossa)|(?:il )?mio|(?:la )?mia|mijn|onze|"
    r"mój|moja|nasz[a]?|мой|моя|наш[а]?"
)
_PERSON: Final = re.compile(
    rf"(?<![\w'])(?P<own>{_OWN}) (?P<noun>[^\W\d_]+(?:-[^\W\d_]+)?)(?P<name>(?: [A-ZÀ-ÞŁŚŻА-Я][^\W\d_]+)?)(?!')",
    re.IGNORECASE,
)
_UNSPACED_PERSON: Final = re.compile(
    r"我(?:的)?(?:姐姐?|妹妹?|哥哥?|弟弟?|妈妈?|媽媽?|爸爸?|母亲|母親|父亲|父親|妻子|老婆|太太|丈夫|老公|先生|儿子|兒子|女儿|女兒|女朋友|男朋友|女友|男友|"
    r"朋友|同事|老板|老闆|奶奶|爷爷|爺爺|外婆|狗|猫|貓)"
    r"|(?:私の|うちの)?(?:お?(?:姉さん|兄さん|母さん|父さん)|姉|妹|兄|弟|母|父|妻|夫|息子|娘|祖母|祖父|友達|同僚|上司|彼氏|犬|猫)(?=[はがも])"
    r"|(?:제|내|우리)\s?(?:누나|언니|오빠|형|여동생|남동생|동생|엄마|어머니|아빠|아버지|아내|남편|아들|딸|친구|동료|상사|강아지|개|고양이)"
    r"|(?:พี่สาว|น้องสาว|พี่ชาย|น้องชาย|แม่|พ่อ|ภรรยา|สามี|ลูกชาย|ลูกสาว|เพื่อน|แฟน|หมา|แมว)(?:ของ)?(?:ฉัน|ผม|เรา)"
    r"|\b(?:kız kardeşim|erkek kardeşim|ablam|abim|annem|babam|eşim|karım|kocam|oğlum|kızım|arkadaşım|köpeğim|kedim|patronum)\b"
    r"|\b(?:أختي|أخي|أمي|أبي|والدتي|والدي|زوجتي|زوجي|ابنتي|ابني|صديقتي|صديقي|كلبي|قطتي|مديري)\b",
    re.IGNORECASE,
)
_WOMAN: Final = re.compile(
    r"\b(?:sister|mother|mom|mum|wife|daughter|girlfriend|aunt|grandmother|grandma|niece|meiner?|ma|minha|nossa|mia|moja|nasza|моя|наша|"
    r"hermana|madre|mamá|esposa|mujer|hija|novia|zus|moeder|vrouw|dochter|vriendin|أختي|أمي|والدتي|زوجتي|ابنتي|صديقتي)\b",
    re.IGNORECASE,
)
_MAN: Final = re.compile(
    r"\b(?:brother|father|dad|husband|son|boyfriend|uncle|grandfather|grandpa|nephew|mein|meinen|meinem|mon|meu|nosso|mio|mój|nasz|мой|наш|"
    r"hermano|padre|papá|esposo|marido|hijo|novio|broer|vader|zoon|vriend|أخي|أبي|والدي|زوجي|ابني|صديقي)\b",
    re.IGNORECASE,
)
_NEUTER: Final = {"meinen": "mein", "meinem": "mein", "meiner": "meine", "unseren": "unser", "unserem": "unser", "unserer": "unsere"}  # fmt: skip
# Whoever says what they have, and then what it is called, says one thing.
_HAVING: Final = re.compile(
    r"^(?:I|we)(?:'ve| have)(?: got)? |^(?:Ich habe|Wir haben|J'ai|On a|Nous avons|Tengo|Tenemos|Tenho|Temos|Ho|Abbiamo|Ik heb|We hebben|Mam|Mamy) |"
    r"^У (?:меня|нас) |(?:عندي|لدي|عندنا)|(?:ฉัน|ผม|เรา)(?:มี|เลี้ยง)|^我们?(?:有|养|養)|(?:を飼って(?:い)?(?:ます|る)|が(?:い|あり)ます|がいる)|(?:있어요|있습니다|있다|키워요|키웁니다)|\bvar[.!]?$",
    re.IGNORECASE,
)
_ENDS: Final = ".!?。！？… "


def limit_share_of_speaker(text: str, share: float) -> float:
    """Return the probability that the text is about the speaker, which its grammar may exclude: "She lives in Oslo".

    "I have a dog, his name is Rex" is about both, but tells no name of the speaker's.
    """
    if _SUBJECT.search(text) or _OTHER.search(text):
        return 0.0
    return min(share, MAX_WITH_NAME) if _NAME_OF_OTHER.search(text) else share


def name_subjects(sentences: Sequence[str], earlier_sentences: Sequence[str] = ()) -> list[str]:
    """Return the sentences with the person or thing in them that their pronouns mean.

    ``earlier_sentences`` are what the person wrote before, the last one at the end.
    """
    result: list[str] = []
    for sentence in sentences:
        before = [*earlier_sentences, *result]
        is_other = _SUBJECT.match(sentence) or _OTHER.match(sentence)
        if not before or not (is_other or _NAME_ALONE.match(sentence)):
            result.append(sentence)
            continue
        if subject_sentence := _name_subject(sentence, before):
            result.append(subject_sentence)
        elif result and _can_join(result[-1], sentence):
            result[-1] = _join(result[-1], sentence)
        elif not result and _can_join(before[-1], sentence):
            result.append(_join(before[-1], sentence))
        else:
            result.append(sentence)
    return result


def _can_join(before: str, sentence: str) -> bool:
    return bool(_HAVING.search(before)) and len(before) + len(sentence) < MAX_JOINED


def _join(before: str, sentence: str) -> str:
    return before + ("" if before.endswith("。") else " ") + sentence


def _name_subject(sentence: str, before: Sequence[str]) -> str:
    """Return the sentence with the person in it that the sentences before name last, or an empty text without one.

    Only the sentence right before it counts for one that leaves out its subject, which may be the speaker, too.
    """
    subject = _SUBJECT.match(sentence)
    searched = before if subject or _OTHER.match(sentence) else before[-1:]
    person = next(filter(None, map(_find_person, reversed(searched))), "")
    if not person or (subject and not _may_be(subject, person)):
        return ""
    if subject is None:
        return f"{person}: {sentence}"
    return person + sentence[subject.end() :]


def _find_person(sentence: str) -> str:
    """Return the last person or thing of the speaker that the sentence names, as the beginning of a sentence."""
    matches = [*_PERSON.finditer(sentence)]
    if not matches:
        unspaced = [*_UNSPACED_PERSON.finditer(sentence)]
        return unspaced[-1][0].strip() if unspaced else ""
    owner, noun, name = matches[-1].group("own", "noun", "name")
    owner = _NEUTER.get(owner.casefold(), owner)
    is_name = name[1:2].isupper()
    phrase = f"{owner} {noun}{name if is_name else ''}"
    return phrase[:1].upper() + phrase[1:]


def _may_be(subject: re.Match[str], person: str) -> bool:
    if subject["she"]:
        return _MAN.search(person) is None
    if subject["he"]:
        return _WOMAN.search(person) is None
    return True
