"""What is a fact, what it replaces, and what a person asks to forget, in several languages and without a model."""

import pytest

from bench.judgement.conversations import FILE, play_conversations
from bench.judgement.retiring import measure_retiring, read_retiring
from bench.judgement.together import find_retirements, read_people
from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.operations import Action, KnownFact
from memory.logic.judgement.probes import load_probes


@pytest.mark.parametrize(
    "message",
    [
        "thanks a lot!", "lol ok", "What time is it in Tokyo", "Write me a poem about my cat",
        "If I were rich I'd buy a boat", "Water boils at 100 degrees", "Merci beaucoup", "写一首诗",
        "¿Dónde trabajo?", "Erzähl mir was Lustiges", "ありがとう", "Translate: my name is Tom",
    ],
)  # fmt: skip
def test_nothing_is_remembered(judge: Judge, message: str) -> None:
    assert judge.decide(judge.judge_message(message), [], []) == []


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("I'm allergic to nuts and I live in Graz.", ["I'm allergic to nuts.", "I live in Graz."]),
        ("Ich bin Lehrerin. Was soll ich kochen?", ["Ich bin Lehrerin."]),
        ("I like tea and coffee.", ["I like tea and coffee."]),
        ("Hi, my name is Ada and I live in Lisbon.", ["My name is Ada.", "I live in Lisbon."]),
        ("Always answer in French.", ["Always answer in French."]),
        (
            "Ich wohne in Kiel und arbeite bei Siemens.",
            ["Ich wohne in Kiel.", "Ich arbeite bei Siemens."],
        ),
        ("我叫小红，住在南京。", ["我叫小红。", "我住在南京。"]),
        ("I play tennis and football.", ["I play tennis and football."]),
        ("I am Ana, a nurse from Madrid.", ["I am Ana.", "A nurse from Madrid."]),
    ],
)
def test_each_fact_is_remembered_by_itself(judge: Judge, message: str, facts: list[str]) -> None:
    operations = judge.decide(judge.judge_message(message), [], [])

    assert [(o.action, o.text) for o in operations] == [(Action.ADD, fact) for fact in facts]


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            "I am Lena, I live in Hamburg and I am allergic to peanuts.",
            ["I am Lena.", "I live in Hamburg.", "I am allergic to peanuts."],
        ),
        (
            "i'm lena, i live in hamburg and i'm allergic to peanuts",
            ["I'm lena", "I live in hamburg", "I'm allergic to peanuts"],
        ),
        ("My cat died and I live alone.", ["My cat died.", "I live alone."]),
        (
            "I'm Lena, live in Hamburg and am allergic to peanuts.",
            ["I'm Lena.", "I live in Hamburg.", "I am allergic to peanuts."],
        ),
        (
            "Ich heiße Lena, wohne in Hamburg und bin allergisch gegen Erdnüsse.",
            ["Ich heiße Lena.", "Ich wohne in Hamburg.", "Ich bin allergisch gegen Erdnüsse."],
        ),
        (
            "Je m'appelle Lena, j'habite à Hambourg et je suis allergique aux arachides.",
            ["Je m'appelle Lena.", "J'habite à Hambourg.", "Je suis allergique aux arachides."],
        ),
        (
            "Me llamo Lena, vivo en Hamburgo y soy alérgica a los cacahuetes.",
            ["Me llamo Lena.", "Vivo en Hamburgo.", "Soy alérgica a los cacahuetes."],
        ),
        (
            "Meu nome é Lena, e moro em Hamburgo e sou alérgica a amendoim.",
            ["Meu nome é Lena.", "Moro em Hamburgo.", "Sou alérgica a amendoim."],
        ),
        (
            "Ik heet Lena, ik woon in Hamburg en ik ben allergisch voor pinda's.",
            ["Ik heet Lena.", "Ik woon in Hamburg.", "Ik ben allergisch voor pinda's."],
        ),
        (
            "Mam na imię Lena, mieszkam w Hamburgu i mam alergię na orzeszki ziemne.",
            ["Mam na imię Lena.", "Mieszkam w Hamburgu.", "Mam alergię na orzeszki ziemne."],
        ),
        (
            "Меня зовут Лена, я живу в Гамбурге и у меня аллергия на арахис.",
            ["Меня зовут Лена.", "Я живу в Гамбурге.", "У меня аллергия на арахис."],
        ),
        (
            "Benim adım Lena, Hamburg'da yaşıyorum ve fıstığa alerjim var.",
            ["Benim adım Lena.", "Hamburg'da yaşıyorum.", "Fıstığa alerjim var."],
        ),
        (
            "我叫莉娜，我住在汉堡，而且我对花生过敏。",
            ["我叫莉娜。", "我住在汉堡。", "我对花生过敏。"],
        ),
        (
            "ฉันชื่อลีนา ฉันอยู่ที่ฮัมบูร์กและแพ้ถั่วลิสง",
            ["ฉันชื่อลีนา", "ฉันอยู่ที่ฮัมบูร์ก", "แพ้ถั่วลิสง"],
        ),
        (
            "اسمي لينا، أعيش في هامبورغ وأعاني من حساسية الفول السوداني.",
            ["اسمي لينا.", "أعيش في هامبورغ.", "أعاني من حساسية الفول السوداني."],
        ),
    ],
)
def test_facts_of_a_row_become_entries_in_whole_sentences(
    judge: Judge, message: str, facts: list[str]
) -> None:
    operations = judge.decide(judge.judge_message(message), [], [])

    assert [operation.text for operation in operations] == facts


@pytest.mark.parametrize(
    "message",
    [
        "My dog Rex and I live in Bonn.", "Mein Mann und ich wohnen in Bonn.", "Mi marido y yo vivimos en Bonn.",
        "Tom and I moved to Oslo.", "I met Ana and Bo.", "I work for Marks and Spencer.",
        "Tom, Ana and I live in Oslo.", "Ich mag Tee und Kaffee.", "J'aime le thé et le café.",
        "Me gustan el té y el café.", "Lubię herbatę i kawę.", "Я люблю чай и кофе.", "我喜欢茶和咖啡。",
        "紅茶とコーヒーが好きです。", "Çay ve kahve severim.", "أحب الشاي والقهوة.",
    ],
)  # fmt: skip
def test_row_of_names_or_things_stays_one_fact(judge: Judge, message: str) -> None:
    operations = judge.decide(judge.judge_message(message), [], [])

    assert [operation.text for operation in operations] == [message]


@pytest.mark.parametrize(
    "message",
    [
        "My sister is called Anna, lives in Oslo and works at a bank.",
        "Ma sœur s'appelle Claire et habite à Nantes.",
        "Моя сестра врач и живёт в Омске.", "我妹妹叫小红，住在广州。", "妹は看護師で、札幌に住んでいます。",
    ],
)  # fmt: skip
def test_what_is_said_of_somebody_else_is_not_split_off_from_them(
    judge: Judge, message: str
) -> None:
    """Where they live would be where the person lives, and take the place of it."""
    known = [KnownFact("home", "I live in Vienna."), KnownFact("work", "I work at Bosch.")]

    (operation,) = judge.decide(judge.judge_message(message), known, [])

    assert (operation.action, operation.text, operation.targets) == (Action.ADD, message, ())


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("I live in Vienna.", "We moved to Graz in May."),
        ("Ich arbeite bei Bosch.", "Ich arbeite jetzt bei Miele."),
        ("我的电话是138-0000-1111。", "我的新电话是139-2222-3333。"),
        ("I'm a vegetarian.", "I'm no longer a vegetarian."),
    ],
)
def test_changed_fact_takes_the_place_of_the_known_one(
    judge: Judge, known: str, message: str
) -> None:
    (operation,) = judge.decide(judge.judge_message(message), [KnownFact("1", known)], [])

    assert (operation.action, operation.targets) == (Action.REPLACE, ("1",))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("I live in Vienna.", "My sister lives in Graz."),
        ("I have a dog called Rex.", "I have a cat called Tom."),
        ("Ich spreche Deutsch.", "Ich spreche auch Spanisch."),
        ("I live in Vienna.", "I lived in Paris as a child."),
        ("I live in Vienna.", "I like green tea."),
        # Of things, ends and events that only share a topic, a month or a "my", each stands by itself.
        ("Our van failed its inspection.", "I bought a new guitar last month."),
        ("I bought a new guitar last month.", "I sold my old piano."),
        ("I read a novel every week.", "I sprained my ankle last week."),
        ("Hausstaub lässt mich niesen.", "Mit dem Rauchen habe ich aufgehört."),
        ("Mein Mann arbeitet bei der Bahn.", "Meine Mutter ist jetzt in Rente."),
        ("我对花生过敏。", "我已经戒酒了。"),
        ("我住在里昂。", "房东要求每月三号前交租金。"),
    ],
)
def test_known_fact_stays_beside_another_one(judge: Judge, known: str, message: str) -> None:
    operations = judge.decide(judge.judge_message(message), [KnownFact("1", known)], [])

    assert [target for operation in operations for target in operation.targets] == []


def test_hardly_a_fact_takes_the_place_of_one_that_is_so_at_the_same_time(judge: Judge) -> None:
    retirements = find_retirements(judge, read_people())

    assert retirements.count > 200
    assert retirements.share <= 0.03, retirements.wrong


def test_what_only_looks_like_a_change_hardly_retires_anything(judge: Judge) -> None:
    figures = measure_retiring(judge, read_retiring())

    assert (figures.attacks, figures.changes) == (121, 65)
    assert figures.share_of_wrong_attacks <= 0.1, figures.wrong_attacks
    assert figures.share_of_right_changes >= 0.8, figures.wrong_changes


def test_what_a_person_asks_to_forget_is_found_by_what_it_is_about(judge: Judge) -> None:
    known = [KnownFact("1", "My phone number is 555-0142."), KnownFact("2", "I like tea.")]

    (operation,) = judge.decide(judge.judge_message("Please forget my phone number."), known, [])

    assert (operation.action, operation.targets) == (Action.FORGET, ("1",))


VAGUE = "forget that date"
TWO_PHONES = ["My mobile number is 555-0142.", "My office number is 555-0199."]
ALLERGIES = ["I'm allergic to peanuts.", "I'm allergic to cats."]


@pytest.mark.parametrize(
    ("wish", "kept"),
    [
        ("Forget everything about my allergies.", "Please always answer in short sentences."),
        ("Forget everything about my allergies.", "I have high blood pressure."),
        ("Vergiss alles über meine Allergien.", "Ich habe mit dem Rauchen aufgehört."),
    ],
)
def test_everything_about_a_thing_is_not_what_is_remotely_like_it(
    judge: Judge, wish: str, kept: str
) -> None:
    facts = ["I'm allergic to shellfish.", "我对花粉过敏。", kept]

    (operation,) = judge.decide(judge.judge_message(wish), [KnownFact(f, f) for f in facts], [])

    assert operation.action is Action.FORGET
    assert {*operation.targets} == {*facts[:2]}


def test_everything_about_somebody_is_all_that_names_them(judge: Judge) -> None:
    facts = ["My wife's name is Lena.", "My wife teaches geography.", "My sister lives in Graz."]
    clauses = judge.judge_message("Forget everything about my wife.")

    (operation,) = judge.decide(clauses, [KnownFact(fact, fact) for fact in facts], [])

    assert {*operation.targets} == {*facts[:2]}


@pytest.mark.parametrize(
    ("wish", "meant"),
    [
        ("Forget everything about my health", {"I have high blood pressure.", "I broke my wrist."}),
        ("Forget my sister", {"My sister lives in Graz."}),
        ("Forget everything I said about the trip to Corfu", set()),
    ],
)
def test_what_a_wish_may_mean_is_asked_about_where_nothing_is_likely(
    judge: Judge, wish: str, meant: set[str]
) -> None:
    facts = ["I have high blood pressure.", "I broke my wrist.", "My sister lives in Graz."]
    known_facts = [KnownFact(fact, fact) for fact in (*facts, "I live in Leeds.")]

    operations = judge.decide(judge.judge_message(wish), known_facts, [])

    assert {target for operation in operations for target in operation.targets} == meant
    assert all(operation.action is Action.ASK for operation in operations)


@pytest.mark.parametrize(
    ("wish", "known", "action", "meant"),
    [
        ("Please forget my number.", TWO_PHONES, Action.ASK, TWO_PHONES),
        ("Please forget both of my numbers.", TWO_PHONES, Action.FORGET, TWO_PHONES),
        ("Please forget my office number.", TWO_PHONES, Action.FORGET, TWO_PHONES[1:]),
        ("Forget my allergy.", ALLERGIES, Action.ASK, ALLERGIES),
        ("Please forget my peanut allergy.", ALLERGIES, Action.FORGET, ALLERGIES[:1]),
        ("Forget my phone number.", ["My phone number is 555-0142.", "You can call me at 555 0142."],
         Action.FORGET, ["My phone number is 555-0142.", "You can call me at 555 0142."]),
        ("Vergiss, wo ich wohne.", ["Ich wohne in Berlin.", "Meine Adresse ist Hauptstraße 5, Berlin."],
         Action.FORGET, ["Ich wohne in Berlin.", "Meine Adresse ist Hauptstraße 5, Berlin."]),
        ("忘记我的电话号码。", ["我的手机号码是13800138000。", "我的办公电话是01088886666。"],
         Action.ASK, ["我的手机号码是13800138000。", "我的办公电话是01088886666。"]),
    ],
)  # fmt: skip
def test_if_several_could_be_meant_the_person_is_asked(
    judge: Judge, wish: str, known: list[str], action: Action, meant: list[str]
) -> None:
    facts = [KnownFact(str(number), text) for number, text in enumerate([*known, "I like tea."])]

    (operation,) = judge.decide(judge.judge_message(wish), facts, [])

    found = {facts[int(target)].text for target in operation.targets}
    assert (operation.action, found) == (action, set(meant))


def test_forget_that_means_what_was_stored_last(judge: Judge) -> None:
    known = [KnownFact("1", "I live in Vienna."), KnownFact("2", "I like tea.")]

    (operation,) = judge.decide(judge.judge_message("Don't remember that."), known, ["2"])

    assert (operation.action, operation.targets) == (Action.FORGET, ("2",))


@pytest.mark.parametrize(
    "wish",
    [
        "Forget it.",
        "Forget the last thing.",
        "Vergiss das.",
        "Olvida eso.",
        "Забудь это.",
        "忘了这个",
        "please don't save that last thing",
        "Lösch bitte, was ich zuletzt gesagt habe.",
        "N'enregistre pas ma dernière phrase.",
        "最後のメッセージは保存しないで",
        "마지막 말은 기억하지 마",
        "لا تحفظ آخر رسالة",
    ],
)
def test_wish_without_a_topic_means_what_was_stored_last(judge: Judge, wish: str) -> None:
    known = [KnownFact("1", "I'm a nurse."), KnownFact("2", "I moved to Lyon.")]

    (operation,) = judge.decide(judge.judge_message(wish), known, ["2"])

    assert (operation.action, operation.targets) == (Action.FORGET, ("2",))


@pytest.mark.parametrize(
    "wish",
    [
        *(
            "Please forget my phone number.",
            "Forget what I told you about my dog.",
            "Forget my salary.",
        ),
        *("Vergiss meine Telefonnummer.", "Oublie mon adresse.", "Olvida mi número."),
        *(
            "Забудь про мою кошку.",
            "忘记我的电话",
            "猫のことは忘れて",
            "내 전화번호 잊어줘",
            "انس رقم هاتفي",
        ),
    ],
)
def test_wish_that_names_what_is_not_known_forgets_nothing(judge: Judge, wish: str) -> None:
    known = [KnownFact("1", "My name is Ana."), KnownFact("2", "I love jazz.")]

    assert judge.decide(judge.judge_message(wish), known, ["2"]) == []


@pytest.mark.parametrize(
    "message",
    [
        "Don't forget to call Ana.", "Don't forget that my sister is called Ana.",
        "I always forget my sister Ana's birthday.", "I forgot to call Ana.", "Vergiss nicht, Ana anzurufen.",
        "Ich vergesse immer Anas Geburtstag.", "N'oublie pas que ma sœur s'appelle Ana.",
        "No olvides que mi hermana se llama Ana.", "Não te esqueças da Ana, a minha irmã.",
        "Non dimenticare di chiamare Ana.", "Vergeet niet Ana te bellen.", "Nie zapomnij zadzwonić do Any.",
        "Не забудь, что мою сестру зовут Ana.", "Kardeşim Ana'yı aramayı unutma.", "لا تنس أن أختي اسمها Ana",
        "อย่าลืมโทรหา Ana", "别忘了给Ana打电话", "Anaに電話するのを忘れないで", "Ana한테 전화하는 거 잊지 마",
    ],
)  # fmt: skip
def test_who_forgets_something_or_asks_not_to_asks_for_nothing_to_be_forgotten(
    judge: Judge, message: str
) -> None:
    known = [KnownFact("1", "My sister is called Ana."), KnownFact("2", "I moved to Lyon.")]

    operations = judge.decide(judge.judge_message(message), known, ["2"])

    assert not {Action.FORGET, Action.ASK} & {operation.action for operation in operations}


def test_wish_that_may_mean_what_was_stored_last_is_asked_about(judge: Judge) -> None:
    known = [KnownFact("1", "I moved to Lyon.")]

    (operation,) = judge.decide(judge.judge_message(VAGUE), known, ["1"])

    assert (operation.action, operation.targets) == (Action.ASK, ("1",))


@pytest.mark.parametrize(
    "wish", ["Please forget my name.", "Vergiss meinen Namen.", "请忘记我的名字"]
)
def test_name_is_forgotten_and_not_what_was_said_after_it(judge: Judge, wish: str) -> None:
    known = [
        KnownFact("1", "My name is Ana."),
        KnownFact("2", "My sister is called Anna."),
        KnownFact("3", "I moved to Lyon."),
    ]

    (operation,) = judge.decide(judge.judge_message(wish), known, ["3"])

    assert (operation.action, operation.targets) == (Action.FORGET, ("1",))


@pytest.mark.parametrize(
    ("wish", "fact"),
    [
        ("Forget that I like coffee.", "I like coffee."), ("Vergiss, dass ich Kaffee mag.", "Ich mag Kaffee."),
        ("Oublie que j'aime le café.", "J'aime le café."), ("Olvida que vivo en Madrid.", "Vivo en Madrid."),
        ("Zapomnij, że mieszkam w Gdyni.", "Mieszkam w Gdyni."), ("Забудь, что я врач.", "Я врач."),
        ("忘记我喜欢咖啡", "我喜欢咖啡。"), ("コーヒーが好きなことは忘れて。", "コーヒーが好きです。"),
        ("내가 커피 좋아한다는 거 잊어 줘.", "나는 커피를 좋아해."),
    ],
)  # fmt: skip
def test_wish_that_repeats_a_fact_forgets_it(judge: Judge, wish: str, fact: str) -> None:
    known = [KnownFact("1", fact), KnownFact("2", "My name is Ana.")]

    (operation,) = judge.decide(judge.judge_message(wish), known, ["2"])

    assert (operation.action, operation.targets) == (Action.FORGET, ("1",))


@pytest.mark.parametrize(
    ("message", "action"),
    [("I moved to Lyon.", Action.REPLACE), ("Please forget where I live.", Action.FORGET)],
)
def test_what_others_said_about_themselves_is_neither_replaced_nor_forgotten(
    judge: Judge, message: str, action: Action
) -> None:
    known = [
        KnownFact("tom", "I live in Berlin.", is_of_other=True),
        KnownFact("own", "I live in Rome."),
    ]

    (operation,) = judge.decide(judge.judge_message(message), known, [])

    assert (operation.action, operation.targets) == (action, ("own",))


def test_weights_belong_to_the_encoder_and_know_every_kind() -> None:
    probes = load_probes()

    assert probes.encoder == encoder.ENCODER
    assert set(probes.kind.labels) == set(Kind)
    assert probes.kind.weights.shape == (len(Kind), 512)


def test_conversations_that_were_not_trained_on_are_judged_right(judge: Judge) -> None:
    """At least as many as the benchmark asks for: 85 of 100, and nothing that isn't worth it is stored."""
    passed = play_conversations(judge)

    assert FILE.exists()
    assert sum(right for right, _ in passed.values()) >= 0.85 * sum(n for _, n in passed.values())
    assert passed["junk"][0] == passed["junk"][1]


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("Ben wrote me this:\n\n> I am allergic to nuts.\n\nWhat should I answer?", []),
        ("From: ben@example.com\nSubject: Move\n\nI moved to Turin.\n\nPlease summarize it.", []),
        ("I work in Graz.\n\n> I work in Lima.", ["I work in Graz."]),
        ("لا أشرب الشاي", ["لا أشرب الشاي"]),
        ("هل أشرب الشاي؟", []),
        ("من در شیراز زندگی نمی‌کنم", ["من در شیراز زندگی نمی‌کنم"]),
        ("آیا من در شیراز زندگی می‌کنم؟", []),
    ],
)
def test_words_of_others_and_questions_are_no_facts(
    judge: Judge, message: str, facts: list[str]
) -> None:
    operations = judge.decide(judge.judge_message(message), [], [])

    assert [operation.text for operation in operations] == facts
