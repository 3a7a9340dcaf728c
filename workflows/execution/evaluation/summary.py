"""The numbers of an evaluation: for each side the mean score, how many passed, and the cost."""

from collections.abc import Iterable, Sequence
from typing import Any

from workflows.models import EvaluationResult
from workflows.models.reports.data_sets import CaseStatus


def summarize(results: Iterable[EvaluationResult]) -> dict[str, Any]:  # Any: JSON
    """Return the numbers of each side, by its number as text. A case without a score isn't in the mean."""
    sides: dict[int, list[EvaluationResult]] = {}
    for result in results:
        sides.setdefault(result.side, []).append(result)
    return {str(side): _summarize_side(rows) for side, rows in sorted(sides.items())}


def _summarize_side(rows: Sequence[EvaluationResult]) -> dict[str, Any]:
    finished = [row for row in rows if row.status == CaseStatus.DONE]
    scores = [row.score for row in finished if row.score is not None]
    costs = [row.cost for row in finished if row.cost is not None]
    return {
        "cases": len(rows),
        "done": len(finished),
        "scored": len(scores),
        "passed": sum(score == 1 for score in scores),
        "score": sum(scores) / len(scores) if scores else None,
        "problems": sum(bool(row.problem) for row in finished),
        "seconds": sum(row.seconds for row in finished) / len(finished) if finished else None,
        "tokens": sum(row.prompt_tokens + row.completion_tokens for row in finished),
        "cost": sum(costs) if costs else None,
    }
