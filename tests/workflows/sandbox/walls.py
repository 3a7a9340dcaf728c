"""Attacks that are run behind one wall by day and behind each by night, because each takes as long as its limit."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Any

import pytest


def take_turns(walls: Iterable[str], attacks: Iterable[str]) -> list[Any]:
    """Return each attack with each wall, as parameters of a test. By day the walls take turns."""
    usable = [wall for wall in walls if wall != "bubblewrap" or shutil.which("bwrap")]
    return list(_pair(usable, attacks))


def _pair(walls: list[str], attacks: Iterable[str]) -> Iterator[Any]:
    for number, attack in enumerate(attacks):
        for place, wall in enumerate(walls):
            marks = () if place == number % len(walls) else pytest.mark.nightly
            yield pytest.param(wall, attack, marks=marks, id=f"{wall}-{attack}")
