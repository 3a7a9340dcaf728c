"""Pages of documents are embedded as other entries are, and found by other words with the default model."""

from collections.abc import Iterator
from typing import Any

import pytest

from memory import services
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door
from tests.memory.services.documents.uploading import BASE, upload
from tests.support.cast import Person
from tests.support.embedding import forget


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_host")]

TEXT = """# Handbook

## Vacation

Everyone has twenty-five days of paid vacation in each calendar year. The days that are left may be taken until March of the
year after it. Ask your manager two weeks before, and enter the days in the calendar of the team. Public feasts come on top.

## Coffee machine

The machine on the second floor is cleaned each Friday. Put beans into the upper container, and water into the one behind
it. If the red lamp is on, empty the tray. Descaling takes half an hour; the tablets are in the drawer below the sink.

## Expenses

Send receipts of business trips to accounting before the end of the month. Train tickets are refunded in full, a taxi only
after ten in the evening. Meals are paid by a flat rate for each day, which depends on the country that you travel to.
"""


@pytest.fixture
def built_in_model(settings: Any) -> Iterator[None]:
    settings.MEMORY_EMBEDDER = "local"
    forget()
    yield
    forget()


@pytest.mark.usefixtures("built_in_model")
@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("How many holidays do I get?", "Vacation"),
        ("How do I make an espresso?", "Coffee machine"),
        ("Who reimburses my travelling costs?", "Expenses"),
    ],
)
def test_paraphrase_finds_the_section_of_a_document(
    alice: Person, question: str, heading: str
) -> None:
    upload(alice, TEXT)
    assert embed_team(alice.team.pk) >= 3

    hits = services.find_pages(at_door(alice), namespace=BASE, query=question, top_k=3)

    assert hits[0].item.page.title == f"Handbook › {heading}"
