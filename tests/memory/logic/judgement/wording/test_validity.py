"""When a fact holds, as its words say it: the date it holds from, and the last day of it."""

from datetime import UTC, datetime

import pytest

from memory.logic.judgement.wording.validity import (
    ALWAYS,
    Validity,
    parse_moment,
    read_validity,
)
from tests.support.cases import for_each


NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@for_each(
    "text, first, last",
    [
        ("I was in Rome from 2001 to 2005.", "2001-01-01", "2005-12-31"),
        ("I lived in Rome between 2001 and 2005.", "2001-01-01", "2005-12-31"),
        ("I worked at IBM 2001–2005.", "2001-01-01", "2005-12-31"),
        ("Until March I work at Siemens.", "", "2027-03-31"),
        ("From 1 January I live in Vienna.", "2027-01-01", ""),
        ("I live in Vienna from January 1, 2028.", "2028-01-01", ""),
        ("I've lived in Bonn since 2010.", "2010-01-01", ""),
        ("I've been vegan since March.", "2026-03-01", ""),
        ("I'm away from 3 May 2027 to 5 June 2027.", "2027-05-03", "2027-06-05"),
        ("Ich war von 2001 bis 2005 in Rom.", "2001-01-01", "2005-12-31"),
        ("Ab dem 1. Januar wohne ich in Wien.", "2027-01-01", ""),
        ("Bis März arbeite ich bei Siemens.", "", "2027-03-31"),
        ("Seit 2010 wohne ich in Bonn.", "2010-01-01", ""),
        ("Viví en Roma de 2001 a 2005.", "2001-01-01", "2005-12-31"),
        ("Viví en Roma desde 2001 hasta 2005.", "2001-01-01", "2005-12-31"),
        ("A partir del 1 de enero vivo en Viena.", "2027-01-01", ""),
        ("Trabajo en Seat hasta marzo.", "", "2027-03-31"),
        ("J'ai vécu à Rome de 2001 à 2005.", "2001-01-01", "2005-12-31"),
        ("À partir du 1er janvier j'habite à Vienne.", "2027-01-01", ""),
        ("Je travaille chez Renault jusqu'en mars.", "", "2027-03-31"),
        ("Ho vissuto a Roma dal 2001 al 2005.", "2001-01-01", "2005-12-31"),
        ("Lavoro alla Fiat fino a marzo.", "", "2027-03-31"),
        ("Morei em Roma de 2001 a 2005.", "2001-01-01", "2005-12-31"),
        ("Trabalho na Sonae até março.", "", "2027-03-31"),
        ("Ik woonde van 2001 tot 2005 in Rome.", "2001-01-01", "2005-12-31"),
        ("Vanaf 1 januari woon ik in Wenen.", "2027-01-01", ""),
        ("Mieszkałam w Rzymie od 2001 do 2005 roku.", "2001-01-01", "2005-12-31"),
        ("Od 1 stycznia mieszkam w Wiedniu.", "2027-01-01", ""),
        ("Я жил в Риме с 2001 по 2005 год.", "2001-01-01", "2005-12-31"),
        ("С 1 января я живу в Вене.", "2027-01-01", ""),
        ("Я работаю в Сбере до марта.", "", "2027-03-31"),
        ("2001'den 2005'e kadar Roma'da yaşadım.", "2001-01-01", "2005-12-31"),
        ("Mart'a kadar Siemens'te çalışıyorum.", "", "2027-03-31"),
        ("عشت في روما من 2001 إلى 2005.", "2001-01-01", "2005-12-31"),
        ("أعمل في سيمنز حتى مارس.", "", "2027-03-31"),
        ("ฉันอยู่ที่โรมตั้งแต่ปี 2001 ถึง 2005", "2001-01-01", "2005-12-31"),
        ("ผมทำงานที่ซีเมนส์จนถึงมีนาคม", "", "2027-03-31"),
        ("我从2001年到2005年住在罗马。", "2001-01-01", "2005-12-31"),
        ("我在西门子工作到3月。", "", "2027-03-31"),
        ("从1月1日起我住在维也纳。", "2027-01-01", ""),
        ("我從2010年住在台北。", "2010-01-01", ""),
        ("2001年から2005年までローマに住んでいました。", "2001-01-01", "2005-12-31"),
        ("3月までシーメンスで働いています。", "", "2027-03-31"),
        ("2001년부터 2005년까지 로마에 살았어요.", "2001-01-01", "2005-12-31"),
        ("3월까지 지멘스에서 일해요.", "", "2027-03-31"),
        ("1월 1일부터 빈에 살아요.", "2027-01-01", ""),
    ],
)
def test_text_says_when_it_holds(text: str, first: str, last: str) -> None:
    validity = read_validity(text, NOW)

    moments = (validity.valid_from, validity.valid_until)
    assert tuple(str(moment.date()) if moment else "" for moment in moments) == (first, last)


@for_each(
    "text",
    [
        "I was born in 1984.",
        "My birthday is 3 May.",
        "I work from 9 to 5.",
        "I work from Monday to Friday.",
        "I didn't live in Rome until 2005.",
        "I ski from January to March every year.",
        "In 2010 I lived in Rome.",
        "I studied from 2001 to 2005, and now I work at IBM.",
        "I'm from March in Cambridgeshire, I may move.",
        "My flight is on 3 May 2027.",
        "I have 2005 stamps.",
        "Ich bin 1984 geboren.",
        "Nací en 1984.",
        "我1984年出生。",
        "1984年生まれです。",
        "I may move.",
        "My son was born on May 3.",
        "I moved from Rome to Oslo in 2005.",
        "My mother and I met in 2001.",
        "Mi cumpleaños es el 3 de mayo.",
        "Sono nato a marzo.",
    ],
)
def test_other_dates_say_nothing_about_it(text: str) -> None:
    assert read_validity(text, NOW) == ALWAYS


def test_what_is_over_is_told_from_what_will_end() -> None:
    assert Validity(valid_until=datetime(2005, 12, 31, tzinfo=UTC)).is_over(NOW)
    assert not Validity(valid_until=datetime(2027, 1, 1, tzinfo=UTC)).is_over(NOW)
    assert not ALWAYS.is_over(NOW)


def test_moment_without_a_zone_is_in_utc() -> None:
    assert parse_moment("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert parse_moment("2026-01-31T10:00+02:00") == datetime(2026, 1, 31, 8, tzinfo=UTC)
    assert parse_moment("") is None
    with pytest.raises(ValueError, match="Invalid isoformat"):
        parse_moment("next spring")
