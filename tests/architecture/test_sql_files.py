"""SQL files: they name every column of the models they write, and every query in them is used."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.apps import apps

from config.env import ROOT
from config.sql import read_queries
from memory.core.entry_codec import STATE
from tests.support.cases import for_each


INSERT = re.compile(r'insert into "?(\w+)"?(?: as \w+)?\s*\(([^()]*)\)', re.IGNORECASE)
# A whole row is copied column by column, each under its own name.
UPDATE = re.compile(
    r"(?:update (?P<table>\w+)|do update) set\s+"
    r'(?P<list>(?:"?\w+"? = (?P<source>fresh|excluded)\."?\w+"?,?\s+)+)',
    re.IGNORECASE,
)
ASSIGNED = re.compile(r'"?(\w+)"? = (?:fresh|excluded)\.', re.IGNORECASE)

# Columns that a new row doesn't have yet.
NOT_INSERTED = {
    "memory_embedding": {"embedded_at"},
    "workflows_step": {"reused_from", "edited_by", "edited_at"},
    "workflows_runwait": {"values", "action", "answered_by", "answered_at", "is_timed_out"},
}
# Columns of a row that is written again which stay as they were.
NOT_UPDATED = {
    "memory/sql/entries.sql": {
        "id", "team_id", "namespace_id", "key", "created_at", "deleted_at",
    },
    "workflows/execution/sql/journal.sql": {
        "id", "team_id", "run_id", "node_key", "rounds", "kind", "title",
        "reused_from", "edited_by", "edited_at",
    },
}  # fmt: skip
UPSERTED = {"workflows/execution/sql/journal.sql": "workflows_step"}


@dataclass(frozen=True)
class Write:
    """One list of columns: the table they are of, and which of its columns it may leave out."""

    table: str
    named: frozenset[str]
    left_out: frozenset[str]

    def problems(self) -> set[str]:
        columns = _columns(self.table)
        missing = {f"{self.table}.{name} is missing" for name in columns - self.named}
        excused = {f"{self.table}.{name} is missing" for name in self.left_out}
        return (missing - excused) | {f"no {self.table}.{name}" for name in self.named - columns}


def _columns(table: str) -> set[str]:
    (model,) = [model for model in apps.get_models() if model._meta.db_table == table]
    return {str(field.column) for field in model._meta.concrete_fields}


def writes_in(path: str, sql: str) -> Iterator[Write]:
    for table, columns in INSERT.findall(sql):
        named = frozenset(re.findall(r"\w+", columns.format(state=", ".join(STATE))))
        # An embedding's vector is no field: it exists only where the server has the type.
        yield Write(table, named, frozenset(NOT_INSERTED.get(table, ())))
    for found in UPDATE.finditer(sql):
        if path in NOT_UPDATED:
            table = found["table"] or UPSERTED.get(path)
            named = frozenset(ASSIGNED.findall(found["list"]))
            if table and len(named) > 5:
                yield Write(table, named, frozenset(NOT_UPDATED[path]))


def sql_files() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for app in ("accounts", "memory", "workflows")
        for path in sorted((ROOT / app).rglob("*.sql"))
    }


FILES = sql_files()


@for_each("path", FILES)
def test_columns_of_a_sql_file_are_those_of_the_models(path: str):
    problems = [one for write in writes_in(path, FILES[path]) for one in write.problems()]

    assert problems == []


@pytest.mark.parametrize(
    ("path", "planted", "problem"),
    [
        ("memory/sql/entries.sql", ("size = fresh.size,", ""), "memory_entry.size"),
        ("memory/sql/queries/reads.sql", ("revision, score, explain)", "revision, explain)"), "memory_read.score"),
        ("workflows/execution/sql/journal.sql", ("error_type, writes,", "writes,"), "workflows_step.error_type"),
        ("workflows/execution/sql/journal.sql", ("tries = excluded.tries,", ""), "workflows_step.tries"),
    ],
)  # fmt: skip
def test_forgotten_column_is_found(path: str, planted: tuple[str, str], problem: str):
    assert planted[0] in FILES[path]

    sql = FILES[path].replace(*planted, 1)

    problems = [one for write in writes_in(path, sql) for one in write.problems()]
    assert problems == [f"{problem} is missing"]


def test_new_field_is_missing_until_it_is_named(monkeypatch: pytest.MonkeyPatch):
    known = _columns
    monkeypatch.setattr(
        f"{__name__}._columns", lambda table: known(table) | ({"mood"} if table == "memory_entry" else set())
    )  # fmt: skip

    path = "memory/sql/entries.sql"
    problems = [one for write in writes_in(path, FILES[path]) for one in write.problems()]
    assert problems == ["memory_entry.mood is missing"]


def test_erasing_and_counting_name_every_table_of_a_namespace():
    tables = {
        model._meta.db_table
        for model in apps.get_app_config("memory").get_models()
        if {field.name for field in model._meta.concrete_fields} & {"namespace", "entry"}
    }

    assert tables
    for path in ("memory/sql/erase.sql", "memory/sql/queries/counts.sql"):
        assert {table for table in tables if table not in FILES[path]} == set()


def test_named_queries_are_all_used_and_all_there():
    used: dict[str, set[str]] = {}
    for app in ("accounts", "memory", "workflows"):
        for module in (ROOT / app).rglob("*.py"):
            source = module.read_text(encoding="utf-8")
            for path in re.findall(r'^QUERIES: Final = read_queries\("([^"]+)"\)', source, re.M):
                names = set(re.findall(r"""QUERIES\[['"](\w+)['"]\]""", source))
                used.setdefault(path, set()).update(names)

    assert used == {path: {*read_queries(path)} for path in FILES if "/queries/" in path}
