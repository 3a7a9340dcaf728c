"""Times from the database: as Django gives them, read by psycopg's own loader."""

from datetime import UTC, datetime

import psycopg
import pytest
from django.db import DataError, connection, connections
from psycopg.pq import Format


pytestmark = pytest.mark.django_db

TIMESTAMPTZ = psycopg.adapters.types["timestamptz"].oid


def fetch(text: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [text])
        (time,) = cursor.fetchone()
    return time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-12-01 00:30:15.123456+00", datetime(2026, 12, 1, 0, 30, 15, 123456, UTC)),
        ("2026-12-01 00:30:15+05:30", datetime(2026, 11, 30, 19, 0, 15, 0, UTC)),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31 23:59:59.999999+00", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
    ],
)
def test_time_is_read_in_utc(text: str, time: datetime):
    assert fetch(text) == time
    assert fetch(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["infinity", "0044-03-15 12:00:00+00 BC"])
def test_time_that_python_cannot_hold_is_an_error_and_no_other_time(text: str):
    with pytest.raises(DataError):
        fetch(text)


def test_times_are_read_by_the_loader_that_psycopg_would_use():
    connection.ensure_connection()

    loader = connection.connection.adapters.get_loader(TIMESTAMPTZ, Format.TEXT)

    assert loader is psycopg.adapters.get_loader(TIMESTAMPTZ, Format.TEXT)


def test_times_of_a_query_that_is_read_in_pieces_are_the_same(django_user_model):
    user = django_user_model.objects.create_user("mia@example.org")

    (joined,) = django_user_model.objects.values_list("date_joined", flat=True).iterator()

    assert joined == user.date_joined
    assert joined.tzinfo is UTC


def test_connection_in_another_time_zone_reads_times_in_it():
    other = connections.create_connection("default")
    options = {**other.settings_dict["OPTIONS"], "pool": False}
    other.settings_dict = {**other.settings_dict, "TIME_ZONE": "Asia/Tokyo", "OPTIONS": options}
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT '2026-12-01 00:30:00+00'::timestamptz")
            (time,) = cursor.fetchone()
    finally:
        other.close()

    assert time.isoformat() == "2026-12-01T09:30:00+09:00"
