"""What somebody corrects takes its own place, and what only looks like a correction changes nothing."""

from memory.logic.judgement.clauses import split_sentences
from memory.logic.judgement.wording.corrections import apply_corrections
from tests.support.cases import for_each


@for_each(
    "message, sentences",
    [
        ("My name is Jon, no wait, John.", ["My name is John."]),
        ("I live in Berlin, sorry, I meant Bern.", ["I live in Bern."]),
        ("i live in berlin, sorry, i meant bern", ["i live in bern"]),
        ("My birthday is May 3rd... I mean May 4th.", ["My birthday is May 4th."]),
        ("My phone is 0171 1234567. Correction: 0171 7654321.", ["My phone is 0171 7654321."]),
        ("I'm 34 years old, no, 35.", ["I'm 35 years old"]),
        ("I live in New York, sorry, Boston.", ["I live in Boston."]),
        ("Ich wohne in Köln, nein, in Bonn.", ["Ich wohne in Bonn."]),
        ("Ich heiße Anna, Quatsch, Hanna.", ["Ich heiße Hanna."]),
        ("Ich habe einen Hund, ich meine, eine Katze.", ["Ich habe eine Katze."]),
        ("Vivo en Madrid, digo, en Málaga.", ["Vivo en Málaga."]),
        ("Me llamo Ana, perdón, Anna.", ["Me llamo Anna."]),
        (
            "Mi cumpleaños es el 3 de mayo, mejor dicho, el 4 de mayo.",
            ["Mi cumpleaños es el 4 de mayo."],
        ),
        ("J'habite à Lyon, pardon, à Lille.", ["J'habite à Lille."]),
        ("Mi chiamo Marco, anzi, Mirco.", ["Mi chiamo Mirco."]),
        ("Moro em Lisboa, quer dizer, em Leiria.", ["Moro em Leiria."]),
        ("Ik heet Jan, sorry, Johan.", ["Ik heet Johan."]),
        ("Mam na imię Ania, przepraszam, Hania.", ["Mam na imię Hania."]),
        ("Меня зовут Иван, вернее, Илья.", ["Меня зовут Илья."]),
        ("Adım Ali, pardon, Veli.", ["Adım Veli."]),
        ("İstanbul'da, pardon, Ankara'da yaşıyorum.", ["Ankara'da yaşıyorum."]),
        ("اسمي علي، أقصد عمر.", ["اسمي عمر."]),
        ("ฉันชื่อมะลิ เอ้ย มาลี", ["ฉันชื่อมาลี"]),
        ("我叫小红，不对，小虹。", ["我叫小虹。"]),
        ("我住在北京，不对，石家庄。", ["我住在石家庄。"]),
        ("我三十四岁，不对，三十五岁。", ["我三十五岁。"]),
        ("我住在台北，說錯了，台中。", ["我住在台中。"]),
        ("私の名前は健太、いや、健二です。", ["私の名前は健二です。"]),
        ("東京に住んでいます。いや、大阪です。", ["大阪に住んでいます"]),
        ("東京に、いや、大阪に住んでいます。", ["大阪に住んでいます。"]),
        ("제 이름은 민수, 아니, 민호예요.", ["제 이름은 민호예요."]),
        ("서울에 살아요. 아니, 부산이에요.", ["부산에 살아요"]),
        ("I live in Berlin, no, I live in Bern.", ["I live in Bern."]),
        ("No, I meant Quito.", []),
        ("Я живу в Туле, то есть в Твери.", ["Я живу в Твери."]),
        ("My boss is Carla, I mean Clara.", ["My boss is Clara."]),
        ("We have three kids... sorry, four kids.", ["We have four kids."]),
        ("I work for Bosch — no, Siemens.", ["I work for Siemens."]),
        ("I was born in 1984, oops, 1985.", ["I was born in 1985."]),
        ("My sister lives in Porto, pardon, in Braga.", ["My sister lives in Braga."]),
        ("Ich bin 1984 geboren. Korrektur: 1985.", ["Ich bin 1985 geboren"]),
        ("Meine Nummer ist 0151 2345, ich meine 0151 2346.", ["Meine Nummer ist 0151 2346."]),
        ("Trabajo en el Banco Sabadell, mejor dicho, en el BBVA.", ["Trabajo en el BBVA."]),
        ("Je m'appelle Luc, non attends, Lucas.", ["Je m'appelle Lucas."]),
        ("J'ai 34 ans, pardon, 35.", ["J'ai 35 ans"]),
        ("Lavoro alla Fiat, anzi, alla Ferrari.", ["Lavoro alla Ferrari."]),
        ("Tenho 34 anos, desculpa, 35 anos.", ["Tenho 35 anos."]),
        ("Ik woon in Utrecht, ik bedoel in Zeist.", ["Ik woon in Zeist."]),
        ("Mieszkam w Gdyni, to znaczy w Gdańsku.", ["Mieszkam w Gdańsku."]),
        ("Мне 34 года, точнее, 35 лет.", ["Мне 35 лет."]),
        ("عمري 34، لا، 35.", ["عمري 35."]),
        ("ผมอายุ 34 ไม่ใช่ 35", ["ผมอายุ 35"]),
        ("我在腾讯工作，不对，在阿里工作。", ["我在阿里工作。"]),
        ("我的電話是12345，不對，12346。", ["我的電話是12346。"]),
        ("誕生日は3月3日、いや、4日です。", ["誕生日は4日です。"]),
        ("저는 34살이에요. 아니, 35살이에요.", ["저는 35살이에요."]),
        ("我有一只狗。不对，是两只。", ["我有两只。"]),
    ],
)
def test_correction_takes_the_place_of_what_it_corrects(message: str, sentences: list[str]) -> None:
    assert apply_corrections(split_sentences(message)) == sentences


@for_each(
    "message",
    [
        "I was late, sorry, the train broke down.",
        "I live in Berlin. Sorry, I was at lunch.",
        "I have a dog, sorry, I have to go.",
        "No, I live in Rome.",
        "我住在北京，不是上海。",
        "I like tea. Actually I like everything.",
        "I have no pets, no children.",
        "No sugar for me. I'm diabetic.",
        "Nein, ich wohne in Wien.",
        "I moved here from Oslo, actually, Norway is cold.",
        "Sorry, my English is bad.",
        "I like Anna, no, Ben is nicer.",
        "私はいやなことを忘れます。",
        "No tengo hijos, no como carne.",
        "Je n'ai pas de chien, non, mais un chat.",
        "Bursa'da yaşıyorum, daha doğrusu İzmir'de.",
        "I don't eat meat, no fish, no eggs.",
        "Sorry for the delay, I'm Tom.",
        "I live with my mother, no pets.",
        "Hi! Sorry, I only speak German.",
        "J'habite à Paris, non loin de la Seine.",
        "No, gracias. Soy vegano.",
        "いや、いいです。",
        "不，我不吃肉。",
        "아니요, 저는 괜찮아요.",
        "Нет, спасибо. Я живу в Туле.",
        "I love Berlin, I mean, what a city!",
        "I prefer tea; I mean it.",
        "Wait, no idea.",
    ],
)
def test_what_corrects_nothing_stays_as_it_was_written(message: str) -> None:
    assert apply_corrections(split_sentences(message)) == split_sentences(message)


@for_each(
    "earlier, message, sentence",
    [
        ("I live in Lima.", "No, I meant Quito.", "I live in Quito."),
        ("Ich wohne in Köln.", "Nein, Bonn.", "Ich wohne in Bonn."),
        ("我住在重庆。", "不对，是成都。", "我住在成都。"),
        ("東京に住んでいます。", "いや、大阪です。", "大阪に住んでいます"),
    ],
)
def test_message_corrects_the_one_before_it(earlier: str, message: str, sentence: str) -> None:
    assert apply_corrections([message], earlier) == [sentence]
