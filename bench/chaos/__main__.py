"""Kills workers, PostgreSQL and the broker while runs are executed: `python -m bench.chaos [--only kills] [--json FILE]`.

A server notes every model call and HTTP request of the runs. Afterwards nothing may be lost, stuck or parked, and no
finished step may have been repeated; a call that was repeated was under way when its worker was killed, and has the same
idempotency key. The seed is printed, and ``--seed`` repeats the order of the kills.
"""

import argparse
import sys
from pathlib import Path
from random import Random, randrange
from tempfile import TemporaryDirectory

from bench._common import Bar, report
from bench.chaos import scenarios
from bench.chaos.comeback import measure_comebacks
from bench.chaos.ledger import Ledger
from bench.chaos.soak import soak
from bench.chaos.system import run_system, say
from bench.chaos.workload import create_application


RUNS_PER_RESTART = 30
SCENARIOS = ("kills", "restarts", "broker", "comeback", "soak")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.chaos", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, help="without it: all but the soak")
    parser.add_argument("--runs", type=int, default=1000, help="in the scenario of the kills")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--broker-away", type=float, default=60, help="seconds")
    parser.add_argument("--soak-minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=randrange(1_000_000))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scenario_names = options.only or SCENARIOS[:-1]
    say(f"seed {options.seed}")
    bars, measured = _run_scenarios(options, scenario_names)
    if "comeback" in scenario_names:
        bars += measure_comebacks(measured)
    return report(bars, {"seed": options.seed, **measured}, options.json)


def _run_scenarios(
    options: argparse.Namespace, scenario_names: "list[str] | tuple[str, ...]"
) -> tuple[list[Bar], dict[str, object]]:
    if not {"kills", "restarts", "broker", "soak"} & set(scenario_names):
        return [], {}
    bars: list[Bar] = []
    with (
        TemporaryDirectory(prefix="mnemoflow-chaos-") as folder,
        Ledger() as ledger,
        run_system(ledger.address, Path(folder)) as system,
    ):
        setting = scenarios.Setting(
            system, ledger, create_application(ledger), Random(options.seed)
        )
        for name in scenarios.WORKERS:
            system.start_worker(name)
        if "kills" in scenario_names:
            bars += scenarios.kill_workers(setting, options.runs, options.kills)
        if "restarts" in scenario_names:
            bars += scenarios.restart_database(
                setting, options.restarts * RUNS_PER_RESTART, options.restarts
            )
        if "broker" in scenario_names:
            bars += scenarios.lose_broker(setting, 200, options.broker_away)
        if "soak" in scenario_names:
            bars += soak(setting, options.soak_minutes)
        return bars, setting.measured


if __name__ == "__main__":
    sys.exit(main())
