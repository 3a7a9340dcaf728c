"""The numbers of web server and worker follow what happens."""

import re
import urllib.error
import urllib.request
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client import REGISTRY, generate_latest

from accounts.tenancy import tenant
from config.monitoring import request_ids
from config.monitoring.collectors import RunCollector
from config.monitoring.server import serve_metrics
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from workflows.execution.worker import Worker
from workflows.models import Run
from workflows.models.run import RunStatus
from workflows.services.runs.runs import start_run


TOKEN = "a-token-for-metrics"


def read(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.django_db(transaction=True)
def test_finished_run_is_counted_by_status_and_step_kind_and_has_the_request(
    cast: Cast, settings: Any, valkey_url: str
):
    settings.REDIS_URL = valkey_url
    run = start_run(
        cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "hello"}
    )
    before = (
        read("mnemoflow_runs_ended_total", status="succeeded"),
        read("mnemoflow_steps_total", kind="end", status="succeeded"),
        read("mnemoflow_step_seconds_count", kind="end"),
    )

    worker = Worker(capacity=1)
    try:
        worker.execute_run(run.pk)
        pools = generate_latest(REGISTRY).decode()
    finally:
        worker.stop(0)

    after = (
        read("mnemoflow_runs_ended_total", status="succeeded"),
        read("mnemoflow_steps_total", kind="end", status="succeeded"),
        read("mnemoflow_step_seconds_count", kind="end"),
    )
    assert after == tuple(count + 1 for count in before)
    assert re.search(r'^mnemoflow_pool_size\{pool="runs"\} [1-8]\.0$', pools, re.MULTILINE)


@pytest.mark.django_db(transaction=True)
def test_web_server_names_open_runs_of_all_teams_and_their_age(
    cast: Cast, client: Client, settings: Any
):
    settings.METRICS_TOKEN = TOKEN
    now = timezone.now()
    for person in (cast.alice, cast.carol):
        workflow = make_workflow(person)
        make_run(person, workflow, status=RunStatus.QUEUED, queued_at=now - timedelta(seconds=90))
        make_run(
            person, workflow, status=RunStatus.RUNNING, started_at=now,
            lease_until=now - timedelta(seconds=45),
        )  # fmt: skip

    response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    meanwhile = (timezone.now() - now).total_seconds()

    values = dict(line.rsplit(" ", 1) for line in response.text.splitlines() if line[0] != "#")
    assert (values["mnemoflow_database_up"], values['mnemoflow_runs_open{status="queued"}']) == (
        "1.0",
        "2.0",
    )
    assert values['mnemoflow_runs_open{status="running"}'] == "2.0"
    assert 90 <= float(values["mnemoflow_queue_age_seconds"]) <= 90 + meanwhile
    assert 60 <= float(values["mnemoflow_lease_age_seconds"]) <= 60 + meanwhile


@pytest.mark.django_db
def test_database_away_is_a_number_and_no_error(settings: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "config.monitoring.collectors.build_conninfo", lambda: "host=127.0.0.1 port=1 dbname=none"
    )

    text = generate_latest(RunCollector()).decode()

    assert [line for line in text.splitlines() if line[0] != "#"] == ["mnemoflow_database_up 0.0"]


def test_worker_serves_metrics_to_who_has_the_token_only():
    server = serve_metrics("127.0.0.1:0", TOKEN)
    assert server is not None
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    try:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(url)
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as response:
            assert b"mnemoflow_runs_ended_total" in response.read()
        assert (
            serve_metrics(f"127.0.0.1:{server.server_port}", TOKEN) is None
        )  # a second worker works without
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.django_db(transaction=True)
def test_run_has_the_id_of_the_request_that_started_it(cast: Cast):
    workflow = make_workflow(cast.alice)
    token = request_ids._request_id.set("request-4711")
    try:
        run = start_run(cast.alice.principal, workflow=workflow, inputs={"text": "hello"})
    finally:
        request_ids._request_id.reset(token)

    with tenant([workflow.team_id]):
        assert Run.objects.unscoped().get(pk=run.pk).request_id == "request-4711"
