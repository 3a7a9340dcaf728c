"""Tries documents one by one: whether each imports, opens, validates and runs, and what it lacks."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

from workflows.engine.errors import DocumentInvalid, EngineFault
from workflows.engine.import_report.report import ImportReport
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.problems import Problem, select_errors
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import Answer, check_answer, list_actions, list_input_fields
from workflows.engine.testing.backends import Backend, Request
from workflows.engine.testing.stand_ins import (
    build_sample_inputs,
    build_sample_system,
    build_sample_value,
    build_stand_ins,
)
from workflows.execution.kinds import load_kinds
from workflows.services.catalog.import_reports import report_document
from workflows.services.catalog.importing import load_source
from workflows.services.editor.draft_rows import check_document
from workflows.templatetags.problems import list_titles
from workflows.views.canvas.drawing import draw


RUN_SECONDS: Final = 60.0
_SUCCESSFUL: Final = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)
_ENDINGS: Final = (".yml", ".yaml", ".json")


@dataclass(frozen=True, slots=True)
class Trial:
    """Says what became of one document. ``runs`` is None if it was not run."""

    file: str
    imported: bool = False
    opens: bool = False
    validates: bool = False
    runs: bool | None = None
    report: ImportReport | None = None
    reasons: tuple[str, ...] = ()  # why it doesn't import, validate or run
    titles: Mapping[str, str] = field(default_factory=dict)  # of its nodes
    notes: tuple[Problem, ...] = ()  # of the import

    @property
    def silent_count(self) -> int:
        return len(self.report.silent) if self.report else 0


def list_files(folder: Path) -> list[Path]:
    """Return the documents in a folder and those inside it, without JSON files that are lists."""
    files = (path for path in folder.rglob("*") if path.suffix in _ENDINGS and path.is_file())
    return sorted(path for path in files if path.suffix != ".json" or _is_object(path))


def _is_object(path: Path) -> bool:
    return path.read_bytes().lstrip()[:1] == b"{"


async def try_documents(
    files: Iterable[Path], folder: Path, backend: Backend | None
) -> list[Trial]:
    """Try each file. Without a backend nothing runs."""
    return [await _try_file(path, str(path.relative_to(folder)), backend) for path in files]


async def _try_file(path: Path, name: str, backend: Backend | None) -> Trial:
    try:
        document, notes = load_source(path.read_bytes(), confirm_newer=True)
        check_document(document)
    except DocumentInvalid as invalid:
        return Trial(name, reasons=tuple(map(str, select_errors(invalid.problems))))
    report = report_document(document)
    errors = select_errors(report.problems)
    reasons, runs = tuple(map(str, errors)), None
    if backend is not None:
        failure = reasons[0] if reasons else await _run(document, backend)
        runs = not failure
        reasons = reasons or ((failure,) if failure else ())
    return Trial(
        name,
        imported=True,
        opens=_opens(document),
        validates=not errors,
        runs=runs,
        report=report,
        reasons=reasons,
        titles=list_titles(document, load_kinds()),
        notes=notes,
    )


def _opens(document: Document) -> bool:
    """Return whether the canvas shows every node, as a real one or as a placeholder, and nothing gets lost in writing."""
    html = draw(document).html
    has_all = all(f'data-id="{escape(node.id)}"' in html for node in document.nodes)
    copy = load_document(dump_document(document, include_secrets=True), confirm_newer=True)
    return has_all and all(node.kind for node in document.nodes) and copy.document == document


async def _run(document: Document, backend: Backend) -> str:
    """Run the document with stand-ins, and return why it failed, or an empty text."""
    request = Request(
        document,
        inputs=build_sample_inputs(document),
        system=build_sample_system(document),
        mocks=build_stand_ins(document, load_kinds()),
        offline=True,
        answer=_answer,
    )
    try:
        outcome = await asyncio.wait_for(backend.run(request), RUN_SECONDS)
    except EngineFault as fault:
        return fault.message
    except TimeoutError:
        return f"The run took longer than {RUN_SECONDS:g} s"
    if outcome.status in _SUCCESSFUL:
        return ""
    return f"{outcome.error_node or outcome.status}: {outcome.error or ''}"


async def _answer(_node: str, form: Mapping[str, Json]) -> Answer:
    """Answer a form as a person would who fills in every field and chooses the first button."""
    values = {field.name: build_sample_value(field) for field in list_input_fields(form)}
    values, action = check_answer(form, values, next(iter(list_actions(form)), ""))
    return Answer(values, action, state=form.get("state"))


def count_totals(trials: Sequence[Trial]) -> dict[str, int | None]:
    """Return the totals; ``runs`` is None if nothing was run."""
    were_run = any(trial.runs is not None for trial in trials)
    return {
        "documents": len(trials),
        "imported": sum(trial.imported for trial in trials),
        "opens": sum(trial.opens for trial in trials),
        "validates": sum(trial.validates for trial in trials),
        "runs": sum(bool(trial.runs) for trial in trials) if were_run else None,
        "ignored_in_silence": sum(trial.silent_count for trial in trials),
    }
