"""The smallest rules that keep questions, requests and thanks out of memory, for installations without an encoder.

They know English and Chinese, and question marks in every language. Whatever they don't recognize is kept.
"""

import re
from collections.abc import Sequence
from typing import Final

from memory.logic.judgement.clauses import split_sentences
from memory.logic.judgement.wishes.kept_out import leave_out
from memory.logic.judgement.wording.reading import PrecedingTurn, is_redacted, read_sentences


MAX_STATEMENTS: Final = 20

_QUESTION: Final = re.compile(
    r"[?？؟]\s*[\"'”’»)]*$"
    r"|^(?:what|who|whom|whose|where|when|why|which|how|is|are|am|was|were|do|does|did|can|could|should|would|will)\b(?!.*[.!]$)"
    r"|^(?:请问|想问|想知道)|什么|谁|哪[里儿个]|[吗呢]$|多少|怎么|为什么|如何|是不是|能不能|有没有",
    re.IGNORECASE,
)
# "我什么都吃" tells something, although it has a question word.
_UNIVERSAL: Final = re.compile(r"(?:什么|谁|哪里|怎么|多少)[^，。！？]{0,4}[都也]")
_REQUEST: Final = re.compile(
    r"^(?:(?:please|pls|now|then|so)[,\s]+)*(?:tell|give|show|help|let's|lets|suggest|recommend|find|make|write|translate|"
    r"summari[sz]e|explain|list|describe|forget|delete|remind|continue|imagine|pretend|act|read|check|open|send|"
    r"book|look|search|get|fetch|add|create|update|deploy|implement|copy|sort|compare|calculate|convert|draft|fix|generate|"
    r"analy[sz]e|improve|run)\b"
    r"|^(?:请|麻烦|帮我|给我|告诉我|推荐|列出|忘记|忘掉|删除|翻译|写|继续|查看|打开|发送|读取|搜索|查找|检查|添加|创建|更新|部署|复制|排序"
    r"|比较|计算|生成|分析|修复|运行|预订|安排)",
    re.IGNORECASE,
)
# "Ben wrote me this:" announces words of others, or a list.
_ANNOUNCEMENT: Final = re.compile(r"[:：]\s*$")
_FORGET: Final = re.compile(
    r"forget|don't (?:remember|keep|store|save)|nicht (?:merken|speichern)|n'enregistre|ne (?:retiens|garde|sauvegarde)|"
    r"no (?:guardes|recuerdes|memorices)|não (?:guard|memori|salv)\w+|non (?:salvar|ricordar|memorizzar)\w+|"
    r"niet (?:opslaan|onthouden|bewaren)|nie (?:zapami|zapisuj|zachowuj)\w*|не (?:запоминай|сохраняй)|kaydetme|"
    r"لا ت(?:حفظ|تذكر|سجل|خزن)|อย่า(?:จำ|บันทึก)|ไม่ต้องจำ|(?:不要|别|別|不用)(?:记|記|存|保存)|保存しない|覚えない|記憶しない|"
    r"(?:저장|기억)하지 ?마|delete|erase|vergiss|lösch|oubli|efface|olvid|borra|esque|apaga|dimentica|cancella|"
    r"vergeet|wis\b|zapomn|usuń|забудь|удали|unut|sil\b|انس|احذف|ลืม|ลบ|忘|删|刪|消して|잊어|지워",
    re.IGNORECASE,
)
# "Don't forget that I live in Lyon" asks to keep it.
_KEEP: Final = re.compile(
    r"(?:don't|do not|never) forget|(?:nie?|nicht|bitte nicht) vergessen|vergiss (?:bitte )?nicht|n'oublie[zr]? (?:surtout )?pas|"
    r"no (?:te |se |me )?olvid\w+|não (?:te |se |me )?esque\w+|non (?:ti |mi )?(?:dimentic|scord)\w+|(?:vergeet|niet) (?:niet|vergeten)|"
    r"nie zapom\w+|не забуд\w+|не забывай\w*|unutma(?:yın(?:ız)?)?\b|لا تنس|อย่าลืม|(?:别|別|不要|勿)(?:忘|忘記|忘记)|忘れないで|잊지 ?마",
    re.IGNORECASE,
)
# "Forget that I like coffee" is near to "I like coffee" for an encoder. A line for each language; it is the imperative, and
# what follows it is about the speaker, or nothing follows it than "that".
_WISH: Final = re.compile(
    r"^(?:(?:please|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|proszę|пожалуйста|lütfen|من فضلك)[,\s]+)?(?:"
    r"forget (?:(?:that|what|where|when|who|how|about) )?(?:i|we|my|our)\b"
    r"|vergiss(?: bitte)?,? (?:dass|was|wo|wer|wie|wann|mein\w*|unser\w*)\b"
    r"|oublie[zr]? (?:que|qu'|ce que|où|qui|comment|quand|mon|ma|mes|notre|nos)\b"
    r"|olvida (?:que|lo que|d[oó]nde|cómo|cuánto|cuándo|quién|mis?|nuestr\w+)\b"
    r"|esque(?:ce|ça) (?:que|o que|onde|como|quanto|quando|quem|(?:[oa]s? )?(?:meus?|minhas?|noss\w+))\b"
    r"|dimentica(?:ti)? (?:che|quello che|dove|come|quanto|quando|chi|(?:il |la |i |le )?(?:mi[oae]|miei|nostr\w+))\b"
    r"|vergeet(?: alsjeblieft)? (?:dat ik|dat we|wat|waar|wie|hoe|wanneer|mijn|onze?)\b"
    r"|zapomnij,? (?:że|co|gdzie|kto|jak|kiedy|ile|o mo\w+|mój|moj\w+|nasz\w*)\b"
    r"|забудь(?:те)?,? (?:что|где|кто|как|когда|сколько|(?:про |о )?мо\w+|наш\w*)\b"
    r"|(?:forget (?:that|this|it)|vergiss (?:das|dies|es)|oublie[zr]? (?:ça|cela)|olvida (?:eso|esto)|esque(?:ce|ça) (?:isso|isto)"
    r"|dimentica (?:questo|quello)|vergeet (?:dat|dit|het)|zapomnij o tym|забудь(?:те)? (?:это|об этом)|انسَ? (?:هذا|ذلك))[.!]*$"
    r"|انسَ? (?:أن\w*|أين|ما|متى|كيف|كم)\b)"
    r"|^(?:请|請|麻烦|麻煩)?(?:你)?(?:忘(?:记|記|掉)|忘了)(?:掉)?(?=[我这這那])"
    r"|^(?:ช่วย|กรุณา|โปรด)?ลืม(?:ไปเลย|ไป|เลย|นะ)*ว่า(?=ฉัน|ผม|เรา|หนู|ดิฉัน)"
    r"|(?:こと|話|件)(?:は|を)?(?:もう)?忘れて(?:ください|くれ|ね|ほしい)?[。.!]?$"
    r"|(?:거|것|걸|건|얘기)\S{0,2} ?잊어(?: ?(?:줘|주세요|버려))?[.!?]*$"
    r"|\w+(?:[dt][uiüı]ğ)\w+ unut(?:un|unuz|ur musun)?[.!?]*$"
    r"|^(?:من فضلك[،,]? )?(?:انس[يىَِ]?|احذفي?) (?:\w+ )?\w+ي(?: \w+| من فضلك)?[.!]*$"
    r"|\s잊어 ?(?:줘|주세요|버려)[.!]*$",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"[^\W_]+")


def list_statements(message: str, turns: Sequence[PrecedingTurn] = ()) -> list[str]:
    """Return the sentences that may be worth keeping, each once."""
    sentences = dict.fromkeys(leave_out(read_sentences(message, turns), is_statement))
    statements = [s for s in sentences if is_statement(s) and not is_redacted(s)]
    return statements[:MAX_STATEMENTS]


def find_readable(message: str) -> str | None:
    """Return the message without what the person asked not to keep, or None if it is all of it."""
    sentences = split_sentences(message)
    readable = leave_out(sentences, is_statement)
    return "\n".join(readable) if len(readable) < len(sentences) else None


def is_question(text: str) -> bool:
    """Return whether the text asks something."""
    return bool(_QUESTION.search(text)) and not _UNIVERSAL.search(text)


def is_small_talk(text: str) -> bool:
    """Return whether the text consists of phrases such as “ok, thanks” or “任务完成” only, or is empty."""
    return bool(_SMALL_TALK.fullmatch(text.strip()))


def is_wish_to_forget(text: str) -> bool:
    """Return whether the text begins, or in some languages ends, as a wish to forget something about the speaker does."""
    return _WISH.search(text) is not None


def asks_not_to_forget(text: str) -> bool:
    """Return whether the text has a word for forgetting only where it says not to: the encoder hardly hears the "not"."""
    return _KEEP.search(text) is not None and not asks_to_forget(text)


def asks_to_forget(message: str) -> bool:
    """Return whether the message has a word for forgetting, which a model's wish to forget needs as its reason."""
    return _FORGET.search(_KEEP.sub(" ", message)) is not None


def is_statement(sentence: str) -> bool:
    """Return whether the sentence has several words and is no question, request, announcement or small talk."""
    if is_small_talk(sentence) or _REQUEST.match(sentence) or is_question(sentence):
        return False
    if _ANNOUNCEMENT.search(sentence):
        return False
    words = _WORDS.findall(sentence)
    # Where words have no spaces between them, one of three characters may be a sentence.
    return len(words) >= 2 or any(len(word) >= 3 and ord(word[0]) > 0x2E80 for word in words)


_PAUSE = r"[\s,.!?;:…~'\"“”()（），。！？；：、～-]*"
_NO_NEWS = (
    r"no (?:new |further |other )?(?:learnings?|lessons?|errors?|problems?|issues?|information|content)"
    r"(?: (?:were|was))?(?: (?:found|learned|learnt|occurred))?"
)
_TASK_DONE = (
    r"(?:the )?(?:task|job|run|request|work(?:flow)?|operation)(?: (?:is|was|has been|have been))?(?: now)?"
    r" (?:done|finished|completed?|successful|succeeded|executed)(?: successfully)?"
)
_ALL_DONE = (
    r"(?:all |it(?:'s| is| was) |that(?:'s| is| was) |everything (?:is |was |went )?)?(?:successfully )?"
    r"(?:done|ok(?:ay)?|good|fine|set|well|finished|completed?|executed|successful|success|succeeded)"
    r"(?: successfully)?"
)
# Longer phrases come first: what a phrase has matched is not tried in another way.
_SMALL_TALK_PHRASES = (
    r"good (?:morning|afternoon|evening|night|job|work|point|idea|question)|well done|sounds good|makes sense",
    r"got it|i see|understood|noted|alright|agreed|exactly|of course|you'?re welcome|no problem|cheers",
    _NO_NEWS,
    r"nothing(?: (?:new|special|else|learned|learnt|to (?:note|report|remember|add|learn)))*",
    _TASK_DONE,
    _ALL_DONE,
    r"(?:many )?thank(?:s| you)(?: (?:so|very) much| a lot)?|thx|successfully|n/?a|none|null",
    r"(?:hi|hello|hey)(?: there)?|goodbye|bye|welcome|yes|yeah|yep|no|nope|sure|right|great|cool|nice|perfect|excellent",
    r"awesome|lol|wow|hm+|(?:ha){2,}|k",
    r"(?:没有|暂无|无)(?:新的?)?(?:错误|问题|内容|信息|收获|经验|学习点|异常)?|没问题|没关系|一切正常|正常",
    r"(?:任务|操作|执行|运行|工作流?|请求)?(?:已经|均已|已|成功)?(?:完成|成功|结束|执行|通过)[了的]?",
    r"好[的吧啊呀]?|可以|行|对[的啊]?|是的?|嗯|哦|啊|哈|明白了?|知道了|收到|了解|当然|不错|很好|太好了|真棒",
    r"谢谢[你您]?|多谢|感谢|辛苦了|不客气|不用谢|你好|您好|早上好|晚上好|晚安|再见|拜拜|欢迎",
)
_SMALL_TALK: Final = re.compile(
    rf"{_PAUSE}(?>(?:{'|'.join(_SMALL_TALK_PHRASES)})(?![a-z]){_PAUSE})*+", re.IGNORECASE
)
