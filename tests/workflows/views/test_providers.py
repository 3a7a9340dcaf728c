"""The page of models never says a key again."""

import pytest
from django.urls import reverse

from config.encryption.crypto import decrypt
from tests.factories.workflows import make_provider, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import ModelProvider
from workflows.services.credentials import update_provider


PAGE = reverse("workflows:providers")
CANARY = "sk-canary-4a7f9c2e51"
GOOD = {
    "name": "openai",
    "base_url": "https://models.example.org/v1",
    "api_key": CANARY,
    "default_model": "small",
}


def provider(person: Person) -> ModelProvider:
    with within(person):
        rows = ModelProvider.objects.visible_to(person.principal).select_related("credential")
        return rows.get()


def test_connected_provider_keeps_the_key_and_shows_only_its_end(ada: Person):
    answer = ada.client.post(PAGE, GOOD, follow=True)

    made = provider(ada)
    page = text_of(answer)
    assert answer.redirect_chain == [(PAGE, 302)]
    assert made.credential is not None
    assert decrypt(bytes(made.credential.secret)) == CANARY
    assert CANARY not in page
    assert ["openai" in page, "small" in page, CANARY[-4:] in page] == [True, True, True]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "two words"}, "id_name"),
        ({"name": ""}, "id_name"),
        ({"base_url": "not an address"}, "id_base_url"),
        ({"base_url": "file:///etc/passwd"}, "id_base_url"),
    ],
)
def test_form_that_does_not_fit_names_the_field_and_forgets_the_key(
    ada: Person, wrong: dict[str, str], field: str
):
    answer = ada.client.post(PAGE, {**GOOD, **wrong})

    page = text_of(answer)
    assert answer.status_code == 422
    assert f'id="{field}_error"' in page
    assert CANARY not in page


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"base_url": "https://user:pass@models.example.org/v1"}, 422),
        ({"api_key": "sk\x07bell"}, 422),
        ({"name": "taken"}, 409),
    ],
)
def test_what_the_service_refuses_is_said_without_the_key(
    ada: Person, wrong: dict[str, str], status: int
):
    make_provider(ada, name="taken")

    answer = ada.client.post(PAGE, {**GOOD, **wrong})

    assert answer.status_code == status
    assert CANARY not in text_of(answer)


def test_page_offers_changes_to_those_who_manage_credentials(cast: Cast):
    make_provider(cast.ada, secret=CANARY)

    answers = {name: person.client.get(PAGE) for name, person in cast.people.items()}

    assert {name: answer.status_code for name, answer in answers.items()} == {
        "alice": 200,
        "ada": 200,
        "bob": 200,
        "vic": 403,
        "carol": 200,
    }
    offered = {n for n, a in answers.items() if "Remove" in text_of(a)}
    assert offered == {"alice", "ada"}
    assert [n for n, a in answers.items() if CANARY in text_of(a)] == []
    assert "models.example.org" not in text_of(answers["carol"])


def test_page_with_one_and_with_three_providers_asks_as_often(
    ada: Person, django_assert_num_queries
):
    client = ada.client
    make_provider(ada, name="one")
    client.get(PAGE)

    with django_assert_num_queries(14):
        client.get(PAGE)
    make_provider(ada, name="two")
    make_provider(ada, name="three")
    with django_assert_num_queries(14):
        client.get(PAGE)


def test_provider_that_can_not_be_reached_says_why(ada: Person):
    made = make_provider(ada, secret=CANARY)
    update_provider(ada.principal, provider=made, base_url="http://127.0.0.1:9/v1")

    answer = ada.client.post(reverse("workflows:test_provider", args=[made.pk]))

    assert answer.status_code == 200
    assert "field-error" in text_of(answer)
    assert CANARY not in text_of(answer)


def test_removed_provider_takes_its_key_along(ada: Person):
    made = make_provider(ada)

    answer = ada.client.post(reverse("workflows:delete_provider", args=[made.pk]), follow=True)

    assert "Removed “openai” and its key." in text_of(answer)
    with within(ada):
        assert not ModelProvider.objects.unscoped().exists()
        assert not type(made.credential).objects.unscoped().exists()
