"""The time after which a server asks to be called again."""

import datetime as dt

from config import net
from tests.support.cases import for_each


@for_each("text, seconds",
    [
        ("0", 0), ("7", 7), ("1.5", 1.5), ("86400", 86_400), ("86401", None), ("-1", None), ("nan", None), ("", None),
        ("soon", None), ("Mon, 30 Nov 2026 12:00:30 GMT", 30), ("Mon, 30 Nov 2026 12:00:30 -0000", 30),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0), ("Sat, 30 Nov 2030 12:00:00 GMT", None),
    ],
)  # fmt: skip
def test_time_that_a_server_asks_for_is_a_number_or_a_date(text, seconds):
    now = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)

    assert net.parse_retry_after(text, now) == seconds
