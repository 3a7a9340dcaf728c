"""Runs the cases of a ``cases.json``: documents, inputs and expected results, as its ``how_to_run`` describes them."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.engine.kinds import Kinds
from workflows.engine.language.document import Json
from workflows.engine.language.dsl import load_document
from workflows.engine.nodes.llm.extracted_values import REASON
from workflows.engine.runtime.step_records import StepStatus
from workflows.engine.testing.backends import Backend, Outcome, Request


# The system variables of every case.
SYSTEM_VARIABLES: Mapping[str, Json] = {
    "user_id": "test_user",
    "app_id": "test_app",
    "workflow_id": "test_workflow",
    "files": [],
}

_HTTP = "type:http-request"
# Errors after the request was sent; for all other errors no request is sent.
_ERRORS_AFTER_SENDING = frozenset({"HTTPResponseCodeError", "HttpFailed", "ResponseSizeError"})
_EXECUTED_STATUSES = (StepStatus.SUCCEEDED, StepStatus.EXCEPTION, StepStatus.FAILED)


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """One case of the suite; ``source`` is its JSON."""

    id: str
    group: str
    path: Path
    source: Mapping[str, Json]

    @property
    def expected(self) -> Mapping[str, Json]:
        return self.source["expect"]  # type: ignore[no-any-return]

    @property
    def is_import(self) -> bool:
        return str(self.expected["status"]).startswith("import-")

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self.source.get("node_types") or ())


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The outcome of a case. ``outcome`` is None when there was no run."""

    status: str
    error: str | None = None
    outcome: Outcome | None = None
    has_warnings: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    field: str
    expected: Json
    actual: Json


@dataclass(frozen=True, slots=True)
class Verdict:
    case: ConformanceCase
    actual: CaseOutcome
    differences: tuple[Difference, ...]
    missing_kinds: tuple[str, ...] = ()

    @property
    def has_passed(self) -> bool:
        return not self.differences


def read_cases(folder: Path, groups: Collection[str] = ()) -> list[ConformanceCase]:
    """Return the cases of these groups in the order of the suite, or all cases without groups."""
    suite = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    return [
        ConformanceCase(case["id"], case["group"], folder / case["file"], case)
        for case in suite["cases"]
        if not groups or case["group"] in groups
    ]


async def evaluate_case(case: ConformanceCase, backend: Backend, kinds: Kinds) -> Verdict:
    """Run a case, and return how its outcome differs from the expected one and which kinds are not installed."""
    actual = await _run_case(case, backend)
    missing = tuple(sorted(kind for kind in case.kinds if kind not in kinds))
    return Verdict(case, actual, tuple(_iter_differences(case, actual)), missing)


async def _run_case(case: ConformanceCase, backend: Backend) -> CaseOutcome:
    try:
        loaded = load_document(case.path.read_bytes(), confirm_newer=not case.is_import)
    except DocumentInvalid as invalid:
        status = "import-rejected" if case.is_import else "load-error"
        return CaseOutcome(status, invalid.message)
    if case.is_import:
        status = "import-pending" if loaded.pending else "import-ok"
        return CaseOutcome(status, has_warnings=bool(loaded.warnings))
    source = case.source
    request = Request(
        document=loaded.document,
        inputs=source.get("inputs") or {},
        system={**SYSTEM_VARIABLES, **(source.get("sys") or {})},
        conversation=source.get("conversation") or {},
        mocks=_build_mocks(source),
        env=source.get("env") or {},
        checked=case.group != "start validation",
    )
    try:
        outcome = await backend.run(request)
    except InputRejected as rejected:
        return CaseOutcome("input-rejected", rejected.message)
    except DocumentInvalid as invalid:
        return CaseOutcome("load-error", invalid.message)
    return CaseOutcome(outcome.status, outcome.error, outcome)


def _build_mocks(source: Mapping[str, Json]) -> Mapping[str, Mapping[str, Json]]:
    """Return the mocks of a case; its server's responses are for requests without a separate mock."""
    mocks = dict(source.get("mocks") or {})
    if "http" in source and _HTTP not in mocks:
        mocks[_HTTP] = {"http": source["http"]}
    return mocks


def _iter_differences(case: ConformanceCase, actual: CaseOutcome) -> Iterator[Difference]:
    expected = case.expected
    allowed = expected.get("status_any") or [expected["status"]]
    if expected["status"] == "load-error":
        allowed = [*allowed, "failed"]
    if actual.status not in allowed:
        yield Difference("status", expected["status"], f"{actual.status}: {actual.error}")
        return
    if expected.get("warning") and not actual.has_warnings:
        yield Difference("warning", True, False)
    if actual.outcome is None:
        return
    for name, read in _READERS.items():
        if name in expected:
            value = read(expected[name], actual.outcome)
            if name == "outputs" and expected.get("outputs_match") == "subset":
                value = {key: value.get(key) for key in expected[name]}
            if value != expected[name]:
                yield Difference(name, expected[name], value)


def _read_outputs(expected: Json, outcome: Outcome) -> Json:
    outputs = dict(outcome.outputs)
    if "files" not in expected:
        outputs.pop("files", None)
    return outputs


def _read_nodes_run(expected: Json, outcome: Outcome) -> Json:
    executed = {
        step.key.node_id
        for step in outcome.steps
        if step.status in _EXECUTED_STATUSES and not step.key.rounds
    }
    return expected if executed == set(expected) else sorted(executed)


def _read_nodes_not_run(expected: Json, outcome: Outcome) -> Json:
    executed = {step.key.node_id for step in outcome.steps if step.status in _EXECUTED_STATUSES}
    return [node for node in expected if node not in executed]


def _read_conversation(expected: Json, outcome: Outcome) -> Json:
    return {name: outcome.conversation.get(name) for name in expected}


def _read_attempts(expected: Json, outcome: Outcome) -> Json:
    tries = {step.key.node_id: step.tries for step in outcome.steps}
    return {node: tries.get(node, 0) for node in expected}


def _read_llm_messages(expected: Json, outcome: Outcome) -> Json:
    messages = {step.key.node_id: step.inputs.get("messages") for step in outcome.steps}
    return {node: messages.get(node) for node in expected}


def _read_reason(expected: Json, outcome: Outcome) -> Json:
    """Return the reason that a parameter extractor gives for its values."""
    reasons = [step.outputs[REASON] for step in outcome.steps if REASON in step.outputs]
    return reasons[-1] if reasons else None


def _read_http_request(expected: Json, outcome: Outcome) -> Json:
    requests = [step.inputs["sent"] for step in outcome.steps if "sent" in step.inputs]
    request = requests[-1] if requests else {}
    # A missing value and an empty value are equal.
    return {
        name: value if (request.get(name) or None) == (value or None) else request.get(name)
        for name, value in expected.items()
    }


def _count_http_requests(expected: Json, outcome: Outcome) -> Json:
    return sum(
        step.tries
        for step in outcome.steps
        if f"type:{step.kind}" == _HTTP
        and (step.error is None or step.error.type in _ERRORS_AFTER_SENDING)
    )


# The part of an outcome that is compared with the expected value, which says what to read.
# Without ``error_contains``: it has the wording of the reference, from which this engine's may differ.
_READERS: Mapping[str, Callable[[Json, Outcome], Json]] = {
    "outputs": _read_outputs,
    "stream_text": lambda expected, outcome: outcome.stream,
    "stream_chunks": lambda expected, outcome: list(outcome.chunks),
    "stream_chunk_count": lambda expected, outcome: len(outcome.chunks),
    "nodes_run": _read_nodes_run,
    "nodes_not_run": _read_nodes_not_run,
    "conversation_after": _read_conversation,
    "attempts": _read_attempts,
    "exceptions_count": lambda expected, outcome: outcome.exceptions_count,
    "llm_messages": _read_llm_messages,
    "reason": _read_reason,
    "http_request": _read_http_request,
    "http_request_count": _count_http_requests,
}
