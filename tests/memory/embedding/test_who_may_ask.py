"""A question goes to an embedder only once its asker would be answered."""

from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import services
from memory.core.errors import InvalidInput, MemoryFault
from memory.services.gateway import gateway
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny


pytestmark = pytest.mark.django_db

ASKS = [
    lambda caller, **where: services.recall(caller, query_text="my secret boat", **where),
    lambda caller, **where: services.find_pages(caller, query="my secret boat", **where),
]


@pytest.mark.parametrize("ask", ASKS)
def test_words_of_who_is_let_in_go_out_once(alice: Person, tiny: Tiny, ask: Any) -> None:
    services.remember(in_run(alice), scope="user", key="a", value="a boat")

    ask(in_run(alice), scope="user")
    ask(in_run(alice), scope="user")

    assert tiny.questions == ["my secret boat"]


def test_words_that_stay_in_the_process_need_no_earlier_check(
    alice: Person, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.remember(in_run(alice), scope="user", key="a", value="a boat")
    monkeypatch.setattr(Tiny, "is_local", True)

    with CaptureQueriesContext(connection) as queries:
        services.recall(in_run(alice), scope="user", query_text="my secret boat")

    checks = [each for each in queries if "memory_find_namespace" in each["sql"]]
    assert (tiny.questions, len(checks)) == (["my secret boat"], 1)


@pytest.mark.parametrize("ask", ASKS)
def test_words_of_who_is_refused_go_nowhere(cast: Cast, tiny: Tiny, ask: Any) -> None:
    services.remember(in_run(cast.alice), scope="user", key="a", value="a boat")

    with pytest.raises(MemoryFault):
        ask(at_door(cast.vic), namespace=f"user:{cast.alice.user.pk}")

    assert tiny.questions == []


@pytest.mark.parametrize("ask", ASKS)
def test_words_of_a_paused_person_go_nowhere(alice: Person, tiny: Tiny, ask: Any) -> None:
    services.remember(in_run(alice), scope="user", key="a", value="a boat")
    services.pause(at_door(alice), what="recalling")

    assert not ask(in_run(alice), scope="user")

    assert tiny.questions == []


def test_question_that_is_nonsense_goes_nowhere(alice: Person, tiny: Tiny) -> None:
    services.remember(in_run(alice), scope="user", key="a", value="a boat")

    with pytest.raises(InvalidInput, match="top_k"):
        services.recall(in_run(alice), scope="user", query_text="my secret boat", top_k=-1)

    assert tiny.questions == []


@pytest.mark.parametrize("ask", ASKS)
def test_asker_is_authorized_once(alice: Person, tiny: Tiny, ask: Any) -> None:
    services.remember(in_run(alice), scope="user", key="a", value="a boat")
    with mock.patch.object(gateway, "_admit", wraps=gateway._admit) as admit:
        ask(in_run(alice), scope="user")

    assert tiny.questions == ["my secret boat"]
    assert admit.call_count == 1
