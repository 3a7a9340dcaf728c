"""What the access matrix asks with API keys: with those permissions that the description names, and bound to a workflow."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from django.test import Client

from accounts.roles import SCOPES, SERVICE_SCOPES
from accounts.tenancy import tenant
from config.http.key_scopes import get_scopes
from tests.architecture import matrix_dify
from tests.architecture.matrix_core import PARAMETER, Row, ask, has, undone
from tests.architecture.world import World
from tests.factories.workflows import make_workflow
from tests.support.cast import KeyClient, make_key
from workflows.models import Conversation, Evaluation, Run, Task, Workflow


ALL = (*SCOPES, *SERVICE_SCOPES)
UNRELATED = ("audit:read",)
# They undo what the key may write to, which is nothing, and say what a file has.
HARMLESS = {"POST api/v1/memory/runs/<uuid:run_id>/undo", "POST api/v1/memory/import"}
# What concerns no workflow is a bound key's as far as its permissions go.
OF_NO_WORKFLOW = (
    *("api/v1/memory/", "api/v1/knowledge/", "api/v1/teams/", "api/v1/me"),
    "api/v1/node-kinds",
)
# Dify's API is for bound keys alone.
OF_BOUND_KEYS = {row.route for row in matrix_dify.ROWS}

# What a check found wrong: the row's name, and what was answered.
Wrong = tuple[Any, ...]


class Keys(dict[tuple[str, ...], KeyClient]):
    """A key for each set of permissions that is asked for."""

    def __init__(self, made: World) -> None:
        self._made = made

    def __missing__(self, scopes: tuple[str, ...]) -> KeyClient:
        cast = self._made.cast
        self[scopes] = KeyClient(*make_key(cast, cast.alice, scopes=set(scopes)))
        return self[scopes]


def find_wrong_scopes(
    rows: Sequence[Row], values: dict[str, Any], made: World
) -> Iterator[tuple[object, ...]]:
    """Each permission that is named lets a key in, and a key without any of them is kept out."""
    of_api = [row for row in rows if row.route.startswith("api/v1/")]
    if of_api:
        with undone():
            keys = Keys(made)
            for row in of_api:
                for each in _find_wrong_scopes(row, _list_scopes(row), values, keys):
                    yield (row.name, *each)


def _list_scopes(row: Row) -> tuple[str, ...] | None:
    scopes = get_scopes(row.method, PARAMETER.sub(r"{\1}", row.route.removeprefix("api/v1")))
    is_filter = row.method == "GET" and "workflow" in row.ids
    return (*scopes, "workflows:read") if scopes and is_filter else scopes


def _find_wrong_scopes(
    row: Row, scopes: tuple[str, ...] | None, values: dict[str, Any], keys: Keys
) -> Iterator[tuple[object, ...]]:
    def ask_with(permissions: tuple[str, ...]) -> int:
        return int(_answer(keys[permissions], row, values).status_code)

    whole = ask_with(ALL)
    if scopes is None:
        if whole < 400:
            yield "is done by a key", whole
    elif (named := ask_with(scopes or UNRELATED)) != whole:
        yield scopes, named, whole
    elif _needs_a_permission(row, scopes) and (other := ask_with(UNRELATED)) < 400:
        yield "is done without a permission", other, whole


def _needs_a_permission(row: Row, scopes: tuple[str, ...]) -> bool:
    """Tell whether the row is refused to a key without any of them. What is read may be empty instead."""
    return bool(scopes) and row.method != "GET" and row.name not in HARMLESS


def find_unbound(
    rows: Sequence[Row], values: dict[str, Any], made: World, canary: str
) -> Iterator[Wrong]:
    """A key that is bound to a workflow finds nothing of the others, though every run, conversation and task is its own.

    Where the answer depends on it, the same key asks unbound, too.
    """
    of_workflows = [row for row in rows if _is_of_workflows(row)]
    if not of_workflows:
        return
    with undone():
        alice = made.cast.alice
        own = make_workflow(alice, "own workflow")
        client = KeyClient(*make_key(made.cast, alice))
        with tenant([alice.team.pk]):
            for model in (Run, Conversation, Task, Evaluation):
                model.objects.unscoped().update(api_key=client.key)
        _bind(client, own)
        answers = [_answer(client, row, values) for row in of_workflows]
        _bind(client, None)
        for row, bound in zip(of_workflows, answers, strict=True):
            if not _refuses(row, bound, canary, free=partial(_answer, client, row, values)):
                yield row.name, "is told to a key of another workflow", bound.status_code


def _is_of_workflows(row: Row) -> bool:
    is_of_none = row.route.startswith(OF_NO_WORKFLOW) or row.route in OF_BOUND_KEYS
    return row.is_api and not is_of_none


def _bind(client: KeyClient, workflow: Workflow | None) -> None:
    with tenant([client.key.team_id]):
        client.key.workflow = workflow
        client.key.save()


def _answer(client: Client, row: Row, values: dict[str, Any]) -> Any:
    with undone():
        return ask(client, row, values)


def _refuses(row: Row, bound: Any, canary: str, free: Callable[[], Any]) -> bool:
    """404 for what the path names, and 403 for what concerns the team. A list leaves out the others."""
    if PARAMETER.search(row.route) and "sample" not in row.ids.values():
        status = bound.status_code
        return status == 404 or (status in (403, 422) and free().status_code == status)
    if row.method == "GET" and bound.status_code == 200:
        return not has(bound, canary)
    return bound.status_code in (403, 404) or free().status_code == bound.status_code
