"""The id of a person that a signed-in member names: it gets the member's id, which needs room."""

import pytest

from tests.support.cast import Person
from workflows.errors import InvalidValue
from workflows.services.runs.runs import resolve_subject


pytestmark = pytest.mark.django_db


def test_name_of_a_test_person_that_is_too_long_is_refused_with_its_limit(alice: Person) -> None:
    subject = resolve_subject(alice.principal, "x" * 43)

    assert subject.id.startswith("x" * 43 + "@")
    with pytest.raises(InvalidValue, match=r"user: too long.* 43 characters"):
        resolve_subject(alice.principal, "x" * 44)
