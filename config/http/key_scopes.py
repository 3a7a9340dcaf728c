"""The permissions that an API key needs for each operation of the API, for its description.

The table describes what ``accounts.access`` decides; ``tests/architecture/matrix_keys.py`` asks every operation with a key
that has just these permissions.
"""

import re
from typing import Final, TypeAlias


# The permissions; none are needed if it is empty, and None stands for operations that no key can do.
Scopes: TypeAlias = tuple[str, ...] | None

_READ_WORKFLOWS: Final = ("workflows:read",)
_WRITE_WORKFLOWS: Final = ("workflows:read", "workflows:write")
_READ_RUNS: Final = ("runs:read",)
_WRITE_RUNS: Final = ("runs:read", "runs:write")
_READ_MEMORY: Final = ("memory:read",)
_WRITE_MEMORY: Final = ("memory:read", "memory:write")

# Method and path → permissions. The first row that matches from the beginning counts.
_TABLE: Final[tuple[tuple[str, Scopes], ...]] = (
    (r"GET /(me|teams|node-kinds|workflow-tools|workflows/samples)$", ()),
    (r"GET /node-kinds/|POST /workflows/validate$", ()),
    (r"GET /(audit|teams/{team_id}/audit)\b", ("audit:read",)),
    (r"GET /teams/{team_id}(/members|/groups)?$", ("team:read",)),
    (r"\w+ /(teams|members|groups|invitations|keys)/", None),
    (r"\w+ /(providers|credentials|models|tools)\b", ("credentials:write",)),
    (r"\w+ /memory/subjects/me\b", None),
    (r"GET /memory/emergency-access$", ()),
    (r"POST /memory/emergency-access|PUT /memory/policy", None),
    (r"(POST|DELETE) /memory/namespaces/{namespace_id}/grants", None),
    (r"GET /memory/namespaces/", ("memory:read", "team:read")),
    (r"GET /memory/learning$", ("memory:read", "runs:read")),
    (r"POST /memory/(recall|review/{proposal_id}/dry-run)$", _READ_MEMORY),
    (r"POST /memory/review/{proposal_id}/(apply|decide)$", (*_WRITE_MEMORY, "memory:speak")),
    (r"GET /(memory|knowledge)/", _READ_MEMORY),
    (r"\w+ /(memory|knowledge)/", _WRITE_MEMORY),
    (r"PUT /limits$", None),
    (r"POST /(workflows/{workflow_id}/runs)$", ("workflows:read", "runs:write")),
    (
        r"POST /(workflows/{workflow_id}/tests/run|data-sets/{data_set_id}/evaluations)$",
        (*_WRITE_WORKFLOWS, "runs:write"),
    ),
    (r"POST /data-sets/{data_set_id}/runs$", (*_WRITE_WORKFLOWS, "runs:read")),
    (r"GET /suggested-questions$", ("workflows:read", "runs:read")),
    (r"POST /(files|files/upload|tasks)$", ("runs:write",)),
    (r"\w+ /workflows/{workflow_id}/run-subscriptions", _WRITE_WORKFLOWS),
    (r"GET /(workflows|folders|data-sets|evaluations)\b", _READ_WORKFLOWS),
    (r"POST /workflows/{workflow_id}/validate$", _READ_WORKFLOWS),
    (r"\w+ /(workflows|folders|data-sets|evaluations|comments)\b", _WRITE_WORKFLOWS),
    (r"GET /", _READ_RUNS),
    (r"\w+ /", _WRITE_RUNS),
)
_RULES: Final = [(re.compile(pattern), scopes) for pattern, scopes in _TABLE]


def get_scopes(method: str, path: str) -> Scopes:
    """Return the permissions for an operation, whose path is that of the description without ``/api/v1``."""
    name = f"{method} {path}"
    return next(scopes for pattern, scopes in _RULES if pattern.match(name))
