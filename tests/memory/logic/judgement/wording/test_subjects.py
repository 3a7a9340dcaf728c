"""Whom a sentence is about that only has a pronoun for them."""

from memory.logic.judgement.wording.subjects import limit_share_of_speaker, name_subjects
from tests.support.cases import for_each


@for_each(
    "sentences, result",
    [
        (
            ["My sister Anna is a vet.", "She lives in Oslo."],
            ["My sister Anna is a vet.", "My sister Anna lives in Oslo."],
        ),
        (
            ["My sister Anna is a vet.", "He lives in Oslo."],
            ["My sister Anna is a vet.", "He lives in Oslo."],
        ),
        (
            ["My brother is ill.", "His name is Tom."],
            ["My brother is ill.", "My brother: His name is Tom."],
        ),
        (["I have a dog.", "His name is Rex."], ["I have a dog. His name is Rex."]),
        (["犬を飼っています。", "名前はポチです。"], ["犬を飼っています。名前はポチです。"]),
        (["名前はポチです。"], ["名前はポチです。"]),
        (
            ["姉は医者です。", "彼女は大阪に住んでいます。"],
            ["姉は医者です。", "姉は大阪に住んでいます。"],
        ),
        (["我姐姐是医生。", "她住在上海。"], ["我姐姐是医生。", "我姐姐住在上海。"]),
        (
            ["Meine Schwester ist Ärztin.", "Sie wohnt in Köln."],
            ["Meine Schwester ist Ärztin.", "Meine Schwester wohnt in Köln."],
        ),
        (
            ["Ich besuche meinen Bruder.", "Er wohnt in Köln."],
            ["Ich besuche meinen Bruder.", "Mein Bruder wohnt in Köln."],
        ),
        (
            ["Ma sœur est vétérinaire.", "Elle habite à Lyon."],
            ["Ma sœur est vétérinaire.", "Ma sœur habite à Lyon."],
        ),
        (
            ["Mi hermano es médico.", "Él vive en Lima."],
            ["Mi hermano es médico.", "Mi hermano vive en Lima."],
        ),
        (
            ["Moja siostra jest lekarką.", "Ona mieszka w Łodzi."],
            ["Moja siostra jest lekarką.", "Moja siostra mieszka w Łodzi."],
        ),
        (
            ["Моя сестра врач.", "Она живёт в Туле."],
            ["Моя сестра врач.", "Моя сестра живёт в Туле."],
        ),
        (["Ablam doktor.", "O Bursa'da yaşıyor."], ["Ablam doktor.", "Ablam Bursa'da yaşıyor."]),
        (["أختي طبيبة.", "هي تسكن في صور."], ["أختي طبيبة.", "أختي تسكن في صور."]),
        (
            ["제 누나는 의사예요.", "그녀는 부산에 살아요."],
            ["제 누나는 의사예요.", "제 누나는 부산에 살아요."],
        ),
        (["พี่สาวของฉันเป็นหมอ", "เธออยู่ที่ภูเก็ต"], ["พี่สาวของฉันเป็นหมอ", "พี่สาวของฉันอยู่ที่ภูเก็ต"]),
        (
            ["A minha irmã é médica.", "O meu número é 912 000."],
            ["A minha irmã é médica.", "O meu número é 912 000."],
        ),
        (["I live in Rome.", "It is sunny."], ["I live in Rome.", "It is sunny."]),
        (["My brother Tom has a dog.", "I like it."], ["My brother Tom has a dog.", "I like it."]),
    ],
)
def test_pronoun_gets_the_name_of_whom_it_means(sentences: list[str], result: list[str]) -> None:
    assert name_subjects(sentences) == result


@for_each(
    "text, limit",
    [
        ("She lives in Oslo.", 0), ("Er arbeitet bei SAP.", 0), ("她住在上海。", 0), ("彼女は大阪に住んでいます。", 0),
        ("Elle habite à Lyon.", 0), ("Он живёт в Туле.", 0), ("هي تسكن في صور.", 0), ("Her name is Ida.", 0),
        ("I have a dog, his name is Rex.", 0.45), ("Tengo novia, se llama Laura.", 0.45), ("Mi hijo se llama Tom.", 0.45),
        ("I'm Ana.", 0.9), ("Ich heiße Ana.", 0.9), ("Je m'appelle Ana.", 0.9), ("Me llamo Ana.", 0.9), ("Adım Ali.", 0.9),
        ("彼女がいます。", 0.9), ("彼女とローマに住んでいます。", 0.9), ("I told her a story.", 0.9), ("Il y a du bruit chez moi.", 0.9),
        ("O meu número novo é 912 000.", 0.9), ("O nosso endereço mudou.", 0.9), ("O Bursa'da yaşıyor.", 0),
    ],
)  # fmt: skip
def test_third_person_is_never_the_speaker(text: str, limit: float) -> None:
    assert limit_share_of_speaker(text, 0.9) == limit
