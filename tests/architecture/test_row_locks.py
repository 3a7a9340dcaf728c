"""Rows that others refer to are locked without their key.

A foreign key is checked at the commit, when the head of the audit trail is held already. Had somebody locked the whole
row that it refers to, and waited for the head, both would wait for each other (docs/adr/0009).
"""

import re
from pathlib import Path

from config.env import ROOT


# Those that rows of runs and conversations refer to, which are written all the time.
REFERRED = "ApiKey|ServiceAccount|Team|User|Workflow|Conversation|Snapshot|Version"
LOCK = re.compile(
    rf"\b(?:{REFERRED})\.objects[^;]{{0,200}}?\.select_for_update\(([^)]*\)?[^)]*)\)", re.S
)
SQL_LOCK = re.compile(
    r"\bfrom\s+(?:accounts_(?:apikey|team|user|serviceaccount)|workflows_(?:workflow|conversation|snapshot|version))\b"
    r"[^;]{0,300}?\bfor\s+update\b",
    re.S | re.I,
)


def list_sources(suffix: str) -> list[Path]:
    apps = (ROOT / name for name in ("accounts", "config", "memory", "workflows"))
    paths = (path for app in apps for path in app.rglob(f"*{suffix}"))
    return [path for path in paths if "migrations" not in path.parts]


def find_key_locks(source: str) -> list[str]:
    return [match[0] for match in LOCK.finditer(source) if "no_key=True" not in match[1]]


def test_rows_that_others_refer_to_are_locked_without_their_key():
    python = {
        str(path): found
        for path in list_sources(".py")
        if (found := find_key_locks(path.read_text(encoding="utf-8")))
    }
    sql = {
        str(path): found
        for path in list_sources(".sql")
        if (found := SQL_LOCK.findall(path.read_text(encoding="utf-8")))
    }

    assert (python, sql) == ({}, {})


def test_lock_of_a_key_is_found():
    assert find_key_locks("Team.objects.select_for_update().get(pk=pk)")
    assert find_key_locks("ApiKey.objects.visible_to(principal).select_for_update(of=('self',))")
    assert not find_key_locks("Team.objects.select_for_update(no_key=True).get(pk=pk)")
    assert SQL_LOCK.search("perform 1 from accounts_team where id = x for update;")
    assert not SQL_LOCK.search("perform 1 from accounts_team where id = x for no key update;")
