"""The pages of a document: titles with headings, summaries, stable ids, and where in the document each is from."""

import re

from hypothesis import given
from hypothesis import strategies as st

from memory.logic.knowledge.documents.pages import (
    DocumentText,
    build_document_id,
    build_document_pages,
)
from memory.logic.knowledge.pages import KnowledgePage, parse_page, to_json


LONG = "Every employee has the right to a rest. " * 12


def pages_of(text: str, name: str = "Handbook.docx") -> list[KnowledgePage]:
    return build_document_pages(DocumentText(name, text, build_document_id(name), "d1"))


def test_pages_carry_headings_summaries_and_their_place_in_the_document() -> None:
    first, second = pages_of(
        f"# Leave\n\n## Vacation\n\nEach year has 25 days. {LONG}\n\n## Illness\n\nCall us. {LONG}"
    )

    assert first.title == "Handbook › Leave › Vacation"
    assert first.content.startswith("# Leave\n\n## Vacation\n\nEach")
    assert second.title == "Handbook › Leave › Illness"
    assert second.summary == "Call us."
    assert second.content.startswith("Call us.")
    assert second.tags == ("Handbook",)
    (source,) = second.sources
    assert (source.id, source.digest) == (build_document_id("Handbook.docx"), "d1")
    assert (source.heading, source.position) == ("Leave › Illness", 2)
    assert source.paragraphs


def test_heading_that_is_the_name_of_the_file_is_not_said_twice() -> None:
    (page,) = pages_of("# handbook\n\n## Leave\n\nText.")

    assert page.title == "handbook › Leave"


def test_place_in_the_document_survives_storing() -> None:
    (page,) = pages_of("# Leave\n\nText.")

    assert parse_page("page:x", to_json(page), {}, 1).sources == page.sources


def test_parts_of_one_section_have_numbered_titles_and_ids_of_their_own() -> None:
    pages = pages_of("# Leave\n\n" + "\n\n".join([LONG] * 6))

    assert [page.title for page in pages] == [
        "Handbook › Leave",
        "Handbook › Leave (2)",
        "Handbook › Leave (3)",
    ]
    assert len({page.id for page in pages}) == 3


def test_section_that_did_not_change_keeps_its_id_when_another_comes_before_it() -> None:
    before = pages_of(f"# A\n\n{LONG}\n\n# B\n\n{LONG}")
    after = pages_of(f"# New\n\n{LONG}\n\n# A\n\n{LONG}\n\n# B\n\n{LONG}")

    assert [page.id for page in after[1:]] == [page.id for page in before]


def test_file_of_the_same_name_is_the_same_document() -> None:
    assert build_document_id("Hand  Book.PDF") == build_document_id("hand book.pdf")
    assert build_document_id("handbook.pdf") != build_document_id("handbook.docx")


def test_summary_of_a_table_is_its_first_rows() -> None:
    (page,) = pages_of("## 2026\n\n| Region | Sum |\n| --- | --- |\n| North | 12 |", "sales.xlsx")

    assert page.title == "sales › 2026"
    assert page.summary == "Region, Sum; North, 12"


def test_summary_has_no_signs_of_markdown() -> None:
    (page,) = pages_of(
        "- A **kettle** of 2*3 litres goes *back* in `45 days`, see [the form](https://example.com/a_b)."
    )

    assert page.summary == "A kettle of 2*3 litres goes back in 45 days, see the form."


def test_comments_of_yaml_are_no_headings() -> None:
    (page,) = pages_of("# a comment\nkey: value", "settings.yaml")

    assert page.title == "settings"


def test_all_words_are_in_titles_and_contents_in_their_order() -> None:
    text = "\n\n".join(f"# Chapter {n}\n\nWords of {n}. {LONG}" for n in range(9))

    pages = pages_of(text)

    words = re.findall(r"\w+", "\n".join(f"{page.title}\n{page.content}" for page in pages))
    rest = iter(words)
    assert all(word in rest for word in re.findall(r"\w+", text))


def test_document_without_text_has_no_pages() -> None:
    assert pages_of(" \n\n ") == []


# Sentences of several languages, one of them longer than a page.
SENTENCES = [
    "Every employee has 25 days (see https://example.com/?q=1).",
    'Ana said: "Call us!" and left.',
    "Der Urlaub beginnt z. B. am 3. Mai.",
    "Отпуск начинается в мае.",
    "الإجازة عند آنا؟",
    "छुट्टी मई में है।",
    "员工每年有二十五天假期。",
    "休暇は五月からです。",
    "C++ isn't C, and -5 isn't 5.",
    "We work " + "and rest " * 400 + "again.",
    "每年" + "员工休假" * 800 + "。",
]
SENTENCE = st.sampled_from(SENTENCES)
SEVERAL = st.lists(SENTENCE, min_size=1, max_size=4)
CELLS = st.lists(st.sampled_from(SENTENCES[:9]), min_size=2, max_size=2)
NAMES = st.sampled_from(
    ["Question", "A question of a customer which is longer than eighty characters " * 2]
)
TABLE = st.tuples(
    NAMES, st.lists(CELLS | st.lists(SENTENCE, min_size=2, max_size=2), max_size=4)
).map(
    lambda pair: "\n".join(
        [
            f"| {pair[0].strip()} | Answer |",
            "| --- | --- |",
            *(f"| {' | '.join(row)} |" for row in pair[1]),
        ]
    )
)
HEADING = st.tuples(st.integers(1, 4), st.sampled_from(["Leave", "Who may leave " * 5, "Pay"])).map(
    lambda pair: f"{'#' * pair[0]} {pair[1].strip()}"
)
TEXT = st.lists(
    st.one_of(
        SEVERAL.map(" ".join),
        SEVERAL.map(lambda items: "\n".join(f"- {item}" for item in items)),
        SEVERAL.map(lambda lines: "\n".join(["```", *lines, "```"])),
        TABLE,
        HEADING,
    ),
    min_size=1,
    max_size=8,
).map("\n\n".join)  # fmt: skip


def squeeze(text: str) -> str:
    return "".join(text.split())


@given(TEXT)
def test_every_sentence_heading_and_cell_of_a_document_is_in_its_pages(text: str) -> None:
    pages = pages_of(text)

    kept = squeeze("\n".join(f"{page.title}\n{page.content}" for page in pages))
    # A sentence that is longer than a page is cut between two words or signs, and goes on at the top of the next one.
    contents = squeeze("".join(page.content for page in pages)).replace("```", "")
    for line in text.split("\n"):
        for part in line.strip("|#- `").split(" | "):
            assert squeeze(part) in kept or squeeze(part) in contents


def test_heading_stays_in_the_text_if_the_title_has_no_room_for_it() -> None:
    names = [f"{name} " + "of one very long chapter " * 3 for name in ("A", "B", "C", "D")]
    headings = [f"{'#' * level} {name.strip()}" for level, name in enumerate(names, start=1)]

    pages = pages_of(f"\n\n{LONG}\n\n".join([*headings, ""]))

    assert pages[-1].title.endswith("…")
    assert pages[-1].content.startswith(headings[-1])


def test_long_name_of_a_column_is_kept_if_no_row_fits_below_it() -> None:
    name = "A question of a customer which is longer than eighty characters and not a short one"

    pages = pages_of(f"| {name} | B |\n| --- | --- |\n| {'word ' * 600}| |")

    assert pages[0].content.startswith(f"- {name}: word word")
    assert pages[-1].content.endswith("- B:")
