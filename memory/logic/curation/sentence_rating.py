"""The rating of sentences by the offline curator, which separates memorable content from small talk.

Points are given for names, numbers, decisions, reasons and requests to remember something; greetings and the like are
excluded first. The rules are simple and explainable. A model judges better; this rating is used without one.
"""

import re
from dataclasses import dataclass

from memory.core.recall.tokens import extract_query_terms
from memory.logic.entries.text_similarity import is_unspaced


MIN_POINTS = 2

_MIN_TERMS = 3
_MANY_TERMS = 4
_MAX_LENGTH = 400

_QUESTION = re.compile(r"[?？]\s*[\"')」”]*$|(?:吗|呢)[。！!]?$")

# Sentences about the speaker, the listener, or "that" are mostly chat.
_CHATTY = re.compile(
    r"^(?:i|i'\w+|you|you'\w+|let'?s|that|this|it|it'?s|please|so|anyway|well|can|we can|to be"
    r"|your|as|in)\b"
    r"|^(?:我|你|您|这|那|请|咱)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SentenceRating:
    """The points of a sentence, from 0, and the names of the rules that matched."""

    points: int
    rules: tuple[str, ...]

    @property
    def is_worth_keeping(self) -> bool:
        return self.points >= MIN_POINTS


def rate_sentence(sentence: str) -> SentenceRating:
    """Rate a sentence; small talk, and a sentence that is too long or too short, gets no points."""
    line = sentence.strip()
    if len(line) > _MAX_LENGTH:
        return SentenceRating(0, ("too long",))
    for name, pattern in _TALK_RULES:
        if pattern.search(line):
            return SentenceRating(0, (name,))
    matches = [(name, points) for name, points, pattern in _CONTENT_RULES if pattern.search(line)]
    if _count_terms(line) >= _MANY_TERMS and not _CHATTY.search(line):
        matches.append(("says something", 1))
    points = sum(points for _, points in matches)
    if points < MIN_POINTS and _count_terms(line) < _MIN_TERMS:
        return SentenceRating(0, ("too short",))
    return SentenceRating(points, tuple(name for name, _ in matches))


def is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence.strip()))


def _count_terms(line: str) -> int:
    return sum(not (len(term) > 1 and is_unspaced(term)) for term in extract_query_terms(line))


def _build_talk_rule(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern, re.IGNORECASE)


def _build_content_rule(name: str, points: int, pattern: str) -> tuple[str, int, re.Pattern[str]]:
    return name, points, re.compile(pattern, re.IGNORECASE)


# A sentence that matches one of these rules is never stored.
_TALK_RULES = (
    ("question", _QUESTION),
    _build_talk_rule(
        "greeting",
        r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|bye|goodbye|see you|welcome"
        r"|dear)\b[^.]{0,40}$",
    ),
    _build_talk_rule(
        "greeting", r"^(?:你好|您好|早上好|下午好|晚上好|晚安|再见|拜拜|嗨|哈喽|欢迎)"
    ),
    _build_talk_rule(
        "thanks",
        r"^(?:ok(?:ay)?,? )?(?:many )?(?:thanks?|thank you|thx|cheers|much appreciated"
        r"|you'?re welcome|no problem|my pleasure|don'?t mention it)\b",
    ),
    _build_talk_rule("thanks", r"^(?:好的?[,，]?)?(?:谢谢|多谢|感谢|辛苦了|不客气|不用谢|没关系)"),
    _build_talk_rule(
        "assent",
        r"^(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|right|fine|great|cool|nice|perfect|awesome"
        r"|excellent|wonderful|got it|i see|understood|alright|absolutely|certainly|of course"
        r"|agreed|exactly|indeed|sounds good|makes sense|fair enough|lol|haha+|hmm+|uh+|oh+|wow"
        r"|good (?:point|idea|question))\b[^.]{0,60}[.!…]*$",
    ),
    _build_talk_rule(
        "assent",
        r"^(?:好的?|嗯+|对|是的|行|可以|没问题|明白了?|知道了|收到|了解|当然|哈哈+|哦+|原来如此|不错|太好了|真棒)[^,，]{0,6}[。！!~～]*$",
    ),
    _build_talk_rule(
        "offer",
        r"\b(?:let me know|feel free|happy to help|glad (?:to|i could)|hope (?:this|that|it|you)"
        r"|anything else|is there anything|how (?:can|may) i|i(?:'m| am) here to|i(?:'d"
        r"| would) be happy|don't hesitate|have a (?:nice|great|good))\b",
    ),
    _build_talk_rule(
        "offer", r"还有什么|需要帮助|随时(?:告诉|联系|问)|希望(?:对你|这|能)|很高兴(?:为|能)|祝你"
    ),
    _build_talk_rule(
        "announcement",
        r"^(?:let me|i(?:'ll| will| am going to|'m going to)|now i|allow me to|give me a"
        r"|one moment|just a|hold on|wait|please wait|working on|looking (?:into|at|up)|checking"
        r"|searching|here(?:'s| is| are)|below is|sure[,!])\b",
    ),
    _build_talk_rule(
        "announcement", r"^(?:让我|我来|我这就|我马上|请稍等|稍等|正在|以下是|下面是|接下来)"
    ),
    _build_talk_rule(
        "about itself",
        r"\bas an? (?:ai|language model|assistant)\b|作为(?:一个|一名)?(?:ai|人工智能|语言模型|助手)",
    ),
    _build_talk_rule(
        "progress",
        r"^\W*(?:step \d+|(?:loading|processing|downloading|uploading|installing|compiling"
        r"|starting|running|fetching|connecting|retrying|waiting|building)\b)|^\W*\d{1,3} ?%"
        r"|\.\.\.$|…$|\b\d+ ?/ ?\d+ (?:done|files|items|steps)\b",
    ),
    _build_talk_rule(
        "log line",
        r"^\W*(?:(?:GET|POST|PUT|DELETE|HEAD) /|npm (?:warn|err)|\d{4}-\d\d-\d\d[t ]\d\d:\d\d"
        r"|\d\d:\d\d:\d\d|\[?(?:debug|info|trace|warn(?:ing)?|notice)\b\]?)",
    ),
    _build_talk_rule(
        "stack trace",
        r"^\s*(?:at \S+\(|file \".+\", line \d+|traceback \(|\^+$|~+\^)|^\s*in <module>",
    ),
    _build_talk_rule(
        "code",
        r"^\s*(?:import |from \w+ import|def |class |return\b|function\b|const |let |var |if \("
        r"|for \(|while \(|[{}\[\]();]+$|</?\w+[^>]*>$|\$ |>>> |#include|```)|[;{]\s*$",
    ),
    _build_talk_rule("link alone", r"^\W*https?://\S+\W*$"),
    _build_talk_rule(
        "mood",
        r"^(?:i(?:'m| am) (?:so |very |really )?(?:tired|bored|happy|sad|excited|busy|hungry|back"
        r"|here|sorry|not sure)|sorry\b|oops|my bad|what a|that'?s (?:great|nice|cool|funny"
        r"|awesome|interesting|good|fine|ok|right|true|amazing|so)|it'?s (?:ok|fine|nothing"
        r"|all good)|no worries|never ?mind)",
    ),
    _build_talk_rule("mood", r"^(?:不好意思|抱歉|对不起|哎|唉|好累|好困|真有意思|太有趣|没事)"),
    _build_talk_rule(
        "small talk",
        r"\b(?:weather|weekend|how are you|how'?s it going|long time no see|nice to meet"
        r"|just kidding|by the way,? how|lunch was|what'?s up)\b|天气(?:真|很|不错)|周末(?:愉快|过得)|吃了吗"
        r"|最近怎么样",
    ),
)


_CONTENT_RULES = (
    _build_content_rule(
        "asked to remember",
        3,
        r"\b(?:remember|note|keep in mind|don't forget|for the record|fyi|important)\b|记住|记得|请注意"
        r"|别忘了|重要的是",
    ),
    _build_content_rule(
        "somebody's own",
        2,
        r"\b(?:my|our|his|her|their|the user(?:'s)?|customer(?:'s)?)\s+(?:\w+\s+){0,3}(?:is|are"
        r"|was|were|starts?|ends?|lives?|prefers?)\b|(?:我|我们|他|她|用户|客户)的\S{1,12}(?:是|为|在|叫)",
    ),
    _build_content_rule(
        "about a person",
        2,
        r"\b(?:i|we|he|she|they|users?|customers?|clients?|employees?|team"
        r"|company)\s+(?:\w+ly\s+)?(?:live|lives|work|works|prefer|prefers|like|likes|love|loves"
        r"|hate|hates|dislike|dislikes|need|needs|want|wants|use|uses|own|owns|speak|speaks|moved"
        r"|was born|am allergic|is allergic|can't eat|avoid|avoids|gets?|pays?|must)\b|(?:我|我们|用户"
        r"|他|她|客户)(?:住|在\S{1,10}工作|喜欢|讨厌|偏好|需要|想要|使用|会说|对\S{1,8}过敏|不吃|不喝)",
    ),
    _build_content_rule(
        "decision",
        2,
        r"\b(?:we|they|team|board|i)\s+(?:have |has |had )?(?:decided|agreed|chose|chosen|settled"
        r"|plan|scheduled|approved|rejected|switched|migrated)\b|\bdecision\b|决定|商定|选择了|同意|计划|改用"
        r"|迁移到",
    ),
    _build_content_rule(
        "reason",
        2,
        r"\b(?:because|caused by|due to|root cause|the reason|therefore|turns? out|turned out"
        r"|it seems that)\b|因为|由于|原因|所以|导致|原来",
    ),
    _build_content_rule(
        "solution",
        2,
        r"\b(?:fix(?:ed|es)?|solved?|resolved?|workaround|solution|works? (?:after|with|when)"
        r"|helped|instead of)\b|解决|修复|办法|改成|换成",
    ),
    _build_content_rule(
        "rule",
        2,
        r"\b(?:always|never|must(?: not)?|should(?: not)?|only works|requires?|required"
        r"|not allowed|forbidden|at most|at least|limit(?:ed)?)\b|必须|不能|不得|总是|从不|只能|至少|最多|限制|要求",
    ),
    _build_content_rule(
        "condition", 1, r"\b(?:when|whenever|if|unless|only)\b|如果|只要|除非|的时候"
    ),
    _build_content_rule(
        "time",
        1,
        r"\b(?:deadline|due|every (?:\w+day|week|month|quarter|year|morning|night)|until|since"
        r"|by (?:\w+day|\d)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february"
        r"|march|april|june|july|august|september|october|november|december)\b)|截止|每(?:\d+"
        r"|[一二三两几])?个?(?:天|周|月|年|季度|小时)|\d月\d|星期|周[一二三四五六日]",
    ),
    _build_content_rule("number", 1, r"\d"),
    _build_content_rule(
        "name", 1, r"(?-i:(?<=[a-z,;:)] )[A-Z][\w-]+)|[《「“][^》」”]{1,30}[》」”]"
    ),
    _build_content_rule(
        "state of things",
        1,
        r"\b(?:is|are|was|were|has|have|costs?|runs? on|lives? in|located|stored|called|named"
        r"|belongs?|contains?|supports?|returns?|fails?|failed|uses?)\b|(?:是|位于|叫做|存放|包含|支持|返回|失败"
        r"|属于|运行在|总部|在\S{2,8}[。.]?$)",
    ),
)
