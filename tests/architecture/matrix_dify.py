"""Rows of Dify's service API, which only keys of one workflow open: a team's key is told to make one.

What a key of another workflow finds is tested with the objects themselves, in ``tests/workflows/dify_api``.
"""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row


OBJECTS: dict[str, Maker] = {}

KEYS_ONLY = "- - - - - 403"
USER: dict[str, Any] = {"user": "ana"}
RUN = {**USER, "inputs": {}}


def _row(
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    **ids: str,
) -> Row:
    return Row(method, f"v1/{path}", KEYS_ONLY, ids, body, foreign=401)


def _refused(path: str, *methods: str) -> list[Row]:
    ids = {"rest": "run"} if "<path:rest>" in path else {}
    return [
        Row(each, f"v1/{path}", KEYS_ONLY, ids, None if each == "GET" else {}, foreign=401)
        for each in methods
    ]


# fmt: off
ROWS: list[Row] = [
    *(_row("GET", path) for path in ("parameters", "info", "meta", "site", "app/feedbacks")),
    _row("GET", "workflows/logs"),
    _row("POST", "chat-messages", {**RUN, "query": "Hello?"}),
    _row("POST", "chat-messages/<task_id>/stop", USER, task_id="run"),
    _row("POST", "completion-messages", RUN),
    _row("POST", "completion-messages/<task_id>/stop", USER, task_id="run"),
    _row("POST", "workflows/run", RUN),
    _row("POST", "workflows/<workflow_id>/run", RUN, workflow_id="workflow"),
    _row("GET", "workflows/run/<workflow_run_id>", workflow_run_id="run"),
    _row("POST", "workflows/tasks/<task_id>/stop", USER, task_id="run"),
    _row("POST", "workflows/<task_id>/stop", USER, task_id="run"),
    _row("DELETE", "conversations/<conversation_id>", USER, conversation_id="conversation"),
    _row("POST", "conversations/<conversation_id>/name", {**USER, "name": "x"}, conversation_id="conversation"),
    _row(
        "PUT", "conversations/<conversation_id>/variables/<variable_id>", {**USER, "value": "x"},
        conversation_id="conversation", variable_id="conversation",
    ),
    _row("POST", "messages/<message_id>/feedbacks", {**USER, "rating": "like"}, message_id="run"),
    _row("GET", "form/human_input/<form_token>", form_token="run"),
    _row("POST", "form/human_input/<form_token>", USER, form_token="run"),
    _row("POST", "files/upload"),
    _row("GET", "end-users/<end_user_id>", end_user_id="run"),
    # Without the query parameter ``user``, which comes after the key.
    *(
        Row("GET", f"v1/{path}", "- - - - - 400", ids, foreign=401)
        for path, ids in (
            ("conversations", {}),
            ("messages", {}),
            ("conversations/<conversation_id>/variables", {"conversation_id": "conversation"}),
            ("messages/<message_id>/suggested", {"message_id": "run"}),
            ("workflow/<workflow_run_id>/events", {"workflow_run_id": "run"}),
            ("files/<file_id>/preview", {"file_id": "file"}),
        )
    ),
    *_refused("apps/annotations", "GET", "POST"),
    *_refused("apps/annotations/<path:rest>", "PUT", "DELETE"),
    *_refused("apps/annotation-reply/<path:rest>", "GET", "POST"),
    _row("POST", "audio-to-text"),
    *_refused("text-to-audio", "POST"),
    *_refused("datasets", "GET", "POST"),
    *_refused("datasets/<path:rest>", "GET", "POST", "PATCH", "DELETE"),
    *_refused("workspaces/current/models/model-types/<path:rest>", "GET"),
]
