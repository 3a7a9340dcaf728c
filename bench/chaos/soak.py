"""Run workflows for a long time with random failures, and compare memory, connections and processes at both ends."""

import time
from contextlib import suppress
from dataclasses import asdict, dataclass

import psutil

from bench._common import Bar
from bench.chaos.scenarios import WORKERS, Setting, feed_runs, settle
from bench.chaos.system import say


RUNS_PER_SECOND = 4.0
WARM_UP_SHARE = 0.25  # caches are filled during the first quarter; growth is measured after it
MAX_GROWTH = 0.05


@dataclass(frozen=True)
class Sample:
    """The resources of the workers and of the database at one time. Memory in MiB, without what the kernel shares."""

    memory: float
    threads: int
    children: int
    connections: int
    leases: int


def soak(setting: Setting, minutes: float) -> list[Bar]:
    """Kill the second worker now and then; the first runs throughout, and its memory must not grow."""
    seconds = minutes * 60
    samples: list[Sample] = []
    began = time.monotonic()
    with feed_runs(
        setting, int(seconds * RUNS_PER_SECOND), seconds, setting.application.start
    ) as started:
        next_kill = began + 20
        while (elapsed := time.monotonic() - began) < seconds:
            time.sleep(5)
            if elapsed > seconds * WARM_UP_SHARE:
                samples.append(take_sample(setting))
            if time.monotonic() > next_kill:
                setting.system.kill(WORKERS[1])
                setting.system.start_worker(WORKERS[1])
                next_kill = time.monotonic() + setting.random.uniform(20, 60)
    bars = settle(setting, "soak", dict(started), {}, max_repeated=int(seconds))
    first, last = (
        _average(samples[: len(samples) // 5 or 1]),
        _average(samples[-(len(samples) // 5 or 1) :]),
    )
    time.sleep(20)  # a lease of a killed worker ends after 15 seconds
    idle = take_sample(setting)
    growth = last / first - 1
    say(f"soak: memory {first:.0f} → {last:.0f} MiB ({growth:+.1%}); afterwards {idle}")
    setting.measured["soak_samples"] = [asdict(sample) for sample in samples]
    return [
        *bars,
        Bar("soak: growth of a worker's memory", growth, MAX_GROWTH),
        Bar("soak: leases afterwards", idle.leases, 0),
        Bar("soak: more children than at first", idle.children - samples[0].children, 2),
        Bar("soak: more connections than at first", idle.connections - samples[0].connections, 4),
    ]


def take_sample(setting: Setting) -> Sample:
    process = psutil.Process(setting.system.processes[WORKERS[0]].pid)
    children = process.children(recursive=True)
    memory = 0
    with suppress(psutil.NoSuchProcess):
        memory = process.memory_full_info().uss
    count = "select count(*) from pg_stat_activity where datname = current_database()"
    leases = "select count(*) from workflows_run where lease_until is not null"
    return Sample(
        memory=memory / 2**20,
        threads=process.num_threads(),
        children=len(children),
        connections=int(setting.system.fetch(count)[0][0]),
        leases=int(setting.system.fetch(leases)[0][0]),
    )


def _average(samples: list[Sample]) -> float:
    return sum(sample.memory for sample in samples) / len(samples)
