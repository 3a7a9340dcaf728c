"""Measuring, comparing, and installing the peers that are compared with.

CPU time is the number to trust on a machine that others use too; the best of several rounds comes
closest to what the code costs, so ratios are taken between bests of one run.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles


ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".bench"


@dataclass(frozen=True)
class Latency:
    """A percentile of rounds: over all they took, of the round in the middle, which bars judge, and of the best."""

    every: float
    middle: float
    best: float

    def line(self) -> str:
        return f"{self.every:8.2f}{self.middle:8.2f}{self.best:8.2f}"


LATENCY_HEADS = f"{'all':>8}{'median':>8}{'best':>8}"


def latency(rounds: Sequence[Sequence[float]], percent: int) -> Latency:
    """One slow round of a shared machine doesn't decide, nor does one that was lucky."""
    each = [percentile(taken, percent) for taken in rounds]
    every = percentile([one for taken in rounds for one in taken], percent)
    return Latency(every, median(each), min(each))


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


@dataclass
class Spans:
    """Wall and CPU seconds of repetitions."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def time(self) -> Iterator[None]:
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    def summary(self) -> dict[str, float]:
        return {
            "wall_median": median(self.wall),
            "wall_best": min(self.wall),
            "cpu_median": median(self.cpu),
            "cpu_best": min(self.cpu),
        }


def repeat(run: Callable[[], object], times: int) -> Spans:
    run()  # the first one pays for imports and caches
    gc.collect()
    spans = Spans()
    for _ in range(times):
        with spans.time():
            run()
    return spans


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    bar: float
    unit: str = ""
    at_least: bool = False  # otherwise: at most

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def line(self) -> str:
        sign = "≥" if self.at_least else "≤"
        mark = "ok  " if self.met else "MISS"
        return f"{mark} {self.name}: {self.value:.2f}{self.unit} ({sign} {self.bar:g}{self.unit})"


def report(bars: list[Bar], measured: dict[str, object], target: Path | None) -> int:
    """Print the bars, write them down, and say as an exit status whether all are met."""
    for bar in bars:
        sys.stdout.write(bar.line() + "\n")
    if target is not None:
        written = {
            "bars": [{**asdict(bar), "ok": bar.met} for bar in bars],
            "measured": measured,
        }
        target.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    return 0 if all(bar.met for bar in bars) else 1


def peer_python(name: str, requirements: list[str], interpreter: str = sys.executable) -> Path:
    """An environment of the peer's own, made at the first use."""
    home = VENVS / f"venv-{name}"
    python, stamp = home / "bin" / "python", home / ".installed"
    wanted = "\n".join(requirements)
    if not stamp.exists() or stamp.read_text() != wanted:
        sys.stderr.write(f"installing {', '.join(requirements)} …\n")
        if not python.exists():
            subprocess.run([interpreter, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *requirements]
        subprocess.run(install, check=True, stdout=sys.stderr)
        stamp.write_text(wanted)
    return python


def run_script(python: Path | str, script: Path) -> dict[str, dict[str, float]]:
    """A measuring script prints one JSON object, workload → summary, as its last line."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "LANGSMITH_TRACING": "false",
    }
    done = subprocess.run(
        [str(python), str(script)], check=True, capture_output=True, text=True, env=environment
    )
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]
