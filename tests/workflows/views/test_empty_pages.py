"""Pages without rows are for people first: what programs send is folded, and what waits for nobody is said in words."""

import pytest
from django.template.loader import render_to_string

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.support.markup import markup_of


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/tasks/", "/memory/review/", "/memory/knowledge/"])
def test_call_of_the_api_is_folded(alice: Person, address: str) -> None:
    page = markup_of(alice.client.get(address))

    before, _, after = page.partition('<details class="by-api">')
    assert "curl" not in before
    assert "curl" in after.partition("</details>")[0]


@pytest.mark.django_db
def test_home_says_what_does_not_wait_and_not_that_all_is_well(alice: Person) -> None:
    make_workflow(alice)  # without any, the page has only the first steps

    page = markup_of(alice.client.get("/"))

    assert "No questions or reviews are waiting" in page
    assert "All caught up" not in page


def test_search_has_words_for_one_result_and_for_several() -> None:
    dialog = " ".join(render_to_string("search/_dialog.html").split())

    assert 'data-one="1 result" data-text="{n} results"' in dialog
