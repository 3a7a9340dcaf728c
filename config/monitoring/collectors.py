"""Metrics that are read at the moment of a request: the runs in the database, and the connection pools."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from prometheus_client import REGISTRY
from prometheus_client import values as metric_values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.postgres.conninfo import build_conninfo


QUERY: Final = "select status, runs, oldest_seconds, lease_seconds from execution_measure_runs()"
CONNECT_SECONDS: Final = 1
POOL_VALUES: Final = {
    "pool_size": "Connections of the pool.",
    "pool_available": "Connections of the pool that are free.",
    "requests_waiting": "Callers that wait for a connection of the pool.",
}

PoolStats = Callable[[], Mapping[str, int]]


class RunCollector(Collector):
    """The open runs of all teams. Every web server gives the same numbers, so use max() over them."""

    def describe(self) -> Iterable[Metric]:
        return []  # so that registering asks no database

    def collect(self) -> Iterator[Metric]:
        is_up = GaugeMetricFamily("mnemoflow_database_up", "Whether the database answers.")
        runs = GaugeMetricFamily(
            "mnemoflow_runs_open", "Runs that wait or are executed.", labels=["status"]
        )
        queue_age = GaugeMetricFamily(
            "mnemoflow_queue_age_seconds", "Age of the oldest queued run."
        )
        lease_age = GaugeMetricFamily(
            "mnemoflow_lease_age_seconds",
            "Longest time since a worker renewed the lease of a run; above 15, its worker is lost.",
        )
        try:
            rows = _fetch_rows()
        except psycopg.Error:
            is_up.add_metric([], 0)
            yield is_up
            return
        is_up.add_metric([], 1)
        yield is_up
        for status, count, oldest_seconds, lease_seconds in rows:
            runs.add_metric([status], count)
            if status == "queued":
                queue_age.add_metric([], oldest_seconds)
            else:
                lease_age.add_metric([], lease_seconds)
        yield from (runs, queue_age, lease_age)


class PoolCollector(Collector):
    """The connection pools of this process, by name."""

    def __init__(self) -> None:
        self._pools: dict[str, PoolStats] = {"django": _read_django_pool}

    def add_pool(self, name: str, read_stats: PoolStats) -> None:
        self._pools[name] = read_stats

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        stats = {name: read_stats() for name, read_stats in self._pools.items()}
        for value, text in POOL_VALUES.items():
            metric = GaugeMetricFamily(f"mnemoflow_{value}", text, labels=["pool"])
            for name, numbers in stats.items():
                metric.add_metric([name], numbers.get(value, 0))
            yield metric


def _fetch_rows() -> list[tuple[str, int, float, float]]:
    with psycopg.connect(
        build_conninfo(), autocommit=True, connect_timeout=CONNECT_SECONDS
    ) as connection:
        return connection.execute(QUERY).fetchall()


def _read_django_pool() -> Mapping[str, int]:
    pool = getattr(connections[DEFAULT_DB_ALIAS], "pool", None)
    stats: Mapping[str, int] = pool.get_stats() if pool is not None else {}
    return stats


pools = PoolCollector()
REGISTRY.register(pools)


def list_web_collectors() -> list[Collector]:
    """Return the collectors of a web server: those of its process, or the sums of several web processes.

    Pools are always those of this process.
    """
    if metric_values.ValueClass is not metric_values.MutexValue:
        return [MultiProcessCollector(None), pools, RunCollector()]  # type: ignore[no-untyped-call]
    return [REGISTRY, RunCollector()]
