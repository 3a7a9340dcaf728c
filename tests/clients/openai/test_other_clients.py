"""Clients that others made for OpenAI's API, unmodified, in an environment of their own."""

from pathlib import Path

import pytest

from tests.clients.environments import find_python, run_script
from tests.clients.openai.conftest import Place
from tests.clients.openai.scenario import check


SCRIPT = Path(__file__).with_name("other_clients.py")


@pytest.mark.parametrize("client", ["langchain", "litellm", "llama_index"])
def test_client_streams_and_its_person_is_remembered_and_forgotten(place: Place, client: str):
    find_python("openai")

    story = run_script("openai", SCRIPT, client=client, url=place.url, key=place.key)

    check(story)
    assert "peanuts" in story["streamed"]
    assert "NotFoundError" in story["error"]
