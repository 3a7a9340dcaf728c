"""Start a debug run: of the whole workflow or a part, with pins, breakpoints or a dry run of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.document import Document, Json
from workflows.engine.language.problems import Problem
from workflows.engine.language.start_form import check_start
from workflows.engine.language.variables import RESERVED_HEADS
from workflows.engine.runtime.partial_runs import (
    Extent,
    build_manual_step,
    find_root,
    list_external_reads,
)
from workflows.engine.runtime.step_records import StepRecord
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.execution.kinds import load_kinds
from workflows.models import Conversation, Run, Step, Version, Workflow
from workflows.models.documents import from_json
from workflows.services.debugging.options import NodeNeedsValues, RunOptions, Values, check_options
from workflows.services.debugging.pins import load_pins
from workflows.services.debugging.previous_run import (
    PreviousRun,
    apply_pins,
    get_turn,
    list_warnings,
    load_previous_run,
    select_reused_steps,
)
from workflows.services.runs.memory_streams import (
    MemoryStream,
    build_stream_variables,
    copy_stream_variables,
)
from workflows.services.runs.runs import (
    RunRequest,
    Subject,
    VersionChoice,
    build_run_request,
    queue_run,
    resolve_subject,
    select_snapshot,
    start_run,
)


def start_run_with_options(
    principal: Principal, options: RunOptions | None, **arguments: Any
) -> Run:
    """Start a debug run, or without options a normal run; ``arguments`` as for either."""
    if options is None:
        return start_run(principal, **arguments)
    return start_debug_run(principal, options=options, **arguments)


def start_debug_run(
    principal: Principal,
    *,
    workflow: Workflow,
    options: RunOptions,
    inputs: Mapping[str, Json] | None = None,
    query: str | None = None,
    conversation: Conversation | str | None = None,
    subject: str | None = None,
    version: VersionChoice | Version | None = None,
    mocks: Mapping[str, Json] | None = None,
    offline: bool = False,
    stream: MemoryStream | None = None,
) -> Run:
    """Start a debug run as ``services.runs.runs.start_run`` does; a partial run of a chat turn adds no turn.

    Raises NodeNeedsValues with the values that a single node reads and no run has produced.
    """
    permissions.check_run(principal, workflow)
    if workflow.is_archived:
        raise WorkflowArchived
    _check_memory(options)
    with tenant([workflow.team_id]):
        snapshot, pinned = select_snapshot(principal, workflow, version)
        document = from_json(snapshot.document)
        check_options(options, document, load_kinds())
        previous = load_previous_run(principal, workflow, options.reuse)
        pins = _select_pins(workflow, options) if pinned is None else {}
        mocks = {**pins, **(mocks or {}), **_build_typed_mocks(document, options, previous)} or None
        previous = apply_pins(previous, document, mocks) if previous and mocks else previous
        if options.part.extent is Extent.ALL:
            request = build_run_request(
                principal,
                workflow=workflow,
                inputs=inputs,
                query=query,
                conversation=conversation,
                person=resolve_subject(principal, subject),
                version=version,
                mocks=mocks,
                offline=offline,
                stream=stream,
            )
            return queue_run(principal, replace(request, debug=options.dump()))
        person = _resolve_subject(principal, previous, subject)
        values = _build_inputs(document, options, previous, inputs)
        variables = build_stream_variables(principal, workflow, stream)
        request = RunRequest(
            workflow, snapshot, pinned, person, values, None, None, mocks, offline, variables
        )
        part = _build_partial_request(
            principal, request, document, options, previous, query, conversation
        )
        return queue_run(principal, part)


def _select_pins(workflow: Workflow, options: RunOptions) -> Mapping[str, Json]:
    """Return the draft's pins, except the pin of a node that is to run alone."""
    pins = load_pins(workflow) if options.pins else {}
    if options.part.extent is Extent.ONLY:
        pins = {node: mock for node, mock in pins.items() if node not in options.part.nodes}
    return pins


def _build_partial_request(
    principal: Principal,
    request: RunRequest,
    document: Document,
    options: RunOptions,
    previous: PreviousRun | None,
    query: str | None,
    conversation: Conversation | str | None,
) -> RunRequest:
    reused = select_reused_steps(previous, document, options.part) if previous else []
    typed_steps: list[StepRecord] = []
    if options.part.extent is Extent.ONLY:
        kinds_of = {node.id: node.kind for node in document.nodes}
        typed_steps = [
            build_manual_step(node, kinds_of[node], dict(values))
            for node, values in _select_typed_values(document, options).items()
        ]
        typed_steps += _build_pinned_steps(document, request.mocks or {}, typed_steps, options)
        _check_values(document, options, request.inputs, reused, typed_steps)
    names = {record.key.node_id for record in typed_steps}
    reused = [step for step in reused if step.node_key not in names]
    turn_context = _build_turn_context(principal, request, previous, conversation)
    debug = options.dump(
        values=bool(typed_steps),
        warnings=list_warnings(previous, document, options.part, reused) if previous else [],
        turn=turn_context.get("turn"),
        variables=turn_context.get("variables"),
    )
    carried_over = copy_stream_variables(previous.run.system) if previous else {}
    system = {
        **carried_over,
        **request.system,
        **_build_chat_variables(request, previous, query, turn_context),
    }
    return replace(
        request,
        system=system,
        debug=debug,
        reused_steps=tuple(reused),
        reused_run=previous.run if previous else None,
        typed_steps=tuple(typed_steps),
    )


def _check_memory(options: RunOptions) -> None:
    if options.memory == "sandbox" and not memory_app.is_on():
        raise InvalidValue(_("A dry run needs memory, which is disabled."), field="memory")


def _resolve_subject(
    principal: Principal, previous: PreviousRun | None, subject: str | None
) -> Subject:
    """Return the subject of the earlier run, if the principal may run as that subject again."""
    if previous is None or subject is not None:
        return resolve_subject(principal, subject)
    person = resolve_subject(principal, previous.run.subject)
    if person.id != previous.run.subject:
        raise NotFound(field="reuse")
    return person


def _build_inputs(
    document: Document,
    options: RunOptions,
    previous: PreviousRun | None,
    inputs: Mapping[str, Json] | None,
) -> Mapping[str, Json]:
    """Return the inputs. They are checked only if the start node runs with them; without new inputs, those of the
    earlier run are reused as they were.
    """
    start_values = options.values.get(find_root(document, load_kinds()) or "", {})
    if options.part.extent is Extent.ONLY:
        return {**(previous.run.inputs if previous else {}), **(inputs or {}), **start_values}
    if previous is not None and not inputs:
        return dict(previous.run.inputs)
    return check_start(document, {**(inputs or {}), **start_values})


def _select_typed_values(document: Document, options: RunOptions) -> Values:
    """Return the typed values of nodes that won't run. Values of the start node are not among them: they become the
    run's inputs, unless the inputs of an earlier run are reused.
    """
    excluded = {find_root(document, load_kinds()), *options.part.nodes}
    node_ids = {node.id for node in document.nodes} - excluded
    return {node: values for node, values in options.values.items() if node in node_ids}


def _build_typed_mocks(
    document: Document, options: RunOptions, previous: PreviousRun | None
) -> dict[str, Json]:
    """Return mocks for typed values of nodes on the way to the selected ones.

    As a separate step, a typed value would come after the steps that depend on it, which would run again.
    """
    if options.part.extent not in (Extent.UNTIL, Extent.FROM):
        return {}
    handles = previous.map_handles() if previous else {}
    return {
        node: {"outputs": dict(values)} | ({"handle": handles[node]} if handles.get(node) else {})
        for node, values in _select_typed_values(document, options).items()
    }


def _build_pinned_steps(
    document: Document,
    mocks: Mapping[str, Json],
    typed_steps: Sequence[StepRecord],
    options: RunOptions,
) -> list[StepRecord]:
    """Return pinned nodes as finished steps."""
    excluded = {record.key.node_id for record in typed_steps} | set(options.part.nodes)
    return [
        build_manual_step(node.id, node.kind, mocks[node.id]["outputs"])
        for node in document.nodes
        if node.id not in excluded and (mocks.get(node.id) or {}).get("outputs") is not None
    ]


def _check_values(
    document: Document,
    options: RunOptions,
    inputs: Mapping[str, Json],
    reused: Sequence[Step],
    typed_steps: Sequence[StepRecord],
) -> None:
    kinds = load_kinds()
    root = find_root(document, kinds)
    outputs: dict[str, Mapping[str, Json]] = {step.node_key: step.outputs for step in reused}
    outputs |= {record.key.node_id: record.outputs for record in typed_steps}
    if root is not None:
        outputs[root] = inputs
    nodes = {node.id for node in document.nodes} - set(options.part.nodes)
    missing = [
        selector
        for node in options.part.nodes
        for selector in list_external_reads(document, node, kinds)
        if selector[0] in nodes
        and selector[0] not in RESERVED_HEADS
        and (selector[0] not in outputs or selector[1] not in outputs[selector[0]])
    ]
    if missing:
        raise NodeNeedsValues(
            Problem(
                "value.missing",
                f"{'.'.join(missing_value[:2])} is needed",
                node=missing_value[0],
                field=missing_value[1],
            )
            for missing_value in dict.fromkeys((selector[0], selector[1]) for selector in missing)
        )


def _build_turn_context(
    principal: Principal,
    request: RunRequest,
    previous: PreviousRun | None,
    conversation: Conversation | str | None,
) -> dict[str, Any]:  # Any: JSON
    """Return the conversation that a partial run of a turn reads. The run adds nothing to the conversation."""
    if previous is not None:
        system = previous.run.system
        return {
            **get_turn(previous),
            "key": system.get("conversation_id"),
            "count": system.get("dialogue_count"),
        }
    key = conversation.key if isinstance(conversation, Conversation) else conversation
    if key:
        row = (
            Conversation.objects.visible_to(principal)
            .filter(workflow=request.workflow, subject=request.subject.id, key=key)
            .first()
        )
        if row is None:
            raise NotFound(field="conversation_id")
        number = row.dialogue_count + 1
        turn = {"conversation": str(row.pk), "before": number}
        return {"turn": turn, "variables": row.variables, "key": key, "count": number}
    return {"key": str(uuid4()), "count": 1}


def _build_chat_variables(
    request: RunRequest,
    previous: PreviousRun | None,
    query: str | None,
    turn_context: Mapping[str, Any],
) -> dict[str, Json]:
    text = query or (previous.run.system.get("query") if previous else None)
    system: dict[str, Json] = {}
    if text is not None:
        system["query"] = text
    elif request.workflow.is_chat:
        raise InvalidValue(_("A chat workflow needs a message."), field="query")
    if turn_context.get("key"):
        system |= {
            "conversation_id": turn_context["key"],
            "dialogue_count": turn_context.get("count") or 1,
        }
    return system
