"""Forms whose fields have what no parser or database takes: JSON of a great depth, long numbers, NUL, strange addresses."""

from typing import Any, Final

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from tests.factories.workflows import make_workflow
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set


pytestmark = pytest.mark.django_db

DEPTH: Final = 3000
HOSTILE: Final = {
    "open lists": "[" * DEPTH,
    "lists": "[" * DEPTH + "]" * DEPTH,
    "open objects": '{"a":' * DEPTH,
    "a long number": "1" * 6_000,
    "a number that is too large": "1e999",
    "no number": "NaN",
    "half a character": '"\\ud800"',
    "a NUL": '"\\u0000"',
}


@pytest.fixture
def entry(alice: Person) -> Entry:
    services.remember(at_door(alice), namespace="global:app", key="k", value="hello")
    with tenant([alice.team.pk]):
        return Entry.objects.unscoped().get()


def post(person: Person, url: str, form: dict[str, Any]) -> int:
    person.client.raise_request_exception = False
    return int(person.client.post(url, form).status_code)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_value_and_metadata_of_a_memory_are_refused(alice: Person, entry: Entry, text: str) -> None:
    url = reverse("memory:edit", args=[entry.pk])
    form = {"category": "fact", "tier": "long_term", "revision": 1, "importance": "0.5"}

    value = post(alice, url, {**form, "kind": "json", "value": text, "metadata": "{}"})
    metadata = post(
        alice, url, {**form, "kind": "text", "value": "x", "metadata": f'{{"a": {text}}}'}
    )

    assert (value, metadata) == (422, 422)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_fields_of_a_test_case_break_nothing(alice: Person, text: str) -> None:
    url = f"/workflows/{make_workflow(alice).pk}/tests/new/"
    form = {"name": "a", "turn-0-say": "x", "turn-0-person": ""}
    check = {"turn-0-check-0-of": "answer", "turn-0-check-0-operator": "="}

    statuses = {
        post(alice, url, {**form, "expected": text}),
        post(alice, url, {**form, "turn-0-inputs": f'{{"a": {text}}}'}),
        post(alice, url, {**form, "turn-0-rest": f'{{"a": {text}}}'}),
        post(alice, url, {**form, **check, "turn-0-check-0-value": text}),
    }

    assert statuses <= {200, 302, 422}


def test_nul_in_a_field_that_is_stored_is_refused(alice: Person) -> None:
    data_set = save_data_set(alice.principal, team_id=alice.team.pk, name="Greetings")
    (case,) = add_cases(alice.principal, data_set, [make_case("hello")])
    url = f"/data-sets/{data_set.pk}/cases/{case.pk}/"

    assert post(alice, url, {"name": "a\0b", "turn-0-say": "x", "turn-0-person": ""}) == 400
    assert alice.client.get(url).status_code == 200


@pytest.mark.parametrize("target", ["[1]", '["\\u0000"]', "(", "nowhere", "a b"])
def test_next_page_is_an_address_and_no_name_of_a_page(alice: Person, target: str) -> None:
    form = {"team": str(alice.team.pk), "next": target}

    assert post(alice, "/team/switch/", form) == 302
