"""Faults of a worker, which it installs itself: ``TEST_PLUGIN=tests.durability.faults.plugin``, ``FAULT`` as JSON.

{"at": 3, "when": "before", "marker": PATH}   kill the process before its third commit; once per marker
{"at": 3, "when": "after", "marker": PATH}    … after the commit, before anybody hears of it
{"at": 3, "when": "reply", "marker": PATH}    break the connection after the commit, so that its reply is lost
{"skew": 600}                                 the clock of the process is ten minutes ahead
{"poison": "text"}                            a template with this text kills the process
{"stopping": PATH}                            touch the file when the worker, asked to stop, has told its runs so
"""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from psycopg import OperationalError


COMMITS = ("select execution_append", "select execution_finish")


def install() -> None:
    fault = json.loads(os.environ["FAULT"])
    for name, install_fault in FAULTS.items():
        if name in fault:
            install_fault(fault)


def fail_at_commit(fault: Mapping[str, Any]) -> None:
    # Inline imports, here and below: the apps have to be there first.
    from workflows.execution.db import Database

    fetch, marker, seen = Database.fetch_value, Path(fault["marker"]), 0

    async def fetch_value(self: Database, statement: str, values: Sequence[object]) -> Any:
        nonlocal seen
        if not statement.startswith(COMMITS) or marker.exists():
            return await fetch(self, statement, values)
        seen += 1
        if seen != fault["at"]:
            return await fetch(self, statement, values)
        marker.touch()
        if fault["when"] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = await fetch(self, statement, values)
        if fault["when"] == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OperationalError(f"the connection broke before the reply {value!r}")

    Database.fetch_value = fetch_value  # type: ignore[method-assign]


def skew_clock(fault: Mapping[str, Any]) -> None:
    real, skew = time.time, float(fault["skew"])
    time.time = lambda: real() + skew
    time.time_ns = lambda: int(time.time() * 1e9)


def poison_templates(fault: Mapping[str, Any]) -> None:
    from workflows.sandbox.templates import TemplatePool

    render = TemplatePool.render

    async def render_or_die(self: TemplatePool, source: str, *values: Any, **named: Any) -> str:
        if fault["poison"] in source:
            os.kill(os.getpid(), signal.SIGKILL)
        return await render(self, source, *values, **named)

    TemplatePool.render = render_or_die  # type: ignore[method-assign,assignment]


def tell_of_stop(fault: Mapping[str, Any]) -> None:
    from workflows.engine.runtime.run_request import RunControl

    hold_calls = RunControl.hold_calls

    def hold_calls_and_tell(self: RunControl) -> None:
        hold_calls(self)
        Path(fault["stopping"]).touch()

    RunControl.hold_calls = hold_calls_and_tell  # type: ignore[method-assign]


FAULTS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "at": fail_at_commit,
    "skew": skew_clock,
    "poison": poison_templates,
    "stopping": tell_of_stop,
}
