"""Plans of the trail's pages: one of long ago reads what it shows, not all that was written since."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.services.trail import AuditFilter, read_page
from accounts.tenancy import tenant
from tests.memory.providers.test_plans import plan, scans
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db(transaction=True)

BEGAN, WRITTEN = datetime(2026, 1, 1, tzinfo=UTC), 5_000  # one an hour
HOUR = timedelta(hours=1)

# As if the trail had grown for months: the trigger would give each of them this moment.
GROWN = """
    INSERT INTO accounts_auditentry
      (id, team_id, seq, at, actor_kind, actor, action, subject, detail, success, prev_hash, hash)
    SELECT gen_random_uuid(), %s, 1000 + n, %s + n * interval '1 hour', 'user', 'user:x',
           'comment.created', n::text, '{}', true, '', ''
    FROM generate_series(0, %s) AS n
"""


@pytest.fixture
def grown(cast: Cast, owner_db: psycopg.Connection[Any]) -> Cast:
    owner_db.execute("SET session_replication_role = replica")
    owner_db.execute(GROWN, [cast.team_a.pk, BEGAN, WRITTEN - 1])
    owner_db.execute("RESET session_replication_role")
    owner_db.execute("ANALYZE accounts_auditentry")
    return cast


def shown(cast: Cast, **asked: Any) -> list[str]:
    with tenant([cast.team_a.pk]):
        page = read_page(cast.ada.principal, team=cast.team_a, filters=AuditFilter(**asked))
    return [line.entry.subject for line in page.lines]


@pytest.mark.parametrize(
    "asked",
    [
        {"since": BEGAN + 240 * HOUR, "until": BEGAN + 400 * HOUR},
        {"until": BEGAN + 400 * HOUR},
        {"until": BEGAN + 400 * HOUR, "actor": "user:x"},
    ],
    ids=["days", "before", "by_one"],
)
def test_page_of_long_ago_reads_what_it_shows(grown: Cast, asked: dict[str, Any]) -> None:
    with tenant([grown.team_a.pk]), CaptureQueriesContext(connection) as captured:
        found = shown(grown, **asked)
        of_the_page = next(one["sql"] for one in captured if "LIMIT 51" in one["sql"])
        nodes = plan(of_the_page.replace("%", "%%"))

    assert found == [str(n) for n in range(399, 349, -1)]
    assert {table for table, _index in scans(nodes)} == {"accounts_auditentry"}
    read_rows = sum(
        node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        for node in nodes
        if node.get("Relation Name") == "accounts_auditentry"
    )
    assert (
        read_rows <= 402
    )  # of 5,000: nothing that came since, but the hours a clock may be set back


def test_moment_is_looked_up_by_its_index(grown: Cast) -> None:
    with tenant([grown.team_a.pk]), CaptureQueriesContext(connection) as captured:
        shown(grown, since=BEGAN + 300 * HOUR)
        lookup = next(
            one["sql"] for one in captured if 'SELECT "accounts_auditentry"."seq"' in one["sql"]
        )
        nodes = plan(lookup)

    assert scans(nodes) == {("accounts_auditentry", "accounts_audit_when")}
    assert max(node["Actual Rows"] for node in nodes) == 1


def test_clock_that_was_set_back_hides_nothing(
    grown: Cast, owner_db: psycopg.Connection[Any]
) -> None:
    owner_db.execute("SET session_replication_role = replica")
    owner_db.execute(  # the 300th was written before the 299th says so, by half an hour
        "UPDATE accounts_auditentry SET at = at - interval '90 minutes' WHERE subject = '300'"
    )
    owner_db.execute("RESET session_replication_role")
    moment = BEGAN + 298 * HOUR + timedelta(minutes=15)

    assert shown(grown, since=moment, until=moment + 2 * HOUR) == ["300", "299"]


def test_clock_that_was_set_back_after_a_quiet_night_hides_nothing(
    grown: Cast, owner_db: psycopg.Connection[Any]
) -> None:
    owner_db.execute("SET session_replication_role = replica")
    owner_db.execute(  # of two hours the 300th alone is left, and what came after it says to have come before it
        "DELETE FROM accounts_auditentry WHERE subject IN ('298', '299')"
    )
    owner_db.execute(
        "UPDATE accounts_auditentry SET at = at - interval '105 minutes' WHERE subject = '301'"
    )
    owner_db.execute("RESET session_replication_role")
    moment = BEGAN + 300 * HOUR - timedelta(minutes=5)

    assert shown(grown, since=moment, until=moment + HOUR) == ["300"]


def test_moment_after_everything_shows_nothing(grown: Cast) -> None:
    assert shown(grown, since=datetime(2100, 1, 1, tzinfo=UTC)) == []
