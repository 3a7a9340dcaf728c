"""Turns of one conversation that begin at the same moment: all are taken, one after the other."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection

from accounts.tenancy import tenant
from tests.support.cast import Cast
from workflows.models import Message, Run
from workflows.services.runs.runs import start_run
from workflows.services.samples.samples import copy_sample


pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 6


def test_turns_that_begin_at_once_in_a_new_conversation_all_begin(cast: Cast) -> None:
    chat = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    principal = cast.alice.principal

    def begin(number: int) -> UUID:
        try:
            # one transaction, as a request is
            with tenant([cast.team_a.pk]):
                return start_run(
                    principal, workflow=chat, query=f"turn {number}", conversation="c1"
                ).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        begun = set(pool.map(begin, range(TURNS)))

    with tenant([cast.team_a.pk]):
        numbers = Message.objects.unscoped().order_by("number").values_list("number", flat=True)
        assert set(Run.objects.unscoped().values_list("pk", flat=True)) == begun
        assert list(numbers) == list(range(1, TURNS + 1))
