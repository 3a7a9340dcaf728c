"""Bodies of the curation API: curation rules, the curation of runs, proposals and their review."""

from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from config.http.openapi import Body, with_example
from config.http.pages import PageOut
from memory.core.entry_codec import CONTENT, get_columns
from memory.logic.review.proposal_plans import ProposalDiff
from memory.logic.review.proposals import ChangeKind, Choice, ReviewState
from memory.logic.review.review_rules import ReviewMode
from memory.models import Curation, Proposal
from memory.models.jobs import JobStatus
from memory.schemas.entries import Json, Moment
from memory.schemas.namespaces import NamespaceText
from memory.services.review.proposal_rows import to_proposal


class RuleBody(Body):
    """A learning rule. Without ``provider`` and ``model``, the curator uses no language model."""

    model_config = with_example(auto_memory=True, scope="user", review="sample", sampled=0.1)

    auto_memory: bool = False
    scope: Literal["user", "conversation", "workflow", "global"] = "user"
    review: ReviewMode = ReviewMode.OFF
    sampled: float = Field(0.1, ge=0, le=1)
    provider: str = Field("", max_length=120)
    model: str = Field("", max_length=200)
    token_budget: int = Field(6_000, ge=200, le=1_000_000)
    seconds: int = Field(60, ge=1, le=600)


class RuleQuery(Body):
    """The rule of an application or, without ``app``, the team's rule for applications without their own."""

    app: str = Field("", max_length=80)


class CurationOut(Body):
    id: UUID
    run: str
    app: str
    namespace: str
    status: str
    curator: str
    problem: str
    repairs: list[str]
    counts: dict[str, int]
    change: UUID | None
    created_at: Moment
    finished_at: Moment | None


class CurationQuery(Body):
    status: JobStatus | None = None


class ProposalTargetOut(Body):
    key: str
    revision: int
    value: Json


class ProposalOut(Body):
    id: UUID
    kind: str
    namespace: str
    targets: list[ProposalTargetOut]
    new: Json
    reason: str
    by: str
    score: float
    run: str
    state: str
    edited: bool
    by_itself: bool
    created_at: Moment
    decided_at: Moment | None
    decided_by: str
    decision: str
    change: UUID | None
    choices: list[Choice] = Field(
        description="How ``…/decide`` may decide about two memories that contradict each other."
    )


class PrecisionOut(Body):
    """The numbers of decided proposals. ``share``, from 0 to 1, counts edited ones as half; it is null if there are none."""

    accepted: int
    edited: int
    rejected: int
    share: float | None


class ReviewOut(PageOut):
    """The review queue, with ``precision`` by author of the proposals."""

    items: list[ProposalOut]
    precision: dict[str, PrecisionOut]


class ReviewQuery(Body):
    state: ReviewState | None = ReviewState.OPEN
    kind: ChangeKind | None = None
    namespace: NamespaceText | None = None
    run: str | None = Field(None, max_length=80)


class ProposedChangeOut(Body):
    """A change of an entry. It is new if ``before`` is null, and forgotten if ``after`` is null."""

    key: str
    before: Json
    after: Json


class ProposalProblemOut(Body):
    key: str
    problem: str


class ProposalDiffOut(Body):
    applicable: bool
    changes: list[ProposedChangeOut]
    problems: list[ProposalProblemOut]


class ReasonIn(Body):
    model_config = with_example(reason="looked at it again")

    reason: str = Field("", max_length=500)


class ApplyIn(ReasonIn):
    """The decision to apply a proposal. A ``value`` replaces the proposed value."""

    model_config = with_example(value="Lives in Bern.", reason="she said so")

    value: Json = None


class ChoiceIn(ReasonIn):
    """The choice says which of two memories that contradict each other holds. ``both`` keeps them, and this isn't proposed again."""

    model_config = with_example(choice="newer", reason="she moved")

    choice: Choice


class RejectIn(ReasonIn):
    """A rejection. With ``always``, content of the same meaning is neither proposed nor stored in the namespace again."""

    model_config = with_example(always=True, reason="small talk")

    always: bool = False


def curation_out(row: Curation) -> CurationOut:
    return CurationOut.from_object(
        row, run=row.run_id, app=row.app_id, namespace=row.place, change=row.change_id
    )


def proposal_out(row: Proposal) -> ProposalOut:
    return ProposalOut.from_object(
        row,
        namespace=row.namespace.text,
        run=row.run_id,
        change=row.change_id,
        choices=list(Choice) if to_proposal(row).is_contradiction else [],
    )


def diff_out(diff: ProposalDiff) -> ProposalDiffOut:
    return ProposalDiffOut(
        applicable=diff.is_applicable,
        changes=[
            ProposedChangeOut(
                key=change.key,
                before=_build_state(change.before),
                after=_build_state(change.after),
            )
            for change in diff.changes
        ],
        problems=[ProposalProblemOut(key=key, problem=problem) for key, problem in diff.problems],
    )


def _build_state(entry: Any) -> Json:  # Any: an entry or its parameters, which have the same fields
    return None if entry is None else get_columns(entry, CONTENT)
