"""Names of tools and of types of files in the reader's language."""

import pytest
from django.utils.translation import override

from tests.support.cast import Cast
from workflows.templatetags.problem_sentences import translate_message


def test_types_of_files_in_a_message_are_translated():
    message = "Slip in input form: a.txt is not of an accepted type (image, document, .dwg)"

    with override("zh-hans"):
        assert translate_message(message).endswith("（图片, 文档, .dwg）")


@pytest.mark.django_db
def test_page_of_tools_names_them_in_chinese(cast: Cast):
    page = cast.alice.client.get("/tools/", headers={"Accept-Language": "zh-hans"}).content.decode()

    assert "<b>计算器</b>" in page
    assert ">Tavily 搜索<" in page
    assert "calculator" in page  # by which a document names it
