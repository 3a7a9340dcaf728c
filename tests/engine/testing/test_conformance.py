"""The reference suite, when it lies beside the checkout (CI has it there), and the harness itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.code import CODE
from tests.support.engine import JinjaHere
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.backends import InProcessBackend
from workflows.engine.testing.conformance import ConformanceCase, evaluate_case, read_cases


SUITE = Path(__file__).resolve().parents[3].parent / "shared" / "conformance"
KINDS = build_kinds()

DOCUMENT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "t", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "variables": []}},
                {
                    "id": "end",
                    "data": {
                        "type": "end",
                        "outputs": [{"variable": "o", "value_selector": ["start", "q"]}],
                    },
                },
            ],
            "edges": [{"source": "start", "target": "end"}],
        }
    },
}


def _built() -> list[ConformanceCase]:
    if not SUITE.is_dir():
        return []
    return [case for case in read_cases(SUITE) if all(kind in KINDS for kind in case.kinds)]


@pytest.mark.skipif(not SUITE.is_dir(), reason="no ../shared/conformance beside the checkout")
@for_each("case", _built(), ids=lambda case: case.id)
async def test_case_of_the_reference_suite_passes(case: ConformanceCase) -> None:
    verdict = await evaluate_case(case, InProcessBackend(templates=JinjaHere(), code=CODE), KINDS)

    assert verdict.differences == ()


def _suite(folder: Path, **expect: Any) -> list[ConformanceCase]:
    case = {"id": "c", "group": "g", "file": "d.json", "inputs": {"q": "x"},
            "node_types": ["start", "end"], "expect": expect}  # fmt: skip
    (folder / "d.json").write_text(json.dumps(DOCUMENT))
    (folder / "cases.json").write_text(json.dumps({"cases": [case]}))
    return read_cases(folder)


async def test_harness_right_answer_passes(tmp_path: Path) -> None:
    (case,) = _suite(tmp_path, status="succeeded", outputs={"o": "x"}, nodes_run=["start", "end"])

    assert (await evaluate_case(case, InProcessBackend(), KINDS)).has_passed


async def test_harness_every_wrong_answer_is_a_difference(tmp_path: Path) -> None:
    (case,) = _suite(
        tmp_path,
        status="succeeded",
        outputs={"o": "y"},
        stream_text="y",
        stream_chunks=["y"],
        stream_chunk_count=7,
        nodes_run=["start"],
        nodes_not_run=["end"],
        conversation_after={"v": 1},
        attempts={"end": 2},
        exceptions_count=1,
        llm_messages={"x": []},
    )

    verdict = await evaluate_case(case, InProcessBackend(), KINDS)

    assert [difference.field for difference in verdict.differences] == [
        "outputs", "stream_text", "stream_chunks", "stream_chunk_count", "nodes_run",
        "nodes_not_run", "conversation_after", "attempts", "exceptions_count", "llm_messages",
    ]  # fmt: skip


async def test_harness_unexpected_status_is_the_only_difference(tmp_path: Path) -> None:
    (case,) = _suite(tmp_path, status="failed", outputs={"o": "y"})

    verdict = await evaluate_case(case, InProcessBackend(), KINDS)

    assert [difference.field for difference in verdict.differences] == ["status"]


def test_harness_only_picks_groups(tmp_path: Path) -> None:
    _suite(tmp_path, status="succeeded")

    assert [len(read_cases(tmp_path, only)) for only in (["g"], ["other"], [])] == [1, 0, 1]
