"""The template context of every page."""

import pytest
from django.test import RequestFactory

from config.http.context import page


@pytest.mark.parametrize(
    ("public_url", "base_url"),
    [
        (None, "http://testserver"),
        ("https://memory.example.org/", "https://memory.example.org"),
    ],
)
def test_examples_of_requests_begin_with_the_public_address_or_else_the_one_asked(
    settings, public_url: str | None, base_url: str
):
    settings.PUBLIC_URL = public_url

    assert str(page(RequestFactory().get("/memory/"))["base_url"]) == base_url
