from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from uuid import RFC_4122

import pytest

from config import ids
from config.ids import uuid7


def test_uuid7_layout_is_that_of_the_rfc():
    made = uuid7()

    assert (made.version, made.variant) == (7, RFC_4122)


def test_uuid7_carries_the_time_it_was_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ids.time, "time_ns", lambda: 1_764_371_938_123_456_789)
    monkeypatch.setattr(ids, "_newest_stamp", 0)

    made = uuid7()

    assert made.int >> 80 == 1_764_371_938_123


def test_uuid7_many_in_one_millisecond_rise_and_differ():
    made = [uuid7() for _ in range(20_000)]

    assert all(earlier < later for earlier, later in pairwise(made))


def test_uuid7_clock_stepped_back_still_rises(monkeypatch: pytest.MonkeyPatch):
    earlier = uuid7()
    monkeypatch.setattr(ids.time, "time_ns", lambda: 0)

    assert uuid7() > earlier


def test_uuid7_threads_never_make_the_same():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: uuid7(), range(8_000)))

    assert len(set(made)) == 8_000
