"""``manage.py memory_move``: what it prints, and what it says of a provider that doesn't answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory import routing, services
from tests.memory.services.conftest import in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

TEXT = "ai:memory:w1:g"


@pytest.fixture(autouse=True)
def stored(alice: Person, settings: Any, valkey_url: str) -> Iterator[None]:
    """An entry in Redis, for which there is no rule any more."""
    settings.MEMORY_REDIS_URL, settings.MEMORY_PLACES = valkey_url, ("workflow=redis",)
    caller = in_run(alice, workflow_id="w1", group_id="g")
    services.remember(caller, scope="workflow", key="a", value="green tea")
    settings.MEMORY_PLACES = ()
    yield
    routing.close_providers()


def test_each_namespace_is_printed_and_a_second_call_has_nothing_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("memory_move")
    call_command("memory_move")

    assert capsys.readouterr().out == (
        f"{TEXT}: from redis to postgres: 1 entries\nNothing to move.\n"
    )


def test_provider_that_does_not_answer_is_named_and_can_be_given_up(
    settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.MEMORY_REDIS_URL = "redis://127.0.0.1:9"

    with pytest.raises(CommandError, match=r"redis can't be reached\. .*--give-up"):
        call_command("memory_move")
    call_command("memory_move", give_up=True)
    call_command("memory_move")

    assert capsys.readouterr().out == f"{TEXT}: given up in redis\nNothing to move.\n"
