"""The phrases that the offline provider puts around quoted sentences, in the question's language."""

from typing import Final


LABELS: Final = {"en": " (offline demo provider)", "zh": "（离线演示）"}

PHRASES: Final = {
    "en": {
        "noted": "Noted: ",
        "heard": "All right.",
        "remember": "I remember: ",
        "closest": "I don't know exactly, but I remember: ",
        "prompt": "From the context: ",
        "tool": "The tool answered: ",
        "stored": "I stored: ",
        "more": "\nFor the rest I need a real model: connect one.",
        "unknown": "I don't know anything about that yet.",
        "images": "I was given {names}, and can't see images: connect a model that does. ",
        "forget": "What came of your wish to forget is shown below.",
        "hello": "Hello! Tell me something to remember, or ask me about it.",
        "empty": "There is nothing to answer.",
        "command": "This needs a real model. Connect one to complete it. ",
    },
    "zh": {
        "noted": "记下了：",
        "heard": "好的。",
        "remember": "我记得：",
        "closest": "我不确定，但我记得：",
        "prompt": "根据给出的内容：",
        "tool": "工具返回：",
        "stored": "已保存：",
        "more": "\n其余的需要真正的模型，请先连接一个。",
        "unknown": "这方面我还什么都不知道。",
        "images": "我收到了 {names}，但看不了图片：请连接能看图片的模型。",
        "forget": "忘记的结果见下方。",
        "hello": "你好！告诉我要记住的事，或者问我记得什么。",
        "empty": "没有要回答的内容。",
        "command": "这需要真正的模型，请先连接一个。",
    },
}

_COMPLETE_NAMES = ("heard", "unknown", "more", "forget", "hello", "empty", "command")
_OTHER_NAMES = (*_COMPLETE_NAMES, "images")

# The phrases before a quoted sentence.
INTRODUCTIONS: Final = tuple(
    text
    for phrases in PHRASES.values()
    for name, text in phrases.items()
    if name not in _OTHER_NAMES
)
# … from memory.
RECALLING: Final = tuple(
    phrases[name] for phrases in PHRASES.values() for name in ("remember", "closest")
)
# Parts of stored answers of earlier releases.
_FORMER_SENTENCES: Final = (
    "You asked me to forget something.",
    "A note below says what was forgotten, or that nothing was found.",
    "你让我忘记一件事。",
    "下方会说明忘记了什么，或者没有找到。",
)
# The sentences of answers that quote nothing.
COMPLETE_SENTENCES: Final = frozenset(_FORMER_SENTENCES) | frozenset(
    sentence.strip()
    for phrases in PHRASES.values()
    for name in _COMPLETE_NAMES
    for sentence in (phrases[name], *phrases[name].replace("! ", "!\n").splitlines())
)
