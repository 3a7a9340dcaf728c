"""Rows and objects of the OpenAI API, which only keys open: a person who is signed in isn't let in."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _model(person: Person, canary: str) -> Any:
    """The id of a model is the short name of its workflow, which the sender knows; the note is what could leak."""
    from tests.factories.workflows import make_version, make_workflow

    workflow = make_workflow(person, f"Model {canary[-1]}")
    make_version(person, workflow, note=canary)
    return workflow.slug


OBJECTS: dict[str, Maker] = {"model": _model}

# Nobody executes the run, so nobody may wait for it: a stream is opened and not read.
BODY = {"messages": [{"role": "user", "content": "Hello?"}], "stream": True}
ROWS: list[Row] = [
    row
    for root in ("openai/v1/", "v1/")
    for row in (
        Row("GET", f"{root}models", "- - - - - 200"),
        Row(
            "GET",
            f"{root}models/<path:model_id>",
            "- - - - - 404",
            ids={"model_id": "model"},
            foreign=401,
        ),
        Row(
            "POST",
            f"{root}chat/completions",
            "- - - - - 404",
            ids={"model": "model"},
            body=BODY,
            foreign=401,
        ),
    )
]
