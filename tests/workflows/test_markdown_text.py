"""The Markdown of answers, which models write: it becomes HTML that fetches and runs nothing."""

from typing import Any
from uuid import UUID

import pytest

from tests.support.cases import for_each
from workflows.files.shown import ShownFile
from workflows.templatetags.markdown_text import render_answer


OWN = UUID("019a0000-0000-7000-8000-000000000001")
LINK = f"/files/{OWN}/?token=signed:by-us_1"
PICTURE = ShownFile(OWN, "cat.png", f"/files/{OWN}/", 1234, has_picture=True)


@for_each(
    "text, html",
    [
        ("One\ntwo", "<p>One<br>\ntwo</p>\n"),
        ("# Plan", "<h4>Plan</h4>\n"),
        ("### Step", "<h6>Step</h6>\n"),
        ("###### Detail", "<h6>Detail</h6>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("[run](javascript:alert(1))", "<p>[run](javascript:alert(1))</p>\n"),
        ("[run](data:text/html,x)", "<p>[run](data:text/html,x)</p>\n"),
        (
            "[docs](https://example.com/a)",
            '<p><a href="https://example.com/a" target="_blank" rel="noopener noreferrer nofollow">docs</a></p>\n',
        ),
    ],
)
def test_answer_becomes_html_of_the_page(text: str, html: str) -> None:
    assert render_answer(text) == html


def test_image_of_an_answer_is_not_fetched() -> None:
    html = render_answer("![chart](https://example.com/leak?what=secret)")

    assert "<img" not in html
    assert "src=" not in html
    assert html.startswith('<p><a href="https://example.com/leak?what=secret" target="_blank"')


def test_image_of_the_store_is_a_picture_without_its_signature() -> None:
    html = render_answer(f"Look: ![cat.png]({LINK})", {OWN: PICTURE})

    assert f'<img src="/files/{OWN}/" alt="cat.png" loading="lazy">' in html
    assert "token" not in html
    assert html.startswith("<p>Look: <a")


def test_document_of_the_store_is_shown_with_name_and_size() -> None:
    report = ShownFile(OWN, "report.pdf", f"/files/{OWN}/", 2048, has_picture=False)

    html = render_answer(f"**[report.pdf]({LINK})**", {OWN: report})

    assert "<img" not in html
    assert f'href="/files/{OWN}/"' in html
    assert "report.pdf" in html
    assert "2.0\xa0KB" in html


@pytest.mark.parametrize(
    "address",
    [
        f"https://evil.example{LINK}",
        f"//evil.example{LINK}",
        f"https://ours.example@evil.example{LINK}",
        f"https://ours.example.evil.example{LINK}",
        f"https://ours.example/x/../files/{OWN}/",
    ],
)
def test_image_of_another_host_is_not_fetched_although_its_path_is_ours(
    address: str, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://ours.example"

    html = render_answer(f"![cat.png]({address})", {OWN: PICTURE})

    assert "<img" not in html


def test_image_of_this_site_is_a_picture_by_its_whole_address(settings: Any) -> None:
    settings.PUBLIC_URL = "https://ours.example/flows/"

    html = render_answer(f"![cat.png](https://ours.example/flows{LINK})", {OWN: PICTURE})

    assert "<img" in html


def test_file_that_is_not_the_readers_is_a_name() -> None:
    html = render_answer(f"![<b>cat</b>]({LINK})", {})

    assert "<img" not in html
    assert "href" not in html
    assert "&lt;b&gt;cat&lt;/b&gt;" in html


def test_table_of_an_answer_is_a_table() -> None:
    html = render_answer("| a | b |\n|---|---|\n| 1 | 2 |")

    assert "<th>a</th>" in html
    assert "<td>2</td>" in html
