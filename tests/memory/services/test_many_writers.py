"""Limits under real concurrency: threads with connections of their own."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from accounts.audit import verify
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import QuotaExceeded
from memory.models import Entry, Namespace, Policy
from tests.memory.services.conftest import at_door
from tests.support.cast import make_cast


pytestmark = pytest.mark.django_db(transaction=True)

WRITERS, EACH, LIMIT = 16, 10, 100


def test_sixteen_writers_at_a_limit_of_one_hundred_store_exactly_one_hundred() -> None:
    alice = make_cast().alice
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, max_entries=LIMIT)
    caller = at_door(alice)
    together = Barrier(WRITERS)

    def write(writer: int) -> int:
        together.wait()
        refused = 0
        try:
            for number in range(EACH):
                try:
                    key = f"{writer}-{number}"
                    services.remember(caller, namespace="global:x", key=key, value=number)
                except QuotaExceeded:
                    refused += 1
        finally:
            connection.close()
        return refused

    with ThreadPoolExecutor(WRITERS) as pool:
        refused = sum(pool.map(write, range(WRITERS)))

    with tenant([alice.team.id]):
        namespace = Namespace.objects.unscoped().get(text="global:x")
        stored = list(
            Entry.objects.unscoped().filter(deleted_at=None).values_list("size", flat=True)
        )
    assert (len(stored), refused) == (LIMIT, WRITERS * EACH - LIMIT)
    assert (namespace.entry_count, namespace.byte_count) == (LIMIT, sum(stored))
    assert verify(alice.team.id).intact


def test_bytes_of_a_namespace_are_exact_under_concurrency() -> None:
    alice = make_cast().alice
    with tenant([alice.team.id]):
        Policy.objects.unscoped().create(team=alice.team, max_namespace_bytes=60)
    caller = at_door(alice)

    def write(number: int) -> bool:
        try:
            services.remember(caller, namespace="global:x", key=f"{number:02}", value="x" * 8)
        except QuotaExceeded:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        stored = sum(pool.map(write, range(12)))

    with tenant([alice.team.id]):
        namespace = Namespace.objects.unscoped().get(text="global:x")
    assert (stored, namespace.entry_count, namespace.byte_count) == (5, 5, 60)
