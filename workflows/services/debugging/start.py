"""Start a debug run: of the whole workflow or a part, with pins, breakpoints or a dry run of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack
from uuid import uuid4

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import memory_app
from workflows.engine.language.document import Document, Json
from workflows.engine.language.problems import Problem
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.language.variables import RESERVED_SOURCE_IDS
from workflows.engine.runtime.partial_runs import (
    Extent,
    build_manual_step,
    find_root,
    list_external_reads,
)
from workflows.engine.runtime.step_records import StepRecord
from workflows.errors import InvalidValue
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.client_calls import ClientCall
from workflows.models import Conversation, Run, Step, Workflow
from workflows.models.documents import from_json
from workflows.models.run import PINS_OF
from workflows.services.debugging import previous_run
from workflows.services.debugging.options import NodeNeedsValues, RunOptions, Values, check_options
from workflows.services.debugging.pins import list_people, load_pins
from workflows.services.debugging.previous_run import PreviousRun
from workflows.services.files.inputs import resolve_inputs, resolve_message_files
from workflows.services.runs import runs
from workflows.services.runs.document_checks import check_document, check_part
from workflows.services.runs.memory_streams import (
    MemoryStream,
    build_stream_variables,
    copy_stream_variables,
)
from workflows.services.runs.runs import (
    RunArguments,
    RunRequest,
    Subject,
    VersionChoice,
    resolve_subject,
)


def start_run_with_options(
    principal: Principal, options: RunOptions | None, **arguments: Any
) -> Run:
    """Start a debug run, or without options a normal run, with the arguments of ``start_run``."""
    if options is None:
        return runs.start_run(principal, **arguments)
    return start_debug_run(principal, options=options, **arguments)


def start_debug_run(
    principal: Principal,
    *,
    workflow: Workflow,
    options: RunOptions,
    subject: str | None = None,
    version: VersionChoice | None = None,
    **arguments: Unpack[RunArguments],
) -> Run:
    """Start a debug run as ``services.runs.runs.start_run`` does. A partial run of a chat adds no turn to it.

    Raises DocumentInvalid with the errors of what would run, and NodeNeedsValues with the values that a single node
    reads and no earlier run has produced.
    """
    runs.check_startable(principal, workflow)
    if options.memory == "sandbox" and not memory_app.is_on():
        raise InvalidValue(_("A dry run needs memory, which is disabled."), field="memory")
    with tenant([workflow.team_id]):
        snapshot, selected = runs.select_snapshot(principal, workflow, version)
        document = from_json(snapshot.document)
        check_options(options, document, load_kinds())
        if options.part.is_whole:
            check_document(workflow, snapshot, document)
        else:
            check_part(document, options.part)
        previous = previous_run.load_previous_run(principal, workflow, options.reuse)
        partial = _PartialRun(document, options, previous)
        pins = _select_pins(workflow, options) if selected is None else {}
        requested_mocks = arguments.get("mocks") or {}
        mocks = {**pins, **requested_mocks, **partial.build_typed_mocks()} or None
        if previous is not None and mocks:
            partial = replace(partial, previous=previous_run.apply_pins(previous, document, mocks))
        if options.part.extent is Extent.ALL:
            person = resolve_subject(principal, subject)
            request = RunRequest(workflow, snapshot, selected, person, debug=options.dump())
            request = _name_people(request, pins)
            arguments["mocks"] = mocks
            return runs.queue_run(principal, runs.check_request(principal, request, **arguments))
        person = partial.resolve_subject(principal, subject)
        request = RunRequest(
            workflow,
            snapshot,
            selected,
            person,
            partial.build_inputs(
                principal,
                person.id,
                arguments.get("inputs") or {},
                refuse_unknown=arguments.get("refuse_unknown_inputs", False),
            ),
            files=partial.build_files(principal, person.id, arguments.get("files") or ()),
            mocks=mocks,
            offline=arguments.get("offline", False),
            client_call=partial.get_client_call(),
            system=partial.build_stream(principal, workflow, arguments.get("stream")),
            marks=runs.InputMarks.of(previous.run) if previous is not None else runs.NO_MARKS,
        )
        query, key = arguments.get("query"), arguments.get("conversation")
        request = partial.complete_request(principal, request, query, key)
        return runs.queue_run(principal, _name_people(request, pins))


def _select_pins(workflow: Workflow, options: RunOptions) -> Mapping[str, Json]:
    """Return the draft's pins, except the pin of a node that is to run alone."""
    pins = load_pins(workflow) if options.pins else {}
    if options.part.extent is Extent.ONLY:
        pins = {node: mock for node, mock in pins.items() if node not in options.part.nodes}
    return pins


def _name_people(request: RunRequest, pins: Mapping[str, Json]) -> RunRequest:
    """Return the request with the people whose words its pins may have: the run is erased with each of them."""
    people = list_people(request.workflow, pins) if pins else []
    return replace(request, debug={**(request.debug or {}), PINS_OF: people}) if people else request


@dataclass(frozen=True)
class _PartialRun:
    """A run of a part of a document; ``previous`` is the run whose results it reuses."""

    document: Document
    options: RunOptions
    previous: PreviousRun | None

    @cached_property
    def root(self) -> str | None:
        return find_root(self.document, load_kinds())

    @cached_property
    def typed_values(self) -> Values:
        """The values that a person typed for nodes that won't run, without the start node, whose values are inputs."""
        excluded = {self.root, *self.options.part.nodes}
        node_ids = {node.id for node in self.document.nodes} - excluded
        return {node: values for node, values in self.options.values.items() if node in node_ids}

    def build_typed_mocks(self) -> dict[str, Json]:
        """Return mocks for typed values if the run ends or begins at a node: a step would be inserted too late for it."""
        if self.options.part.extent not in (Extent.UNTIL, Extent.FROM):
            return {}
        handles = self.previous.map_handles() if self.previous else {}
        return {
            node: {"outputs": dict(values)}
            | ({"handle": handles[node]} if handles.get(node) else {})
            for node, values in self.typed_values.items()
        }

    def resolve_subject(self, principal: Principal, subject: str | None) -> Subject:
        """Return the requested subject, by default that of the earlier run. Raises NotFound if it isn't allowed."""
        if self.previous is None or subject is not None:
            return resolve_subject(principal, subject)
        person = resolve_subject(principal, self.previous.run.subject)
        if person.id != self.previous.run.subject:
            raise NotFound(field="reuse")
        return person

    def build_stream(
        self, principal: Principal, workflow: Workflow, stream: MemoryStream | None
    ) -> Mapping[str, Json]:
        """Return the variables of the requested memory stream, by default those of the earlier run."""
        if self.previous is not None and stream is None:
            return copy_stream_variables(self.previous.run.system)
        return build_stream_variables(principal, workflow, self.document, stream)

    def get_client_call(self) -> ClientCall:
        """Return the call of the earlier run, whose history and memory the part has, too."""
        return ClientCall.from_json(self.previous.run.client_call if self.previous else None)

    def build_inputs(
        self,
        principal: Principal,
        subject: str,
        inputs: Mapping[str, Json],
        *,
        refuse_unknown: bool,
    ) -> Mapping[str, Json]:
        """Return the run's inputs, by default those of the earlier run. They are checked if the start node runs."""
        previous_inputs = dict(self.previous.run.inputs) if self.previous else {}
        start_values = self.options.values.get(self.root or "", {})
        if self.options.part.extent is Extent.ONLY:
            values = {**previous_inputs, **inputs, **start_values}
            return resolve_inputs(principal, subject, self.document, values)
        if self.previous is not None and not inputs:
            return previous_inputs
        values = resolve_inputs(principal, subject, self.document, {**inputs, **start_values})
        return check_start_inputs(self.document, values, refuse_unknown=refuse_unknown)

    def build_files(
        self, principal: Principal, subject: str, files: Sequence[Json]
    ) -> Sequence[Json]:
        """Return the files of the message, by default those of the earlier run's."""
        if not files and self.previous is not None:
            return list(self.previous.run.system.get("files") or ())
        return resolve_message_files(principal, subject, self.document, files)

    def complete_request(
        self,
        principal: Principal,
        request: RunRequest,
        query: str | None,
        conversation_key: str | None,
    ) -> RunRequest:
        """Return the request with its reused and typed steps, its options and the system variables of its turn."""
        previous, part = self.previous, self.options.part
        reused = previous_run.select_reused_steps(previous, self.document, part) if previous else []
        typed_steps = []
        if part.extent is Extent.ONLY:
            typed_steps = self._build_typed_steps(request.mocks or {})
            self._check_values(request.inputs, reused, typed_steps)
        turn = self._find_turn(principal, request, conversation_key)
        typed_nodes = {record.key.node_id for record in typed_steps}
        reused = [step for step in reused if step.node_key not in typed_nodes]
        warnings = (
            previous_run.list_warnings(previous, self.document, part, reused) if previous else []
        )
        return replace(
            request,
            system={
                **request.system,
                **self._build_chat_variables(request, query, turn),
            },
            debug=self.options.dump(
                values=bool(typed_steps),
                warnings=warnings,
                turn=turn.get("turn"),
                variables=turn.get("variables"),
            ),
            reused_steps=tuple(reused),
            reused_run=previous.run if previous else None,
            typed_steps=tuple(typed_steps),
        )

    def _build_typed_steps(self, mocks: Mapping[str, Json]) -> list[StepRecord]:
        """Return finished steps for the nodes with typed values, then for the pinned nodes."""
        kinds = {node.id: node.kind for node in self.document.nodes}
        outputs = {node: dict(values) for node, values in self.typed_values.items()}
        pinned = [
            node
            for node in kinds
            if node not in outputs
            and node not in self.options.part.nodes
            and (mocks.get(node) or {}).get("outputs") is not None
        ]
        outputs |= {node: mocks[node]["outputs"] for node in pinned}
        return [build_manual_step(node, kinds[node], values) for node, values in outputs.items()]

    def _check_values(
        self, inputs: Mapping[str, Json], reused: Sequence[Step], typed_steps: Sequence[StepRecord]
    ) -> None:
        """Raise NodeNeedsValues unless the steps provide every value that the selected nodes read from other nodes."""
        outputs: dict[str, Mapping[str, Json]] = {step.node_key: step.outputs for step in reused}
        outputs |= {record.key.node_id: record.outputs for record in typed_steps}
        if self.root is not None:
            outputs[self.root] = inputs
        selected = self.options.part.nodes
        others = {node.id for node in self.document.nodes} - set(selected) - RESERVED_SOURCE_IDS
        missing = dict.fromkeys(
            (selector[0], selector[1])
            for node in selected
            for selector in list_external_reads(self.document, node, load_kinds())
            if selector[0] in others and selector[1] not in outputs.get(selector[0], ())
        )
        if missing:
            raise NodeNeedsValues(
                Problem("value.missing", f"{node}.{field} is needed", node=node, field=field)
                for node, field in missing
            )

    def _find_turn(
        self, principal: Principal, request: RunRequest, conversation_key: str | None
    ) -> dict[str, Any]:  # Any: JSON
        """Return the key, the earlier turns, the position and variables of the turn that a partial run repeats."""
        if self.previous is not None:
            system = self.previous.run.system
            return {
                **previous_run.get_turn(self.previous),
                "key": system.get("conversation_id"),
                "count": system.get("dialogue_count"),
            }
        if not conversation_key:
            return {"key": str(uuid4()), "count": 0}
        conversations = Conversation.objects.visible_to(principal).filter(
            workflow=request.workflow, subject=request.subject.id, key=conversation_key
        )
        conversation = conversations.first()
        if conversation is None:
            raise NotFound(field="conversation_id")
        count = conversation.dialogue_count
        return {
            "turn": {"conversation": str(conversation.pk), "before": count + 1},
            "variables": conversation.variables,
            "key": conversation_key,
            "count": count,
        }

    def _build_chat_variables(
        self, request: RunRequest, query: str | None, turn: Mapping[str, Any]
    ) -> dict[str, Json]:
        query = query or (self.previous.run.system.get("query") if self.previous else None)
        if query is None and request.workflow.is_chat:
            raise InvalidValue(_("A chat workflow needs a message."), field="query")
        system: dict[str, Json] = {} if query is None else {"query": query}
        if turn.get("key"):
            system |= {"conversation_id": turn["key"], "dialogue_count": turn.get("count") or 0}
        return system
