"""The store of four functions that the guide prints, as a class."""

import sqlite3
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from memory.core.item_store.store import MemoryStore


PAGE = Path(__file__).parents[2] / "docs/extend/keep-memory-in-four-functions.md"


def list_examples() -> list[str]:
    """Return the Python examples of the page: the store, and its use."""
    return [part.partition("```")[0] for part in PAGE.read_text("utf-8").split("```python\n")[1:]]


def load_store() -> type[MemoryStore]:
    module = sys.modules.setdefault("documented_store", ModuleType("documented_store"))
    if not hasattr(module, "SqliteStore"):
        exec(compile(list_examples()[0], PAGE.name, "exec"), module.__dict__)
        vars(module)["sqlite3"] = SimpleNamespace(connect=connect, Connection=sqlite3.Connection)
    store: type[MemoryStore] = module.SqliteStore
    return store


def connect(path: Path) -> Any:  # Any: the example chooses what it does with a connection
    """Open the file as the example does, without waiting for the disk: a crash of the machine may lose all of it."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = MEMORY")
    return database
