"""Language rules that find sentences about the same subject; those for questions are in ``sentences``.

They cover English and Chinese. The tables are small on purpose, because the offline provider must be predictable.
"""

import re
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer


_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CJK_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.:]\d+)*")


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP_WORDS = _split_words(
    """
    a about all also am an and any anything are as at be been being but by can could did do does
    doing for from had has have he her here him his how i i'd i'll i'm i've if in into is it
    it's its just know let me mine my no not of on or our please remember remind say she should
    so some something tell than that the their them then there these they thing things this
    those to told up us was we were what what's when where which who whom whose why will with
    would yes you you're your yours
    """
)
# Verbs of everyday speech, which say little about the subject: "what sport keeps me fit" isn't about what keeps one awake.
_LIGHT_WORDS = _split_words(
    """
    come comes get gets getting give gives go goes going got keep keeps make makes making mean means need needs put
    puts take takes taking use used uses using want wants
    """
)
_IGNORED_WORDS = _STOP_WORDS | _LIGHT_WORDS
_STOP_CHARACTERS = frozenset("的了吗呢吧啊我你他她它们是在有和与及就都也很请这那什么谁哪怎几多少个")

# Groups of words about the same subject. The keys only name the groups for readers of this module.
_CONCEPTS = {
    "food": "eat eats eating food foods meal dinner lunch breakfast cook cooking recipe diet drink "
    "snack allergic allergy allergies intolerant vegan vegetarian peanut peanuts nuts gluten dairy shellfish seafood "
    "吃 食物 饮食 过敏 素食 花生 菜 喝 忌口 海鲜",
    "avoid": "avoid avoiding allergic allergy allergies intolerant hate hates dislike dislikes careful "
    "dangerous harmful unsafe ill sick 避免 过敏 忌 讨厌 不喜欢 不吃 不舒服 生病 危险",
    "name": "name names named call called calls 名字 叫 姓名",
    "home": "live lives living home address city town country moved 住 家 城市 地址",
    "work": "work works working job profession occupation employer company 工作 职业 公司",
    "taste": "like likes love loves prefer prefers favourite favorite enjoy enjoys preference 喜欢 最爱 "
    "偏好 爱",
    "age": "age old birthday born birth 生日 岁 年龄 出生",
    "pet": "pet pets cat cats dog dogs kitten puppy 宠物 猫 狗",
    "language": "language languages speak speaks 语言 说",
    "time": "time when date deadline due schedule opens closes hours 时间 日期 几点 截止",
    "family": "family wife husband partner son daughter child children mother father brother sister 家人 "
    "妻子 丈夫 儿子 女儿 孩子 妈妈 爸爸",
}
_CONCEPT_WEIGHT = 0.6
# "I'm Ana." tells a name without the word for it.
_NAME_ALONE = re.compile(r"(?:i'm|i am) [^\W\d_]+[.!]?")

# Between the parts of a question: "Where do I live and what is my name?", "我住在哪里，我叫什么？"
_PART_END = re.compile(
    r"(?<=[?？])\s*|\s*[,;]?\s+(?:and|or)\s+(?:also\s+)?|[,;]\s+(?=(?:what|who|where|when|how|which|whose)\b)"
    r"|[，、；]|(?<=[\u3400-\u9fff])(?:以及|还有|和|与)(?=[\u3400-\u9fff])",
    re.IGNORECASE,
)


def split_parts(question: str) -> list[str]:
    """Return the parts of a question that ask for something each."""
    parts = [part.strip() for part in _PART_END.split(question)]
    return [part for part in parts if part and extract_features(part)]


@lru_cache(maxsize=4096)
def extract_features(text: str) -> frozenset[str]:
    """Return a sentence's features: stems, pairs of Chinese characters, and concepts (``@food``)."""
    lowered = text.lower().replace("’", "'")
    stems = {
        _load_stemmer().stemWord(word.removesuffix("'s"))
        for word in _WORD.findall(lowered)
        if word not in _IGNORED_WORDS and not _CJK.search(word)
    }
    if _NAME_ALONE.fullmatch(lowered.strip()):
        stems |= {"name", "@name"}
    return frozenset(stems | _extract_chinese_pairs(lowered) | _extract_concepts(lowered))


def measure_overlap(features: frozenset[str], others: frozenset[str]) -> float:
    """Return how much two sentences have in common: 1 for each shared word, and less for each shared concept."""
    return sum(_CONCEPT_WEIGHT if name.startswith("@") else 1.0 for name in features & others)


def measure_coverage(question: frozenset[str], features: frozenset[str]) -> float:
    """Return the share of the question's features that a sentence has, from 0 to 1."""
    total = measure_overlap(question, question)
    return measure_overlap(question, features) / total if total else 0.0


def _extract_chinese_pairs(text: str) -> set[str]:
    pairs: set[str] = set()
    for run in _CJK_RUN.findall(text):
        characters = [character for character in run if character not in _STOP_CHARACTERS]
        pairs.update(characters)
        pairs.update(a + b for a, b in pairwise(characters))
    return pairs


def _extract_concepts(text: str) -> set[str]:
    words = set(_WORD.findall(text))
    return {
        f"@{name}"
        for name, (english, chinese) in _load_concepts().items()
        if words & english or any(word in text for word in chinese)
    }


@cache
def _load_concepts() -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Return the English and the Chinese words of each concept."""
    members = {name: words.split() for name, words in _CONCEPTS.items()}
    return {
        name: (
            frozenset(word for word in words if not _CJK.search(word)),
            tuple(word for word in words if _CJK.search(word)),
        )
        for name, words in members.items()
    }


@cache
def _load_stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")
