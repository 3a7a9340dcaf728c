"""Starting a run to look into it: the whole workflow or a part, pinned, held, in a sandbox."""

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
from workflows.engine.runtime.partial_runs import Extent, given_step, reads_of, root_of
from workflows.engine.runtime.step_records import StepRecord
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.execution.kinds import load_kinds
from workflows.models import Conversation, Run, Step, Version, Workflow
from workflows.models.documents import from_json
from workflows.services.debugging.options import NodeNeedsValues, RunOptions, Values, check_options
from workflows.services.debugging.pins import pinned_outputs
from workflows.services.debugging.previous_run import (
    Former,
    former_run,
    kept_steps,
    turn_of,
    warnings_about,
    with_pins,
)
from workflows.services.runs.memory_streams import Stream, carried, system_of
from workflows.services.runs.runs import (
    Order,
    Subject,
    Which,
    order_run,
    pinned_snapshot,
    queue_run,
    start_run,
    subject_of,
)


def start_as_asked(principal: Principal, options: RunOptions | None, **asked: Any) -> Run:
    """A plain run where nothing is to be looked into; ``asked`` as for either."""
    if options is None:
        return start_run(principal, **asked)
    return start_debug_run(principal, options=options, **asked)


def start_debug_run(
    principal: Principal,
    *,
    workflow: Workflow,
    options: RunOptions,
    inputs: Mapping[str, Json] | None = None,
    query: str | None = None,
    conversation: Conversation | str | None = None,
    subject: str | None = None,
    version: Which | Version | None = None,
    mocks: Mapping[str, Json] | None = None,
    offline: bool = False,
    stream: Stream | None = None,
) -> Run:
    """As ``services.runs.start_run``; a part of a chat's turn is no turn of its conversation.

    Raises NodeNeedsValues naming what a node alone would read and nothing has run for.
    """
    permissions.check_run(principal, workflow)
    if workflow.is_archived:
        raise WorkflowArchived
    _check_memory(options)
    with tenant([workflow.team_id]):
        snapshot, pinned = pinned_snapshot(principal, workflow, version)
        document = from_json(snapshot.document)
        check_options(options, document, load_kinds())
        former = former_run(principal, workflow, options.reuse)
        pins = _pins(workflow, options) if pinned is None else {}
        mocks = {**pins, **(mocks or {}), **_played(document, options, former)} or None
        former = with_pins(former, document, mocks) if former and mocks else former
        if options.part.extent is Extent.ALL:
            order = order_run(
                principal,
                workflow=workflow,
                inputs=inputs,
                query=query,
                conversation=conversation,
                person=subject_of(principal, subject),
                version=version,
                mocks=mocks,
                offline=offline,
                stream=stream,
            )
            return queue_run(principal, replace(order, debug=options.stored()))
        order = Order(
            workflow,
            snapshot,
            pinned,
            _person(principal, former, subject),
            _inputs(document, options, former, inputs),
            None,
            None,
            mocks,
            offline,
            system_of(principal, workflow, stream),
        )
        return queue_run(
            principal, _partial(principal, order, document, options, former, query, conversation)
        )


def _pins(workflow: Workflow, options: RunOptions) -> Mapping[str, Json]:
    """What nodes give without running, as the draft has it; a node asked for by name runs all the same."""
    pins = pinned_outputs(workflow) if options.pins else {}
    if options.part.extent is Extent.ONLY:
        pins = {node: mock for node, mock in pins.items() if node not in options.part.nodes}
    return pins


def _partial(
    principal: Principal,
    order: Order,
    document: Document,
    options: RunOptions,
    former: Former | None,
    query: str | None,
    conversation: Conversation | str | None,
) -> Order:
    kept = kept_steps(former, document, options.part) if former else []
    typed: list[StepRecord] = []
    if options.part.extent is Extent.ONLY:
        kinds_of = {node.id: node.kind for node in document.nodes}
        typed = [
            given_step(node, kinds_of[node], dict(values))
            for node, values in _typed(document, options).items()
        ]
        typed += _pinned_steps(document, order.mocks or {}, typed, options)
        _check_values(document, options, order.inputs, kept, typed)
    names = {record.key.node_id for record in typed}
    kept = [step for step in kept if step.node_key not in names]
    place = _place(principal, order, former, conversation)
    debug = options.stored(
        values=bool(typed),
        warnings=warnings_about(former, document, options.part, kept) if former else [],
        turn=place.get("turn"),
        variables=place.get("variables"),
    )
    carried_over = carried(former.run.system) if former else {}
    system = {**carried_over, **order.system, **_said(order, former, query, place)}
    return replace(
        order,
        system=system,
        debug=debug,
        kept=tuple(kept),
        kept_from=former.run if former else None,
        given=tuple(typed),
    )


def _check_memory(options: RunOptions) -> None:
    if options.memory == "sandbox" and not memory_app.is_on():
        raise InvalidValue(_("A dry run needs memory, which is disabled."), field="memory")


def _person(principal: Principal, former: Former | None, named: str | None) -> Subject:
    """Whom the earlier run was for, if the one who asks may be that person again."""
    if former is None or named is not None:
        return subject_of(principal, named)
    person = subject_of(principal, former.run.subject)
    if person.id != former.run.subject:
        raise NotFound(field="reuse")
    return person


def _inputs(
    document: Document,
    options: RunOptions,
    former: Former | None,
    given: Mapping[str, Json] | None,
) -> Mapping[str, Json]:
    """Checked where the start really begins with them; a node alone gets what there is."""
    typed = options.values.get(root_of(document, load_kinds()) or "", {})
    if options.part.extent is Extent.ONLY:
        return {**(former.run.inputs if former else {}), **(given or {}), **typed}
    if former is not None and not given:
        return dict(former.run.inputs)
    return check_start(document, {**(given or {}), **typed})


def _typed(document: Document, options: RunOptions) -> Values:
    """For nodes that aren't asked to run; the start's are the run's inputs."""
    apart = {root_of(document, load_kinds()), *options.part.nodes}
    known = {node.id for node in document.nodes} - apart
    return {node: values for node, values in options.values.items() if node in known}


def _played(document: Document, options: RunOptions, former: Former | None) -> dict[str, Json]:
    """Where nodes run on the way, what is typed in for one is what it gives, in its place.

    Put in as a step of its own it would come after what had followed from it, which would run again.
    """
    if options.part.extent not in (Extent.UNTIL, Extent.FROM):
        return {}
    ways = former.ways() if former else {}
    return {
        node: {"outputs": dict(values)} | ({"handle": ways[node]} if ways.get(node) else {})
        for node, values in _typed(document, options).items()
    }


def _pinned_steps(
    document: Document,
    mocks: Mapping[str, Json],
    typed: Sequence[StepRecord],
    options: RunOptions,
) -> list[StepRecord]:
    """What is pinned is as good as run."""
    taken = {record.key.node_id for record in typed} | set(options.part.nodes)
    return [
        given_step(node.id, node.kind, mocks[node.id]["outputs"])
        for node in document.nodes
        if node.id not in taken and (mocks.get(node.id) or {}).get("outputs") is not None
    ]


def _check_values(
    document: Document,
    options: RunOptions,
    inputs: Mapping[str, Json],
    kept: Sequence[Step],
    typed: Sequence[StepRecord],
) -> None:
    known = load_kinds()
    root = root_of(document, known)
    there: dict[str, Mapping[str, Json]] = {step.node_key: step.outputs for step in kept}
    there |= {record.key.node_id: record.outputs for record in typed}
    if root is not None:
        there[root] = inputs
    nodes = {node.id for node in document.nodes} - set(options.part.nodes)
    missing = [
        selector
        for node in options.part.nodes
        for selector in reads_of(document, node, known)
        if selector[0] in nodes
        and selector[0] not in RESERVED_HEADS
        and (selector[0] not in there or selector[1] not in there[selector[0]])
    ]
    if missing:
        raise NodeNeedsValues(
            Problem("value.missing", f"{'.'.join(one[:2])} is needed", node=one[0], field=one[1])
            for one in dict.fromkeys((selector[0], selector[1]) for selector in missing)
        )


def _place(
    principal: Principal,
    order: Order,
    former: Former | None,
    conversation: Conversation | str | None,
) -> dict[str, Any]:  # Any: JSON
    """Which conversation a part of a turn looks into. It adds nothing to it."""
    if former is not None:
        system = former.run.system
        return {
            **turn_of(former),
            "key": system.get("conversation_id"),
            "count": system.get("dialogue_count"),
        }
    key = conversation.key if isinstance(conversation, Conversation) else conversation
    if key:
        talk = (
            Conversation.objects.visible_to(principal)
            .filter(workflow=order.workflow, subject=order.subject.id, key=key)
            .first()
        )
        if talk is None:
            raise NotFound(field="conversation_id")
        number = talk.dialogue_count + 1
        turn = {"conversation": str(talk.pk), "before": number}
        return {"turn": turn, "variables": talk.variables, "key": key, "count": number}
    return {"key": str(uuid4()), "count": 1}


def _said(
    order: Order, former: Former | None, query: str | None, place: Mapping[str, Any]
) -> dict[str, Json]:
    said = query or (former.run.system.get("query") if former else None)
    system: dict[str, Json] = {}
    if said is not None:
        system["query"] = said
    elif order.workflow.is_chat:
        raise InvalidValue(_("A chat workflow needs a message."), field="query")
    if place.get("key"):
        system |= {"conversation_id": place["key"], "dialogue_count": place.get("count") or 1}
    return system
