"""All apps' rows and objects in one place."""

from __future__ import annotations

from tests.architecture import (
    matrix_about,
    matrix_accounts,
    matrix_cases,
    matrix_chat,
    matrix_curation,
    matrix_debugging,
    matrix_dify,
    matrix_editing,
    matrix_exchange,
    matrix_features,
    matrix_files,
    matrix_first_steps,
    matrix_folders,
    matrix_inspector,
    matrix_knowledge,
    matrix_mcp,
    matrix_memory,
    matrix_openai,
    matrix_public,
    matrix_review,
    matrix_rights,
    matrix_together,
    matrix_tools,
    matrix_triggers,
    matrix_usage,
    matrix_waits,
    matrix_workflows,
)
from tests.architecture.matrix_core import Maker, Row


TABLES = (
    matrix_about,
    matrix_accounts,
    matrix_cases,
    matrix_chat,
    matrix_curation,
    matrix_debugging,
    matrix_dify,
    matrix_editing,
    matrix_exchange,
    matrix_features,
    matrix_files,
    matrix_first_steps,
    matrix_folders,
    matrix_inspector,
    matrix_knowledge,
    matrix_mcp,
    matrix_memory,
    matrix_openai,
    matrix_public,
    matrix_rights,
    matrix_review,
    matrix_together,
    matrix_tools,
    matrix_triggers,
    matrix_usage,
    matrix_waits,
    matrix_workflows,
)

# Whoever was erased comes first: it takes along what had been made for them.
OBJECTS: dict[str, Maker] = {
    **matrix_exchange.OBJECTS,
    **{name: make for table in TABLES for name, make in table.OBJECTS.items()},
}
ROWS: list[Row] = [row for table in TABLES for row in table.ROWS]

CANARY_A, CANARY_B = "CanaryAlpha7", "CanaryBravo9"

# Routes that belong to no team and have rules of their own in test_access_matrix.py.
FAMILIES = (
    "admin/",
    "accounts/",
    "i18n/",
    "api/v1/docs",
    "api/v1/openapi.json",
    "metrics",
    "static/",
    "favicon.ico",
)
