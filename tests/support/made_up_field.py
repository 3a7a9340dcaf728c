"""A plug-in for pytest that adds the field ``mood`` to memory entries, as ``docs/extend/add-a-memory-field.md`` says.

It changes the source of modules while they are imported, so it has to be loaded first: ``pytest -p tests.support.made_up_field``.
The columns are added to this process's own clone of the database.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, Final

import psycopg
import pytest


# After which line of a module the line with the new field comes.
ADDED: Final = {
    "memory.core.records": ("    importance: float = 0.5\n", '    mood: str = "calm"\n'),
    "memory.models.entries": (
        '    importance = models.FloatField(_("importance"), default=0.5)\n',
        '    mood = models.CharField("mood", max_length=20, default="calm")\n',
    ),
}
FUNCTION: Final = ("importance = fresh.importance,", " mood = fresh.mood,")


def add_line(text: str, after: str, line: str) -> str:
    assert text.count(after) == 1
    return text.replace(after, after + line)


class ChangedSource(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_source(fullname) or ""
        return compile(add_line(source, *ADDED[fullname]), self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in ADDED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        return spec_from_file_location(
            fullname, spec.origin, loader=ChangedSource(fullname, spec.origin)
        )


assert not ADDED.keys() & sys.modules.keys()
sys.meta_path.insert(0, Finder())


@pytest.fixture(scope="session", autouse=True)
def made_up_columns(django_db_setup: None) -> None:
    # Inline import: it needs the settings, which are not there yet when this module is loaded.
    from config.env import ROOT
    from tests.support import database, servers

    function = add_line((ROOT / "memory/sql/entries.sql").read_text(), *FUNCTION)
    with psycopg.connect(servers.postgres().build_url(name=database.database_name())) as owner:
        for table in ("memory_entry", "memory_revision"):
            owner.execute(f"ALTER TABLE {table} ADD mood varchar(20) NOT NULL DEFAULT 'calm'")
            owner.execute(f"ALTER TABLE {table} ALTER mood DROP DEFAULT")
        statement: Any = function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
        owner.execute(statement)
