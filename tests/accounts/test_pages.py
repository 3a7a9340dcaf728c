"""Pages of accounts, as each of the cast sees them."""

import re

import pytest
from django.urls import reverse

from accounts.roles import SCOPES
from tests.support.markup import markup_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accounts:team", {"alice": 200, "ada": 200, "bob": 200, "vic": 200}),
        ("accounts:keys", {"alice": 200, "ada": 200, "bob": 403, "vic": 403}),
        ("accounts:profile", {"alice": 200, "ada": 200, "bob": 200, "vic": 200}),
    ],
)
def test_page_opened_by_role_answers_as_the_role_allows(cast, name, expected):
    seen = {who: getattr(cast, who).client.get(reverse(name)).status_code for who in expected}

    assert seen == expected


def test_new_key_is_shown_once_beside_a_button_that_copies_it(alice):
    sent = {"name": "deploy", "scopes": ["runs:write"], "days": "90"}

    made = markup_of(alice.client.post(reverse("accounts:keys"), sent))
    later = markup_of(alice.client.get(reverse("accounts:keys")))

    assert 'id="new-key" readonly value="' in made
    assert 'data-copy="new-key"' in made
    assert "new-key" not in later


def test_key_page_names_each_scope_beside_what_it_lets_do(alice):
    page = markup_of(alice.client.get(reverse("accounts:keys")))

    for scope, words in SCOPES.items():
        assert re.search(rf"<span>{re.escape(str(words))} <code[^>]*>{scope}</code></span>", page)
