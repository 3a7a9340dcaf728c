"""Which words say little about what a statement is about."""

from bench.judgement.light_terms import list_light_terms
from bench.judgement.sentences import Sentence, read_sentences
from memory.logic.judgement.labels import About, Attribute, Kind
from memory.logic.judgement.trained.light_terms import LIGHT_TERMS


def state(text: str, attribute: Attribute, about: About = About.SELF) -> Sentence:
    return Sentence(text, "en", Kind.FACT, attribute=attribute, about=about)


def test_word_of_facts_about_many_things_is_light() -> None:
    attributes = (
        Attribute.WORK,
        Attribute.HOME,
        Attribute.LIKES,
        Attribute.AGE,
        Attribute.PLANS,
        Attribute.MAIL,
    )

    terms = list_light_terms([state("Zog", attribute) for attribute in attributes])

    assert terms == ["zog"]


def test_word_of_facts_about_one_thing_is_not() -> None:
    assert list_light_terms([state("Zog", Attribute.PETS)] * 9) == []


def test_who_belongs_to_somebody_has_content_whatever_is_said_of_them() -> None:
    attributes = (Attribute.WORK, Attribute.HOME, Attribute.LIKES, Attribute.AGE, Attribute.PLANS)

    terms = list_light_terms([state("Zog", each, About.OTHER) for each in attributes])

    assert terms == []


def test_list_of_the_product_is_that_of_the_sentences() -> None:
    assert sorted(LIGHT_TERMS) == list_light_terms(read_sentences())
    assert LIGHT_TERMS.isdisjoint({"daughter", "hund", "vegetarian", "peanut"})
    assert LIGHT_TERMS.issuperset({"mein", "week", "nicht"})
