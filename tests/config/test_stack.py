"""Web server and worker as separate processes: they come up, die and come back."""

import json
import urllib.request

from tests.support.stack import LiveStack
from tests.support.waiting import until


def test_live_stack_worker_killed_comes_back_and_the_web_server_goes_on(live_stack: LiveStack):
    until(lambda: "ready" in live_stack.log("worker"))

    live_stack.kill_worker()
    gone = not live_stack.running()
    live_stack.start_worker()
    until(lambda: live_stack.log("worker").count("ready.") >= 2)

    with urllib.request.urlopen(f"{live_stack.url}/healthz") as response:
        assert (gone, json.load(response)["status"]) == (True, "ok")


def test_live_stack_web_process_is_the_app_role(live_stack: LiveStack):
    with urllib.request.urlopen(live_stack.start_url()) as response:
        assert response.status == 200
    roles = live_stack.sql(
        "select distinct usename from pg_stat_activity where datname = current_database()"
    )

    assert ("mnemoflow_app",) in roles
