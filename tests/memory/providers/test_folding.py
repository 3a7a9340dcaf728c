"""The database folds a text exactly as the program does."""

import pytest
from django.db.models import F

from accounts.tenancy import tenant
from memory import services
from memory.core.folding import fold
from memory.models import Entry
from memory.providers.postgres.folding import Folded, contains
from tests.memory.core.test_folding import FOLDED
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

ODD = [
    "100%_\\",
    "it's 'ß'",
    "Ⅻ ½ ㎏ ℃",
    "ǅ Ǆ",
    "ΌΔΟΣ",
    "Ⴀა",
    "Ꭰꭰ",
    "नि",
    "กำ",
    "👩‍👩‍👧",
    "مُحَمَّد",
    "ŉ ǰ",
]


def test_column_is_folded_as_the_program_folds(alice: Person) -> None:
    texts = [text for text, _ in FOLDED] + ODD
    for number, text in enumerate(texts):
        services.remember(at_door(alice), namespace="global:f", key=f"K{number:02}", value=text)

    with tenant([alice.team.pk]):
        entries = Entry.objects.unscoped().order_by("key")
        folded = entries.annotate(folded=Folded(F("text"))).values_list("text", "folded")

        assert dict(folded) == {text: fold(text) for text, _ in folded}
        assert len(folded) == len(texts)
        for text in ("100%_", "%_\\", "'SS'"):
            assert entries.filter(contains("text", text)).count() == 1
        assert entries.filter(contains("text", "")).count() == len(texts)
