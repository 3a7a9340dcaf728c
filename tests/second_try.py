"""Give a test in a browser or with servers of its own a second try, and name those that needed it at the end of the run.

On a busy machine both are slower than any limit now and then. A fault of the product fails both tries.
"""

from typing import Any, Final

import pytest
from _pytest.nodes import Node
from _pytest.runner import runtestprotocol


PROPERTY: Final = "first try"
# Servers of their own: a test that starts one isn't told by a marker but by where it stands.
FOLDERS_WITH_SERVERS: Final = ("tests/durability/", "tests/config/embedded/")
HAS_FAILED: Final = pytest.StashKey[bool]()


class NextOfFirstTry:
    """What the teardown of a first try is told comes next: the same test's neighbour if it failed.

    So the fixtures of the module, with the rows they made, are there for the second try.
    """

    def __init__(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        self.item = item
        self.nextitem = nextitem

    def listchain(self) -> list[Node]:
        if self.item.stash.get(HAS_FAILED, False):
            return self.item.listchain()[:-1]
        return self.nextitem.listchain() if self.nextitem else []


def has_second_try(item: pytest.Item) -> bool:
    return item.get_closest_marker("browser") is not None or item.nodeid.startswith(
        FOLDERS_WITH_SERVERS
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    if not has_second_try(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=NextOfFirstTry(item, nextitem), log=False)  # type: ignore[arg-type]
    failures = [report for report in reports if report.failed]
    if failures:
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            report.user_properties.append((PROPERTY, failures[0].longreprtext[-1500:]))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        item.stash[HAS_FAILED] = True


def pytest_terminal_summary(terminalreporter: Any) -> None:  # Any: the class is private
    """Name the failures of first tries: a second try may fail for what the first one left behind."""
    stats = terminalreporter.stats
    for report in (*stats.get("passed", []), *stats.get("failed", []), *stats.get("error", [])):
        failure = dict(report.user_properties).get(PROPERTY)
        if failure is not None and (report.failed or report.when == "call"):
            outcome = (
                "failed at both tries, at first with"
                if report.failed
                else "passed at the second try"
            )
            terminalreporter.section(f"{outcome}: {report.nodeid}")
            terminalreporter.line(str(failure))
