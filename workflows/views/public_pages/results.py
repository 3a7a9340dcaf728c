"""The result of a form's run for a visitor: each output with its name, as Markdown, files or JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows.engine.language.document import Json
from workflows.files.links import build_link
from workflows.files.records import list_file_ids
from workflows.models import Run
from workflows.models.run import RunStatus
from workflows.services.files.reading import find_own_files
from workflows.views.runs.answering_models import split_reasoning


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a run: a text, which may be Markdown, or files, or JSON of any other value."""

    name: str
    text: str = ""
    code: str = ""
    value: Json = None
    has_files: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a run. ``problem`` says in plain words why there are no outputs, or that there are only some."""

    outputs: tuple[Output, ...] = ()
    problem: str = ""
    signed_urls: Mapping[UUID, str] = field(default_factory=dict)


def build_result(principal: Principal, run: Run) -> Result | None:
    """Return the result of a run that has ended; None while it goes on."""
    if not run.has_ended:
        return None
    if run.status == RunStatus.STOPPED:
        return Result(problem=_("This was stopped."))
    if run.status == RunStatus.FAILED:
        return Result(problem=_("Something went wrong. Please try again."))
    values = run.outputs or {}
    files = find_own_files(principal, list_file_ids([values]))
    outputs = tuple(
        _describe(name, value) for name, value in values.items() if value not in (None, "", [], {})
    )
    problem = "" if outputs else _("There is no result.")
    return Result(outputs, problem, {file.pk: build_link(file) for file in files})


def _describe(name: str, value: Json) -> Output:
    if list_file_ids([value]):
        return Output(name, value=value, has_files=True)
    if isinstance(value, str):
        return Output(name, text=split_reasoning(value)[0])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Output(name, text=str(value))
    return Output(name, code=json.dumps(value, ensure_ascii=False, indent=2))
