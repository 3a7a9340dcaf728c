"""Runs a ``cases.json``: documents, what goes in, what must come out. Its ``how_to_run`` says the rest."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.engine.kinds import Kinds
from workflows.engine.language.document import Json
from workflows.engine.language.dsl import load_document
from workflows.engine.runtime.step_records import StepStatus
from workflows.engine.testing.backends import Backend, Outcome, Request


# Set in every case, whatever it says.
SYSTEM: Mapping[str, Json] = {
    "user_id": "test_user",
    "app_id": "test_app",
    "workflow_id": "test_workflow",
    "files": [],
}

_HTTP = "type:http-request"
_EXECUTED = (StepStatus.SUCCEEDED, StepStatus.EXCEPTION, StepStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    group: str
    path: Path
    written: Mapping[str, Json]

    @property
    def expected(self) -> Mapping[str, Json]:
        return self.written["expect"]  # type: ignore[no-any-return]

    @property
    def is_import(self) -> bool:
        return str(self.expected["status"]).startswith("import-")

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self.written.get("node_types") or ())


@dataclass(frozen=True, slots=True)
class Got:
    """What happened to a case. ``outcome`` is None when it didn't come to a run."""

    status: str
    error: str | None = None
    outcome: Outcome | None = None
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    expected: Json
    got: Json


@dataclass(frozen=True, slots=True)
class Verdict:
    case: Case
    got: Got
    differences: tuple[Difference, ...]
    missing_kinds: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.differences


def read_cases(folder: Path, only: Iterable[str] = ()) -> list[Case]:
    """The suite's cases in its order; ``only`` names groups (all, when it names none)."""
    wanted = set(only)
    suite = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    return [
        Case(case["id"], case["group"], folder / case["file"], case)
        for case in suite["cases"]
        if not wanted or case["group"] in wanted
    ]


async def judge(case: Case, backend: Backend, kinds: Kinds) -> Verdict:
    got = await _run(case, backend)
    missing = tuple(sorted(kind for kind in case.kinds if kind not in kinds))
    return Verdict(case, got, tuple(_differences(case, got)), missing)


async def _run(case: Case, backend: Backend) -> Got:
    try:
        loaded = load_document(case.path.read_bytes(), confirm_newer=not case.is_import)
    except DocumentInvalid as invalid:
        status = "import-rejected" if case.is_import else "load-error"
        return Got(status, invalid.message)
    if case.is_import:
        status = "import-pending" if loaded.pending else "import-ok"
        return Got(status, warned=bool(loaded.warnings))
    written = case.written
    request = Request(
        document=loaded.document,
        inputs=written.get("inputs") or {},
        system={**SYSTEM, **(written.get("sys") or {})},
        conversation=written.get("conversation") or {},
        mocks=_mocks(written),
        env=written.get("env") or {},
        checked=case.group != "start validation",
    )
    try:
        outcome = await backend.run(request)
    except InputRejected as rejected:
        return Got("input-rejected", rejected.message)
    except DocumentInvalid as invalid:
        return Got("load-error", invalid.message)
    return Got(outcome.status, outcome.error, outcome)


def _mocks(written: Mapping[str, Json]) -> Mapping[str, Mapping[str, Json]]:
    """What a case's server answers is one more mock: every request without one of its own gets it."""
    mocks = dict(written.get("mocks") or {})
    if "http" in written and _HTTP not in mocks:
        mocks[_HTTP] = {"http": written["http"]}
    return mocks


def _differences(case: Case, got: Got) -> Iterator[Difference]:
    expected = case.expected
    allowed = expected.get("status_any") or [expected["status"]]
    if expected["status"] == "load-error":
        allowed = [*allowed, "failed"]
    if got.status not in allowed:
        yield Difference("status", expected["status"], f"{got.status}: {got.error}")
        return
    if expected.get("warning") and not got.warned:
        yield Difference("warning", True, False)
    if got.outcome is None:
        return
    for name, check in _CHECKS.items():
        if name in expected:
            yield from check(expected[name], got.outcome, case)


Check = Callable[[Json, Outcome, Case], Iterator[Difference]]


def _outputs(expected: Json, outcome: Outcome, case: Case) -> Iterator[Difference]:
    got = dict(outcome.outputs)
    if "files" not in expected:
        got.pop("files", None)
    if case.expected.get("outputs_match") == "subset":
        got = {name: got.get(name) for name in expected}
    if got != expected:
        yield Difference("outputs", expected, got)


def _stream_text(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    if outcome.stream != expected:
        yield Difference("stream_text", expected, outcome.stream)


def _stream_chunks(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    if list(outcome.chunks) != expected:
        yield Difference("stream_chunks", expected, list(outcome.chunks))


def _chunk_count(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    if len(outcome.chunks) != expected:
        yield Difference("stream_chunk_count", expected, list(outcome.chunks))


def _executed(outcome: Outcome) -> set[str]:
    return {step.key.node_id for step in outcome.steps if step.status in _EXECUTED}


def _nodes_run(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    got = {
        step.key.node_id
        for step in outcome.steps
        if step.status in _EXECUTED and not step.key.rounds
    }
    if got != set(expected):
        yield Difference("nodes_run", sorted(expected), sorted(got))


def _nodes_not_run(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    wrong = _executed(outcome) & set(expected)
    if wrong:
        yield Difference("nodes_not_run", expected, sorted(wrong))


def _conversation(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    got = {name: outcome.conversation.get(name) for name in expected}
    if got != expected:
        yield Difference("conversation_after", expected, got)


def _attempts(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    tries = {step.key.node_id: step.tries for step in outcome.steps}
    got = {node: tries.get(node, 0) for node in expected}
    if got != expected:
        yield Difference("attempts", expected, got)


def _exceptions(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    if outcome.exceptions_count != expected:
        yield Difference("exceptions_count", expected, outcome.exceptions_count)


def _llm_messages(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    sent = {step.key.node_id: step.inputs.get("messages") for step in outcome.steps}
    got = {node: sent.get(node) for node in expected}
    if got != expected:
        yield Difference("llm_messages", expected, got)


def _http_request(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    sent = [step.inputs["sent"] for step in outcome.steps if "sent" in step.inputs]
    last = sent[-1] if sent else {}
    got = {name: last.get(name) for name in expected}
    # Nothing to send may be written as nothing, or as an empty something.
    if any((got[name] or None) != (wanted or None) for name, wanted in expected.items()):
        yield Difference("http_request", expected, got)


def _http_request_count(expected: Json, outcome: Outcome, _case: Case) -> Iterator[Difference]:
    got = sum(
        step.tries
        for step in outcome.steps
        if f"type:{step.kind}" == _HTTP and (step.error is None or step.error.type in _SENT)
    )
    if got != expected:
        yield Difference("http_request_count", expected, got)


# Errors that come after a request was sent; all others keep it from being sent.
_SENT = frozenset({"HTTPResponseCodeError", "HttpFailed", "ResponseSizeError"})

# ``error_contains`` isn't here: it holds the wording of the reference, ours may differ.
_CHECKS: Mapping[str, Check] = {
    "outputs": _outputs,
    "stream_text": _stream_text,
    "stream_chunks": _stream_chunks,
    "stream_chunk_count": _chunk_count,
    "nodes_run": _nodes_run,
    "nodes_not_run": _nodes_not_run,
    "conversation_after": _conversation,
    "attempts": _attempts,
    "exceptions_count": _exceptions,
    "llm_messages": _llm_messages,
    "http_request": _http_request,
    "http_request_count": _http_request_count,
}
