"""The engine compared with Burr, LangGraph, graphon and Pydantic AI, all without a database: ``python -m bench.engine``.

The workloads are a chain of 1,000 template nodes with events, 100 branches of 20 ms that join, 200 runs of five nodes
at once, and an agent of 50 rounds with a scripted model and one tool. ``bench/durable.py`` measures durable runs.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from bench._common import Bar, install_peer, report, run_script
from bench.peers.agent_task import ROUNDS


PEERS = Path(__file__).parent / "peers"
NODES = 1000

Measured = dict[str, dict[str, dict[str, float]]]


def measure() -> Measured:
    """Run the script of each engine, and return the summaries by engine and workload."""
    python = install_peer("peers", ["apache-burr==0.43.0", "langgraph==1.2.22"])
    pydantic_ai = install_peer("pydantic-ai", ["pydantic-ai-slim==2.68.0"])
    newer = find_newer_python()
    measured = {
        "ours": run_script(sys.executable, PEERS / "ours.py"),
        "burr": run_script(python, PEERS / "burr_peer.py"),
        "langgraph": run_script(python, PEERS / "langgraph_peer.py"),
        "pydantic-ai": run_script(pydantic_ai, PEERS / "pydantic_ai_peer.py"),
    }
    if newer is None:
        sys.stdout.write("skip graphon: it needs Python 3.12 or newer, and there is none\n")
    else:
        graphon = install_peer("graphon", ["graphon==0.8.0"], newer)
        measured["graphon"] = run_script(graphon, PEERS / "graphon_peer.py")
    return measured


def find_newer_python() -> str | None:
    """Return a Python that is new enough for graphon, or None. It is started once, because a shim may not work."""
    for name in ("python3.13", "python3.12"):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def build_bars(measured: Measured) -> list[Bar]:
    ours, burr, langgraph = measured["ours"], measured["burr"], measured["langgraph"]
    chain, small = ours["chain"]["cpu_best"], ours["small"]["cpu_best"]
    agent = ours["agent"]["cpu_median"]

    def compare(name: str, peer_seconds: float, our_seconds: float, least_ratio: float) -> Bar:
        return Bar(name, peer_seconds / our_seconds, least_ratio, "×", at_least=True)

    bars = [
        Bar("chain of 1,000, CPU a node", chain / NODES * 1e6, 25, " µs"),
        compare("chain, CPU, Burr to ours", burr["chain"]["cpu_best"], chain, 1.2),
        compare("chain, CPU, LangGraph to ours", langgraph["chain"]["cpu_best"], chain, 6),
        Bar("fan-out, ours to the floor",
            ours["fan"]["wall_best"] / ours["floor"]["wall_best"], 1.3, "×"),
        compare("200 runs, CPU, Burr to ours", burr["small"]["cpu_best"], small, 1),
        compare("200 runs, CPU, LangGraph to ours", langgraph["small"]["cpu_best"], small, 5),
        Bar("agent, CPU a round", agent / ROUNDS * 1e3, 0.3, " ms"),
        compare("agent, CPU, LangGraph to ours", langgraph["agent"]["cpu_median"], agent, 5),
        compare("agent, CPU, Pydantic AI to ours",
                measured["pydantic-ai"]["agent"]["cpu_median"], agent, 5),
    ]  # fmt: skip
    if "graphon" in measured:
        graphon = measured["graphon"]["chain"]["cpu_best"]
        bars.append(compare("chain, CPU, graphon to ours", graphon, chain, 6))
    return bars


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    target = parser.parse_args().json
    measured = measure()
    for engine, workloads in measured.items():
        for workload, numbers in workloads.items():
            wall, cpu = numbers["wall_median"] * 1e3, numbers["cpu_median"] * 1e3
            sys.stdout.write(f"{engine:12} {workload:6} {wall:9.1f} ms wall {cpu:9.1f} ms CPU\n")
    return report(build_bars(measured), dict(measured), target)


if __name__ == "__main__":
    sys.exit(main())
