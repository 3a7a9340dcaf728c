"""The options of a run in a form of the editor, which are JSON in one field, and the start of such a run."""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.principals import Principal
from config.http import strict_json
from workflows import permissions
from workflows.engine.language.document import Document, Json
from workflows.errors import ContentTooLarge, InvalidValue
from workflows.models import Run, Workflow
from workflows.services.debugging.options import RunOptions, select_part
from workflows.services.debugging.start import start_run_with_options
from workflows.services.runs.document_checks import check_finished
from workflows.views.catalog.workflow_page import choose_version, read_memory_stream, read_person
from workflows.views.request_context import read_text


MAX_LENGTH = 1024 * 1024


def start_run_from_form(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    document: Document,
    *,
    inputs: Mapping[str, Json],
    query: str | None = None,
    files: Sequence[Json] = (),
    default_options: RunOptions | None = None,
) -> Run:
    """Start a run of the document that the page runs, with the options, conversation, person and group of the form.

    Who may run only what is published may pause such a run, but neither leave nodes out nor enter results for them.
    """
    options = read_options(request.POST, pins=permissions.may_edit(principal, workflow))
    if options is not None and options.replaces_results:
        permissions.check_start_draft(principal, workflow)
    version = choose_version(principal, workflow)
    if version == "draft" and (options or default_options or RunOptions()).part.is_whole:
        check_finished(workflow, document)
    return start_run_with_options(
        principal,
        options or default_options,
        workflow=workflow,
        inputs=inputs,
        query=query,
        files=files,
        conversation=read_text(request.POST, "conversation") or None,
        subject=read_person(request.POST) or None,
        version=version,
        stream=read_memory_stream(request.POST),
    )


def read_options(data: Mapping[str, str], *, pins: bool) -> RunOptions | None:
    """Read the options, or return None if there are none. ``pins``: whether the caller's runs use pinned outputs."""
    text = data.get("debug", "")
    if not text.strip():
        return RunOptions(pins=True) if pins else None
    if len(text) > MAX_LENGTH:
        raise ContentTooLarge(field="debug")
    payload = _parse_json(text, "debug")
    if not isinstance(payload, dict):
        raise InvalidValue(_("This is not valid JSON."), field="debug")
    return RunOptions(
        part=select_part(
            only=_read_names(payload.get("only")),
            until=_read_names(payload.get("until")),
            start_from=_read_names(payload.get("from")),
        ),
        reuse=_read_run_id(payload.get("reuse")),
        breakpoints=_read_names(payload.get("breakpoints")),
        step=payload.get("step") is True,
        memory="sandbox" if payload.get("memory") == "sandbox" else "real",
        pins=pins,
        values=_read_values(payload.get("values")),
    )


def read_outputs(text: str) -> dict[str, Json]:
    """Parse the outputs that a person entered as JSON; raise InvalidValue if they aren't an object."""
    outputs = _parse_json(text, "outputs")
    if not isinstance(outputs, dict):
        raise InvalidValue(_("Outputs must be an object of names and values."), field="outputs")
    return outputs


def format_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _parse_json(text: str, field: str) -> Json:
    try:
        return strict_json.loads(text)
    except (strict_json.NotStrictJson, ValueError) as error:
        raise InvalidValue(_("This is not valid JSON."), field=field) from error


def _read_names(names: Json) -> tuple[str, ...]:
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise InvalidValue(_("Nodes must be a list of node IDs."), field="debug")
    return tuple(names)


def _read_values(values: Json) -> Mapping[str, Mapping[str, Json]]:
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(
        isinstance(outputs, dict) for outputs in values.values()
    ):
        raise InvalidValue(_("Values must be keyed by node and output."), field="values")
    return values


def _read_run_id(text: Json) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(str(text))
    except ValueError:
        raise InvalidValue(_("This is not a run."), field="reuse") from None
