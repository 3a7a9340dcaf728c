"""What a wish to forget means: the person's own thing, each of several, its history, or everything, in many languages."""

import pytest

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact


def decide(
    judge: Judge, wish: str, facts: list[str], former: tuple[str, ...] = ()
) -> list[tuple[Action, list[str]]]:
    """Return what is forgotten, and what is asked about. The ids of the facts are their texts."""
    known_facts = [KnownFact(fact, fact, is_former=fact in former) for fact in facts]
    operations = judge.decide(judge.judge_message(wish), known_facts, [])
    return [(each.action, sorted(each.targets)) for each in operations]


@pytest.mark.parametrize(
    ("wish", "own", "others"),
    [
        ("forget my phone number", "My phone number is 555-0142.", "My brother's phone number is 555-0199."),
        ("Vergiss, wo ich wohne.", "Ich wohne in Wien.", "Mein Bruder wohnt in Graz."),
        ("Olvida mi teléfono.", "Mi teléfono es 600333444.", "El teléfono de mi hermano es 600111222."),
        ("忘记我的电话号码", "我的电话是13900139000。", "我哥哥的电话是13800138000。"),
        ("私の電話番号を忘れて", "私の電話番号は090-9999-8888です。", "兄の電話番号は080-1234-5678です。"),
        ("Forget my brother's phone number.", "My brother's phone number is 555-0199.", "My phone number is 555-0142."),
        ("忘记我哥哥的电话", "我哥哥的电话是13800138000。", "我的电话是13900139000。"),
    ],
)  # fmt: skip
def test_thing_of_the_person_is_not_that_of_somebody_else(
    judge: Judge, wish: str, own: str, others: str
) -> None:
    assert decide(judge, wish, [own, others]) == [(Action.FORGET, [own])]


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("Please forget my name.", "My name is Mia."),
        ("Vergiss bitte meinen Namen.", "Mein Name ist Mia."),
        ("Oublie mon nom.", "Mon nom est Mia."),
        ("忘记我的名字", "我的名字是小红。"),
    ],
)
def test_name_is_forgotten_however_it_was_told(judge: Judge, wish: str, name: str) -> None:
    assert decide(judge, wish, [name, "I like tea."]) == [(Action.FORGET, [name])]


def test_name_of_somebody_else_is_not_forgotten_for_that_of_the_person(judge: Judge) -> None:
    assert decide(judge, "Please forget my name.", ["My brother's name is Tom."]) == []


@pytest.mark.parametrize(
    ("wish", "meant", "other_fact"),
    [
        ("Forget my phone number and my address.",
         ["My phone number is 555-0142.", "My address is Main Street 5."], "I'm 34 years old."),
        ("Forget how old I am and what I told you about Lyon.",
         ["I'm 34 years old.", "I went to Lyon last summer."], "My name is Mia."),
        ("Forget my name and where I live.", ["My name is Mia.", "I live in Berlin."], "My mother lives in Rome."),
        ("Forget my name, my age and my phone number.",
         ["My name is Mia.", "I'm 34 years old.", "My phone number is 555-0142."], "I live in Berlin."),
        ("Vergiss meine Telefonnummer und wie alt ich bin.",
         ["Meine Telefonnummer ist 0171 1234567.", "Ich bin 34 Jahre alt."], "Ich heiße Mia."),
        ("Olvida dónde vivo y cómo me llamo.", ["Vivo en Lima.", "Me llamo Ana."], "Tengo 34 años."),
        ("Oublie mon adresse et mon nom.", ["J'habite à Lyon.", "Je m'appelle Léa."], "J'ai 34 ans."),
        ("Dimentica dove abito e come mi chiamo.", ["Abito a Roma.", "Mi chiamo Ana."], "Ho 34 anni."),
        ("Esquece o meu nome e a minha idade.", ["Chamo-me Ana.", "Tenho 34 anos."], "Moro em Lisboa."),
        ("Zapomnij, gdzie mieszkam i ile mam lat.", ["Mieszkam w Gdyni.", "Mam 34 lata."], "Nazywam się Mia."),
        ("Забудь, где я живу и сколько мне лет.", ["Я живу в Минске.", "Мне 34 года."], "Меня зовут Мия."),
        ("انس اسمي وعمري", ["اسمي ليلى", "عمري 34 سنة"], "أحب القهوة"),
        ("ลืมชื่อและอายุของฉัน", ["ฉันชื่อมีนา", "ฉันอายุ 34 ปี"], "ฉันชอบกาแฟ"),
        ("忘记我的名字和电话。", ["我叫小红。", "我的电话是13900139000。"], "我今年34岁。"),
        ("私の名前と年齢を忘れてください。", ["私の名前は健太です。", "34歳です。"], "東京に住んでいます。"),
        ("내 이름과 나이를 잊어 줘.", ["제 이름은 민수예요.", "저는 34살이에요."], "서울에 살아요."),
    ],
)  # fmt: skip
def test_each_thing_that_a_wish_names_is_forgotten(
    judge: Judge, wish: str, meant: list[str], other_fact: str
) -> None:
    assert decide(judge, wish, [*meant, other_fact]) == [(Action.FORGET, sorted(meant))]


def test_several_things_of_one_entry_are_one_operation(judge: Judge) -> None:
    fact = "I like tea and coffee."

    assert decide(judge, "Forget that I like tea and coffee.", [fact]) == [(Action.FORGET, [fact])]


@pytest.mark.parametrize(
    ("wish", "former", "now"),
    [
        ("Vergiss, wo ich arbeite.", "Ich arbeite bei SAP.", "Ich arbeite bei Bosch."),
        ("Olvida dónde trabajo.", "Trabajo en Telefónica.", "Ahora trabajo en el Banco Santander."),
        ("Forget where I live.", "I live in Berlin.", "I moved to Lyon."),
    ],
)
def test_history_of_a_thing_is_forgotten_with_it(
    judge: Judge, wish: str, former: str, now: str
) -> None:
    facts = sorted([former, now])

    assert decide(judge, wish, facts, former=(former,)) == [(Action.FORGET, facts)]


def test_two_statements_of_one_thing_are_forgotten_together(judge: Judge) -> None:
    facts = ["Ahora trabajo en el Banco Santander.", "Ya no trabajo en Telefónica."]

    assert decide(judge, "No quiero que recuerdes dónde trabajo.", facts) == [
        (Action.FORGET, facts)
    ]


@pytest.mark.parametrize(
    "wish",
    ["Forget my old phone number.", "忘记我以前的电话号码。", "Oublie mon ancien numéro de téléphone."],
)  # fmt: skip
def test_what_was_so_before_is_forgotten_alone(judge: Judge, wish: str) -> None:
    old, new = "My phone number is 555-0142.", "My phone number is 555-0143."

    assert decide(judge, wish, [old, new], former=(old,)) == [(Action.FORGET, [old])]


def test_what_stopped_holding_is_neither_replaced_nor_ended(judge: Judge) -> None:
    old = KnownFact("1", "I live in Berlin.", is_former=True)

    (operation,) = judge.decide(judge.judge_message("I moved to Lyon."), [old], [])

    assert (operation.action, operation.targets) == (Action.ADD, ())


@pytest.mark.parametrize(
    "wish",
    [
        "Delete all my data.", "Forget everything about me.", "Erase everything you know about me.", "Forget all of it.",
        "Please wipe everything that you have saved about me.", "Vergiss alles, was ich dir je erzählt habe.",
        "Lösch bitte alle Daten über mich.", "Supprime toutes les informations sur moi.", "Borra todo lo que sabes de mí.",
        "Apaga tudo o que sabes de mim.", "Cancella tutto ciò che sai su di me.", "Verwijder alles wat je van mij weet.",
        "Usuń wszystko, co o mnie wiesz.", "Сотри всё, что знаешь обо мне.", "Hakkımdaki her şeyi sil.",
        "احذف كل شيء عني", "ลบทุกอย่างที่เธอรู้เกี่ยวกับฉัน", "把关于我的信息全部删掉。", "請刪除你知道的關於我的一切。",
        "私のことは全部忘れてください。", "나에 대해 아는 거 다 지워 줘.",
    ],
)  # fmt: skip
def test_wish_to_forget_everything_asks_about_all_that_is_known(judge: Judge, wish: str) -> None:
    facts = ["I like tea.", "My mother lives in Rome.", "My phone number is 555-0142."]

    assert decide(judge, wish, facts) == [(Action.ASK, facts)]


@pytest.mark.parametrize(
    "wish",
    ["Forget everything about my mother.", "Vergiss alles über meine Mutter.", "忘记关于我妈妈的一切。"],
)  # fmt: skip
def test_everything_about_somebody_is_not_everything(judge: Judge, wish: str) -> None:
    facts = ["I like tea.", "My mother lives in Rome.", "My phone number is 555-0142."]

    assert not any(facts[0] in targets for _action, targets in decide(judge, wish, facts))


@pytest.mark.parametrize(
    "message",
    [
        "Actually, scratch that last thing.", "Ignore what I said.", "Take that back.", "No, I take it back.",
        "Ignorier, was ich gesagt habe.", "Ignore ce que j'ai dit.", "Zignoruj to, co powiedziałem.",
        "Не обращай внимания на то, что я сказал.", "刚才说的不算。", "剛才說的不算。",
    ],
)  # fmt: skip
def test_who_takes_back_what_was_said_last_is_asked(judge: Judge, message: str) -> None:
    known_facts = [KnownFact("1", "I live in Berlin."), KnownFact("2", "I moved to Lyon.")]

    (operation,) = judge.decide(judge.judge_message(message), known_facts, ["2"])

    assert (operation.action, operation.targets) == (Action.ASK, ("2",))


@pytest.mark.parametrize(
    "message",
    [
        "Ok, got it.", "That's wrong.", "I didn't say that.", "I told you that already.", "Stop.", "Haha.",
        "What did I just say?", "Das stimmt nicht.", "Scratch that itch.", "Please continue.", "我刚才说的对吗？",
    ],
)  # fmt: skip
def test_reaction_takes_nothing_back(judge: Judge, message: str) -> None:
    operations = judge.decide(judge.judge_message(message), [KnownFact("1", "I like tea.")], ["1"])

    assert [each for each in operations if each.targets] == []
