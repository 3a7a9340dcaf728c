"""Runs a data set against a version of a workflow and prints the scores. Exit status 1 if the score is below the bar.

manage.py evaluate DATA_SET WORKFLOW                         the draft, scored by the same text
manage.py evaluate DATA_SET WORKFLOW --against 3 --scorer contains --min-score 0.9
"""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from workflows import selectors
from workflows.engine.testing.scoring import to_text
from workflows.errors import InvalidValue, WorkflowFault
from workflows.models import Evaluation, EvaluationResult
from workflows.models.reports.data_sets import Scorer
from workflows.services.data_sets.evaluations import DRAFT, EvaluationRequest, list_results
from workflows.services.data_sets.shell import find_member, run_evaluation


class Command(BaseCommand):
    help = "Run a data set against a version of a workflow, and print the scores."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("data_set", metavar="DATA_SET", type=UUID, help="data set ID")
        parser.add_argument("workflow", metavar="WORKFLOW", type=UUID, help="workflow ID")
        parser.add_argument(
            "--against", default=DRAFT, metavar="VERSION", help='a number, or "draft" (default)'
        )
        parser.add_argument("--scorer", choices=Scorer.values, default=Scorer.EXACT.value)
        parser.add_argument("--output", default="", metavar="NAME", help="the scored output")
        parser.add_argument("--provider", default="", help="of the judge")
        parser.add_argument("--model", default="", help="of the judge")
        parser.add_argument("--criteria", default="", help="of the judge")
        parser.add_argument(
            "--offline", action="store_true", help="use the offline model for all model calls"
        )
        parser.add_argument(
            "--min-score", type=float, metavar="0..1", help="exit with 1 if the mean score is lower"
        )
        parser.add_argument(
            "--as",
            default="",
            dest="email",
            metavar="EMAIL",
            help="default: who created the data set",
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        evaluation = _evaluate(options)
        results = list_results(evaluation)
        if options["as_json"]:
            report = {
                "evaluation": str(evaluation.pk),
                "version": evaluation.label,
                **evaluation.summary.get("0", {}),
                "results": [_build_report(result) for result in results],
            }
            self.stdout.write(json.dumps(report, ensure_ascii=False, default=str))
        else:
            self._print(evaluation, results)
        bar, score = options["min_score"], evaluation.summary.get("0", {}).get("score")
        if bar is not None and (score is None or score < bar):
            raise SystemExit(1)

    def _print(self, evaluation: Evaluation, results: list[EvaluationResult]) -> None:
        for result in results:
            score = "-" if result.score is None else f"{result.score:.2f}"
            self.stdout.write(f"{score:>4} {str(result.case)[:70]} ({result.seconds:.2f} s)")
            if note := result.problem or result.reason:
                self.stdout.write(f"     {note}")
            if result.score is not None and result.score < 1 and not result.problem:
                self.stdout.write(f"     answer: {to_text(result.answer)[:200]}")
        numbers = evaluation.summary.get("0", {})
        score = "none" if numbers.get("score") is None else f"{numbers['score']:.2f}"
        self.stdout.write(
            f"{evaluation.label}: mean score {score}, {numbers.get('passed', 0)} of {len(results)} passed"
        )


def _evaluate(options: dict[str, Any]) -> Evaluation:
    principal = find_member(options["data_set"], options["email"])
    if principal is None:
        raise CommandError("There is no such data set, or no such member; --as EMAIL names one.")
    names = ("scorer", "output", "provider", "model", "criteria", "offline")
    try:
        with tenant(principal.team_ids):
            data_set = selectors.find_data_set(principal, options["data_set"], "edit")
            workflow = selectors.find_workflow(principal, options["workflow"], "run")
            versions = selectors.find_versions(principal, workflow, [options["against"]])
        request = EvaluationRequest(versions, **{name: options[name] for name in names})
        return run_evaluation(principal, data_set, workflow, request)
    except NotFound:
        raise CommandError("Data set, workflow or version not found.") from None
    except (InvalidValue, NotAllowed, WorkflowFault) as fault:
        raise CommandError(str(fault)) from fault


def _build_report(result: EvaluationResult) -> dict[str, Any]:
    return {
        "case": str(result.case),
        "score": result.score,
        "answer": result.answer,
        "reason": result.reason,
        "problem": result.problem,
        "seconds": round(result.seconds, 3),
    }
