"""Rows and objects of workflows.

How to fill it: a maker in OBJECTS for every id that appears in a path or body, and, so that the row-level-security
test has something to leak, for every table with a team (a maker may fill several). A maker gets a person who owns
a team and a canary; it puts the canary into whatever can be read of the object and returns its id. Then a Row for
every route and method; see matrix_accounts.py for examples. A route without a row fails the build with its name.
"""

from __future__ import annotations

from tests.architecture.matrix_core import Maker, Row


OBJECTS: dict[str, Maker] = {}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = []
