"""Measures durations, compares them with bars, and installs the peers to compare with.

On a shared machine, CPU time is the most reliable number. The best of several rounds is closest to the cost of the
code, so ratios compare the best rounds of one run.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median, quantiles


ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".bench"


@dataclass(frozen=True)
class Latency:
    """A percentile over all rounds, and the median and the lowest of the rounds' percentiles. Bars use the median."""

    total: float
    median: float
    best: float

    def format_columns(self) -> str:
        return f"{self.total:8.2f}{self.median:8.2f}{self.best:8.2f}"


LATENCY_HEADERS = f"{'all':>8}{'median':>8}{'best':>8}"


def compute_latency(rounds: Sequence[Sequence[float]], percent: int) -> Latency:
    """Compute a percentile over all rounds and in each round, so that no single slow or quick round decides."""
    percentiles = [compute_percentile(durations, percent) for durations in rounds]
    total = compute_percentile([*chain.from_iterable(rounds)], percent)
    return Latency(total, median(percentiles), min(percentiles))


def compute_percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


@dataclass
class Spans:
    """The wall time and the CPU time of repetitions, in seconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def measure(self) -> Iterator[None]:
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    def summarize(self) -> dict[str, float]:
        return {
            "wall_median": median(self.wall),
            "wall_best": min(self.wall),
            "cpu_median": median(self.cpu),
            "cpu_best": min(self.cpu),
        }


def repeat(run: Callable[[], object], times: int) -> Spans:
    """Call ``run`` once without measuring it, then measure this number of calls."""
    run()  # the first call also imports modules and fills caches
    gc.collect()
    spans = Spans()
    for _ in range(times):
        with spans.measure():
            run()
    return spans


@dataclass(frozen=True)
class Bar:
    """A limit for a measured value: the highest allowed value, or with ``at_least`` the lowest."""

    name: str
    value: float
    bar: float
    unit: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def format_line(self) -> str:
        sign = "≥" if self.at_least else "≤"
        mark = "ok  " if self.is_met else "MISS"
        return f"{mark} {self.name}: {self.value:.2f}{self.unit} ({sign} {self.bar:g}{self.unit})"


def report(bars: list[Bar], measured: dict[str, object], target: Path | None) -> int:
    """Print the bars, write the results to the file ``target``, and return the exit status: 0 if all bars are met."""
    for bar in bars:
        sys.stdout.write(bar.format_line() + "\n")
    if target is not None:
        rows = [{**asdict(bar), "ok": bar.is_met} for bar in bars]
        text = json.dumps({"bars": rows, "measured": measured}, indent=2, ensure_ascii=False)
        target.write_text(text + "\n")
    return 0 if all(bar.is_met for bar in bars) else 1


def install_peer(name: str, requirements: list[str], interpreter: str = sys.executable) -> Path:
    """Install a peer in a virtual environment unless it is installed, and return the environment's Python."""
    home = VENVS / f"venv-{name}"
    python, stamp = home / "bin" / "python", home / ".installed"
    content = "\n".join(requirements)
    if not stamp.exists() or stamp.read_text() != content:
        sys.stderr.write(f"installing {', '.join(requirements)} …\n")
        if not python.exists():
            subprocess.run([interpreter, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *requirements]
        subprocess.run(install, check=True, stdout=sys.stderr)
        stamp.write_text(content)
    return python


def run_script(
    python: Path | str,
    script: Path,
    settings: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> dict[str, dict[str, float]]:
    """Run a measuring script, and return the JSON object (workload → summary) that it prints on its last line.

    ``settings`` are environment variables for it.
    """
    environment = {
        **os.environ,
        **(settings or {}),
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "LANGSMITH_TRACING": "false",
    }
    process = subprocess.run(
        [str(python), str(script), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return json.loads(process.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]
