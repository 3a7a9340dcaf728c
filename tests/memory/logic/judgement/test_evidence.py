"""What a model makes of a message counts only as far as the person's own words go.

Each row is one operation of a scripted model. None of the messages was used for training.
"""

from dataclasses import dataclass

import pytest

from memory.logic.judgement.evidence import (
    NO_WISH,
    NOT_SAID,
    OTHER_ENTRY,
    OTHER_TEXT,
    QUOTED,
    STATES_NOTHING,
    TOO_LITTLE,
    UNSAID_NAME,
    Evidence,
)
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact, Operation


HOME = KnownFact("home", "I live in Gothenburg.")
JOB = KnownFact("job", "I work at Ikea.")
PHONE = KnownFact("phone", "My phone number is 031 555 0199.")
CAT = KnownFact("cat", "I have a cat called Misse.")
WIFE = KnownFact("wife", "My wife is called Maja.")
SMOKE = KnownFact("smoke", "I smoke a pack a day.")
STYLE = KnownFact("style", "Always answer in Swedish.")
DE = KnownFact("de", "Ich wohne in Passau.")
ES = KnownFact("es", "Trabajo en Correos.")
ZH = KnownFact("zh", "我住在西安。")
JA = KnownFact("ja", "猫を二匹飼っています。")
FACTS = (HOME, JOB, PHONE, CAT, WIFE, SMOKE, STYLE, DE, ES, ZH, JA)


@dataclass(frozen=True)
class Row:
    message: str
    action: Action
    evidence: str
    text: str = ""
    target: KnownFact | None = None
    earlier: tuple[str, ...] = ()

    def build(self) -> Operation:
        targets = (self.target.id,) if self.target else ()
        return Operation(self.action, self.text, targets, self.evidence)


def add(message: str, evidence: str, text: str, *earlier: str) -> Row:
    return Row(message, Action.ADD, evidence, text, earlier=earlier)


def replace(message: str, evidence: str, text: str, target: KnownFact, *earlier: str) -> Row:
    return Row(message, Action.REPLACE, evidence, text, target, earlier)


def end(message: str, evidence: str, target: KnownFact, *earlier: str) -> Row:
    return Row(message, Action.END, evidence, "", target, earlier)


def forget(message: str, evidence: str, target: KnownFact) -> Row:
    return Row(message, Action.FORGET, evidence, "", target)


MAIL = "> I live in Malmö.\n> My name is Sven.\nWhat does he want?"
CODE = 'Why does it fail?\n```\nname = "I live in Malmö"\n```'
TASK = "Hi there, please summarise the page for me"
MOVED = "We have just moved to Uppsala."

REFUSED = [
    # invented evidence
    (add(MOVED, "I am a millionaire", "I am a millionaire."), NOT_SAID),
    (end(MOVED, "I quit my job", JOB), NOT_SAID),
    (add("我刚搬到大连。", "我有三个孩子", "我有三个孩子。"), NOT_SAID),
    (add(MOVED, "", "I live in Uppsala."), NOT_SAID),
    # inside a word
    (end("The weather is nice, isn't it?", "eat", JOB), NOT_SAID),
    (replace("I love Copenhagen.", "open", "I live in Copenhagen.", HOME), NOT_SAID),
    (add("Das ist unwohnlich hier.", "wohn", "Ich wohne hier."), NOT_SAID),
    # words of others
    (add(MAIL, "I live in Malmö.", "I live in Malmö."), QUOTED),
    (replace(MAIL, "I live in Malmö", "I live in Malmö.", HOME), QUOTED),
    (add(CODE, "I live in Malmö", "I live in Malmö."), QUOTED),
    # a word that says nothing
    (end(TASK, "Hi", HOME), TOO_LITTLE),
    (add(TASK, "the", "I am the king."), TOO_LITTLE),
    (replace(TASK, "page", "I live in Uppsala.", HOME), TOO_LITTLE),
    # names and numbers of somewhere else, such as a page
    (add(MOVED, "moved to Uppsala", "I live in Uppsala with Karl Andersson."), UNSAID_NAME),
    (replace(MOVED, "moved to Uppsala", "I live in Kiruna.", HOME), UNSAID_NAME),
    (add("I have a new number.", "I have a new number", "My number is 070 555 0100."), UNSAID_NAME),
    (add("Je viens de déménager.", "Je viens de déménager", "J'habite à Nancy."), UNSAID_NAME),
    # a text that its evidence doesn't say
    (add(TASK, "please summarise the page", "I live in a big city."), OTHER_TEXT),
    (add(MOVED, "We have just moved", "I am rich."), OTHER_TEXT),
    (add("I love opera.", "I love opera", "I am allergic to penicillin."), OTHER_TEXT),
    (add("帮我看看这篇文章", "帮我看看这篇文章", "我有糖尿病。"), OTHER_TEXT),
    (add("Mira este artículo.", "Mira este artículo", "Tengo dos hijas."), OTHER_TEXT),
    (add("What does the letter say?", "does the letter say", "I owe money."), OTHER_TEXT),
    # an entry that the message doesn't speak of
    (replace(MOVED, "We have just moved to Uppsala", "I live in Uppsala.", PHONE), OTHER_ENTRY),
    (end("My sister is ill.", "My sister is ill", JOB), OTHER_ENTRY),
    (end("Ich mag jetzt Jazz.", "Ich mag jetzt Jazz", DE), OTHER_ENTRY),
    (end("Mi gato está enfermo.", "Mi gato está enfermo", ES), OTHER_ENTRY),
    (end("我喜欢听戏。", "我喜欢听戏", ZH), OTHER_ENTRY),
    (end(TASK, "please summarise the page", HOME), STATES_NOTHING),
    (end("What is the capital of Chile?", "What is the capital of Chile", CAT), STATES_NOTHING),
    # forgetting that nobody asked for, or of something else
    (forget("I moved. Forget my phone number.", "I moved", HOME), NO_WISH),
    (forget("Please forget my phone number.", "forget my phone number", CAT), OTHER_ENTRY),
    (forget("Vergiss bitte, wo ich wohne.", "Vergiss bitte, wo ich wohne", CAT), OTHER_ENTRY),
    (forget("请忘记我的电话号码。", "忘记我的电话号码", ZH), OTHER_ENTRY),
]

ALLOWED = [
    add(MOVED, "moved to Uppsala", "I live in Uppsala."),
    add("i moved to UPPSALA  last\nweek", "I moved to Uppsala last week", "I live in Uppsala."),
    add("It’s true: I don't eat meat.", "I don't eat meat", "I am a vegetarian."),
    add("my kids Tilde and Ove are ill", "my kids Tilde and Ove", "I have two children, Tilde and Ove."),
    add("Please keep it short.", "keep it short", "I want short answers."),
    add("Uppsala!", "Uppsala", "I live in Uppsala.", "Where do you live?"),
    add("Yes, since May.", "Yes, since May", "I live in Uppsala since May.", "Do you live in Uppsala?"),
    add("I moved last week.", "I moved last week", "I moved in November 2026.", "2026-11-30T10:00"),
    add("Ich bin jetzt Krankenpfleger.", "Ich bin jetzt Krankenpfleger", "Ich arbeite als Krankenpfleger."),
    add("Mieszkam w Warszawie.", "Mieszkam w Warszawie", "Moje miasto to Warszawa."),
    add("我刚搬到大连。", "我刚搬到大连", "我住在大连。"),
    add("昨日、京都に引っ越した。", "京都に引っ越した", "京都に住んでいます。"),
    add("나는 부산에 살아요.", "부산에 살아요", "나는 부산에 살아요."),
    replace(MOVED, "We have just moved to Uppsala", "I live in Uppsala.", HOME),
    replace("Answer in English from now on.", "Answer in English from now on", "Always answer in English.", STYLE),
    replace("Ich bin nach Regensburg gezogen.", "Ich bin nach Regensburg gezogen", "Ich wohne in Regensburg.", DE),
    replace("Ahora trabajo en Renfe.", "Ahora trabajo en Renfe", "Trabajo en Renfe.", ES),
    replace("我搬到大连了。", "我搬到大连了", "我住在大连。", ZH),
    end("I quit.", "I quit.", JOB),
    end("Not anymore.", "Not anymore", SMOKE, "Do you still smoke?"),
    end("We broke up.", "We broke up", WIFE),
    end("Misse died last night.", "Misse died last night", CAT),
    end("もう猫は飼っていません。", "もう猫は飼っていません", JA),
    forget("Please forget my phone number.", "forget my phone number", PHONE),
    forget("Vergiss bitte, wo ich wohne.", "Vergiss bitte, wo ich wohne", DE),
    forget("Forget that.", "Forget that", CAT),
]  # fmt: skip


@pytest.mark.parametrize(("row", "reason"), REFUSED)
def test_operation_that_the_message_does_not_say_is_refused_with_its_reason(
    judge: Judge, row: Row, reason: str
) -> None:
    assert Evidence(row.message, judge, FACTS).find_fault(row.build(), row.earlier) == reason


@pytest.mark.parametrize("row", ALLOWED)
def test_operation_that_the_message_says_is_allowed(judge: Judge, row: Row) -> None:
    assert Evidence(row.message, judge, FACTS).find_fault(row.build(), row.earlier) == ""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        *[row for row in REFUSED if row[1] in (NOT_SAID, QUOTED, TOO_LITTLE, UNSAID_NAME)],
        (add("I love opera.", "I love opera", "I am allergic to penicillin."), OTHER_TEXT),
        (forget("I moved. Forget my phone number.", "I moved", HOME), NO_WISH),
    ],
)
def test_words_are_compared_without_a_judge_too(row: Row, reason: str) -> None:
    assert Evidence(row.message, None, FACTS).find_fault(row.build(), row.earlier) == reason


def test_change_that_shares_no_word_with_the_entry_is_allowed_without_a_judge() -> None:
    row = replace(MOVED, "We have just moved to Uppsala", "I live in Uppsala.", HOME)

    assert Evidence(row.message, None, FACTS).find_fault(row.build()) == ""
