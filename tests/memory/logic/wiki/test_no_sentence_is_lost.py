"""Every sentence of a source is in a page that the rules compile from it, or in the report of those that no page has."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.logic.knowledge.page_sources import cite_sources
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.knowledge.wiki_sources import WikiSource
from memory.logic.wiki.compilation import compile_by_rules
from memory.logic.wiki.passages import find_unused_sentences
from memory.logic.wiki.sentences import list_keys, list_sentences


NOW = datetime(2026, 11, 29, tzinfo=UTC)
NAME = "Red mill"

# Sentences with their language's own ends, abbreviations, quotations, numbers and addresses; half of them name the page.
SENTENCES = [
    "The red mill stands in Zug.",
    "The red mill costs 7 euros.",
    "The red mill costs 70 euros.",
    "The red mill is at -5 °C.",
    "The red mill is at 5 °C.",
    "The red mill isn't open.",
    "It is wrong that the red mill is open.",
    'Ben said: "The red mill turns!" and left.',
    "Dr. Ana Müller runs the red mill, e.g. on 3. Mai, at https://example.com/?q=1 or by phone.",
    "The red mill " + "turns and " * 300 + "rests.",
    "Ana paints.",
    "Die Wiese gehört z. B. Herrn Dr. Müller.",
    "¿Quién abre la puerta?",
    "Où est la clé ?",
    "Мельница стоит у реки, ул. Мира, д. 5.",
    "المفتاح عند آنا؟",
    "चाबी आना के पास है।",
    "红磨坊在苏黎世。",
    "「走吧！」他说。",
    "鍵はアナが持っています。",
    "열쇠는 아나에게 있습니다.",
    "กุญแจอยู่กับอานา",
    "C++ runs it.",
    "C runs it.",
]
SENTENCE = st.sampled_from(SENTENCES)
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=4).map(" ".join)
LINES = st.lists(SENTENCE, min_size=1, max_size=4).map("\n".join)
LIST = st.tuples(
    st.sampled_from(["- ", "* ", "1. "]), st.lists(SENTENCE, min_size=1, max_size=4)
).map(lambda pair: "\n".join(f"{pair[0]}{item}" for item in pair[1]))
ANNOUNCED = LIST.map(lambda items: f"The red mill has these parts:\n\n{items}")
TABLE = st.lists(SENTENCE, min_size=1, max_size=3).map(
    lambda cells: "\n".join(["| What | Who |", "| --- | --- |", *(f"| {c} | Ana |" for c in cells)])
)
CODE = st.lists(SENTENCE, min_size=1, max_size=3).map(
    lambda lines: "```text\n" + "\n\n".join(lines) + "\n```"
)
HEADING = st.tuples(st.integers(1, 3), st.sampled_from(["Red mill", "The red mill today", "Garden"])).map(
    lambda pair: f"{'#' * pair[0]} {pair[1]}"
)  # fmt: skip
TEXT = st.lists(
    st.one_of(PARAGRAPH, LINES, LIST, ANNOUNCED, TABLE, CODE, HEADING), min_size=1, max_size=7
).map("\n\n".join)


def squeeze(text: str) -> str:
    """Return the text without spaces and signs of Markdown, which a page may set in another way."""
    return "".join(text.replace("**", "").split())


def source_of(text: str, id: str = "a") -> WikiSource:  # noqa: A002 - as the field
    return WikiSource(id=id, title="", text=text)


def page_of(*sources: WikiSource, content: str = "") -> KnowledgePage:
    page = KnowledgePage(id="red-mill", title=NAME, aliases=("红磨坊",), content=content)
    return cite_sources(page, [(source.id, source.digest) for source in sources])


def compile_from(page: KnowledgePage, *sources: WikiSource) -> KnowledgePage:
    return compile_by_rules(page, {source.id: source for source in sources}, NOW)


@given(TEXT)
def test_sentences_of_a_text_have_all_its_characters(text: str) -> None:
    assert squeeze("".join(list_sentences(text))) == squeeze(text)


@given(TEXT, TEXT)
def test_every_sentence_of_a_changed_source_is_in_the_page_or_in_the_report(
    before: str, after: str
) -> None:
    old, new = source_of(before), source_of(after)
    page = compile_from(page_of(old), old)

    compiled = compile_from(page, new)

    kept = squeeze(
        "\n".join([compiled.title, *find_unused_sentences(new, [compiled]), compiled.content])
    )
    text = squeeze(after)
    for sentence in SENTENCES:
        if squeeze(sentence) in text:
            assert squeeze(sentence) in kept
            if "red mill" in sentence.casefold():
                assert squeeze(sentence) in squeeze(compiled.content)
    assert compile_from(compiled, new).content == compiled.content


@given(TEXT, TEXT)
def test_what_a_source_still_says_stays_when_another_one_is_gone(first: str, second: str) -> None:
    one, other = source_of(first, "a"), source_of(second, "b")
    page = compile_from(page_of(one, other), one, other)

    left = compile_from(page, other)

    alone = compile_from(page_of(other), other)
    assert list_keys(alone.content) <= list_keys(left.content) <= list_keys(second)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("The red mill costs 70 euros.", "The red mill costs 7 euros."),
        ("It is wrong that the red mill is open.", "The red mill is open."),
        ("The red mill is at 5 °C.", "The red mill is at -5 °C."),
        ("The red mill is open on Sunday evening.", "The red mill is open on Sunday."),
        ("The red mill costs €5.", "The red mill costs $5."),
    ],
)
def test_sentence_that_is_a_part_of_another_or_like_it_is_added(known: str, said: str) -> None:
    compiled = compile_from(page_of(source_of("x"), content=known), source_of(f"{known}\n{said}"))

    assert compiled.content.split("\n\n") == [known, said]


def test_more_than_forty_sentences_of_a_source_are_in_the_page() -> None:
    sentences = [f"The red mill has {number} hundred sacks." for number in range(100)]
    source = source_of(" ".join(sentences))

    compiled = compile_from(page_of(source), source)

    assert compiled.content.split("\n\n") == sentences


def test_all_below_a_heading_and_in_a_list_about_the_page_is_in_it() -> None:
    text = (
        "# Garden\n\nRoses grow.\n\n# Red mill\n\nOpen daily.\n\n## Prices\n\n| Day | Euros |\n| --- | --- |\n| Monday | 7 |"
        "\n\n# Shop\n\nBread is sold.\n\nThe red mill has:\n\n- a wheel\n- a roof\n\nFlour is sold, too."
    )
    source = source_of(text)

    compiled = compile_from(page_of(source), source)

    assert compiled.content.split("\n\n") == [
        "Open daily.",
        "## Prices",
        "| Day | Euros |\n| --- | --- |\n| Monday | 7 |",
        "The red mill has:",
        "- a wheel",
        "- a roof",
    ]
    assert find_unused_sentences(source, [compiled]) == [
        "# Garden", "Roses grow.", "# Shop", "Bread is sold.", "Flour is sold, too.",
    ]  # fmt: skip


def test_wrapped_lines_and_abbreviations_cut_no_sentence() -> None:
    text = (
        "The red mill by the river was built by Dr. Ana\nMüller, i.e. the grandmother of its present owner,\n"
        "and opens on 3. May. Bern is far."
    )
    source = source_of(text)

    compiled = compile_from(page_of(source), source)

    assert compiled.content == (
        "The red mill by the river was built by Dr. Ana Müller, i.e. the grandmother of its present owner, "
        "and opens on 3. May."
    )


def test_unnamed_sentence_of_a_paragraph_that_goes_stays_if_its_source_still_says_it() -> None:
    old = source_of("The red mill is in Basel. Ana paints.")
    page = page_of(old, content="The red mill is in Basel. Ana paints.")

    compiled = compile_from(page, source_of("The red mill is in Zug. Ana paints."))

    assert compiled.content == "The red mill is in Zug.\n\nAna paints."


def test_sentence_of_two_sources_comes_from_both_and_its_near_copy_is_brought_back() -> None:
    one = source_of("The red mill is open. The red mill stands in old Zug.", "a")
    other = source_of("The red mill is open. The red mill stands in Zug. The red mill turns.", "b")
    page = page_of(one, content="The red mill is open.\n\nThe red mill stands in old Zug.")
    page = compile_from(cite_both(page, one, other), one, other)

    left = compile_from(page, other)

    assert sorted(left.content.split("\n\n")) == [
        "The red mill is open.",
        "The red mill stands in Zug.",
        "The red mill turns.",
    ]


def cite_both(page: KnowledgePage, one: WikiSource, other: WikiSource) -> KnowledgePage:
    """Return the page with a second source that has no part in it yet."""
    (cited,) = cite_sources(page, [(other.id, "an earlier text")]).sources
    pair = (*cite_sources(page, [(one.id, one.digest)]).sources, cited)
    return KnowledgePage(
        id=page.id, title=page.title, aliases=page.aliases, content=page.content, sources=pair
    )
