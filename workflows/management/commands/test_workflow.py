"""Runs saved test cases from the shell. Exit status 0 only when all of them pass.

manage.py test_workflow 0190…            the cases stored with a workflow
manage.py test_workflow flow.yml         a document, its cases in flow.tests.yml
manage.py test_workflow flow.yml --cases other.yml --only "It knows her again" --json
"""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document
from workflows.engine.language.dsl import load_document
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.ports import ModelPort
from workflows.engine.testing.cases import Case, CaseResult, read_cases
from workflows.execution.evaluation.case_runner import CaseRunner
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.models import build_models
from workflows.llm.offline import OfflineModels
from workflows.llm.registry import TeamModels
from workflows.services.runs.shell_cases import StoredCases, load_stored_cases


class CaseSource(NamedTuple):
    """A document with its test cases. ``stored`` is None if they are read from files."""

    document: Document
    cases: list[Case]
    stored: StoredCases | None = None


class Command(BaseCommand):
    help = "Run the test cases of a workflow, or of a document with a cases file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workflow", metavar="WORKFLOW", help="workflow ID or document file")
        parser.add_argument("--cases", type=Path, metavar="FILE", help="YAML or JSON")
        parser.add_argument("--only", metavar="NAME")
        parser.add_argument(
            "--offline", action="store_true", help="use the offline model for all model calls"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        source = _load_source(options["workflow"], options["cases"])
        selected = [case for case in source.cases if options["only"] in (None, case.name)]
        if not selected:
            reason = "Test case not found." if source.cases else "There are no test cases."
            raise CommandError(reason)
        results = asyncio.run(_run_cases(source, selected, offline=options["offline"]))
        self._print(results, as_json=options["as_json"])
        if not all(result.has_passed for result in results):
            raise SystemExit(1)

    def _print(self, results: list[CaseResult], *, as_json: bool) -> None:
        if as_json:
            report = [_build_report(result) for result in results]
            self.stdout.write(json.dumps(report, ensure_ascii=False, default=str))
            return
        for result in results:
            verdict = "ok  " if result.has_passed else "FAIL"
            self.stdout.write(f"{verdict} {result.name} ({result.seconds:.2f} s)")
            if result.problem:
                self.stdout.write(f"       {result.problem}")
            for number, turn in enumerate(result.turns, 1):
                for finding in turn.findings:
                    if not finding.ok:
                        text = f"{finding.check}; it was {finding.actual} {finding.problem}"
                        self.stdout.write(f"       turn {number}: {text}".rstrip())
        passed = sum(result.has_passed for result in results)
        self.stdout.write(f"{passed} of {len(results)} passed")


async def _run_cases(source: CaseSource, cases: list[Case], *, offline: bool) -> list[CaseResult]:
    """Run the cases. A document from a file has no team and no credentials, so its models are offline."""
    services = Services(build_models)
    if offline:
        models: ModelPort = OfflineModels()
    else:
        models = build_models(source.stored.team_id, False) if source.stored else TeamModels()
    secrets, workflows = (
        (source.stored.secrets, source.stored.workflows) if source.stored else ({}, {})
    )
    runner = CaseRunner(services, models, secrets, workflows)
    try:
        return [await runner.run(source.document, case) for case in cases]
    finally:
        services.close()


def _load_source(workflow: str, cases_file: Path | None) -> CaseSource:
    """Return the workflow with this id or document file, and its cases or those of the given file."""
    path = Path(workflow)
    if path.is_file():
        return CaseSource(
            _read_document(path), _read_cases(cases_file or path.with_suffix(".tests.yml"))
        )
    try:
        workflow_id = UUID(workflow)
    except ValueError:
        raise CommandError(f"{workflow} is neither a file nor a workflow ID") from None
    stored = load_stored_cases(workflow_id)
    if stored is None:
        raise CommandError("Workflow not found.")
    cases = _read_cases(cases_file) if cases_file else stored.cases
    return CaseSource(stored.document, cases, stored)


def _read_document(path: Path) -> Document:
    try:
        return load_document(path.read_bytes(), confirm_newer=True).document
    except DocumentInvalid as invalid:
        raise CommandError(f"{path}: {invalid}") from invalid


def _read_cases(path: Path) -> list[Case]:
    try:
        return read_cases(read_yaml(path.read_text(encoding="utf-8")))
    except OSError as missing:
        raise CommandError(f"{path} can't be read: {missing}") from missing
    except DocumentInvalid as invalid:
        raise CommandError(f"{path}: {invalid}") from invalid


def _build_report(result: CaseResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "passed": result.has_passed,
        "problem": result.problem,
        "seconds": round(result.seconds, 3),
        "turns": [
            {
                "status": turn.facts.status,
                "outputs": turn.facts.outputs,
                "findings": [asdict(finding) for finding in turn.findings],
            }
            for turn in result.turns
        ],
    }
