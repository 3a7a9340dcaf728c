"""The error of an operation that is rejected."""

from workflows.engine.errors import EngineFault
from workflows.engine.language.problems import Problem


class EditRefused(EngineFault):
    """The edit is not possible."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.message for problem in problems))


def build_refusal(
    code: str,
    message: str,
    *,
    node: str | None = None,
    field: str | None = None,
    edge: str | None = None,
) -> EditRefused:
    """Return the error of an operation with one problem, whose code gets the prefix ``edit.``."""
    return EditRefused((Problem(f"edit.{code}", message, node, field, edge),))


def build_unknown_variable(name: str) -> EditRefused:
    return build_refusal("variable_unknown", f"Variable {name} doesn't exist", field=name)
