"""The earlier turns of a run's conversation, each with whether its answer may contain content from outside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from accounts.tenancy import tenant
from workflows.engine.earlier_turns import EarlierTurn, TurnFact, list_facts
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.execution.claims import Claim
from workflows.execution.debugging.run_options import DebugOptions
from workflows.execution.ports.client_calls import ClientCall
from workflows.execution.threads import run_in_thread
from workflows.models import Message, Run, RunEvent


# The newest runs of a workflow for a person, whose answers a client may send back.
MAX_KNOWN_ANSWERS: Final = 200
# What a turn stored or recalled.
_EVENTS: Final = (
    RunEvent.objects.unscoped()
    .filter(run_id=OuterRef("run_id"), name__in=(MemoryWritten.name, MemoryRecalled.name))
    .order_by("seq")
    .values("data")
)


def build_history(claim: Claim) -> "ConversationHistory | ClientHistory | None":
    """Return the earlier turns for the run, or None without a conversation. A repeated turn gets those of the original."""
    call = ClientCall.from_json(claim.row.get("client_call"))
    if call.messages is not None:
        return ClientHistory(claim, call)
    turn = DebugOptions.from_row(claim.row).turn
    if turn is not None:
        return ConversationHistory(claim, UUID(turn["conversation"]), before=turn["before"])
    conversation_id = claim.row["conversation_id"]
    return ConversationHistory(claim, UUID(str(conversation_id))) if conversation_id else None


class ConversationHistory:
    """Implements ``engine.ports.HistoryPort``: the turns before this run's own."""

    def __init__(self, claim: Claim, conversation: UUID, *, before: int | None = None) -> None:
        self._claim, self._conversation, self._before = claim, conversation, before

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]:
        return await run_in_thread(self._read, limit)

    def _read(self, limit: int | None) -> list[EarlierTurn]:
        with tenant([self._claim.team_id]):
            rows = (
                Message.objects.unscoped()
                .filter(conversation_id=self._conversation)
                .exclude(run_id=self._claim.run_id)
                .exclude(answer="")
                .order_by("-number")
                .values_list(
                    "query", "answer", "is_untrusted", "run__debug", ArraySubquery(_EVENTS)
                )
            )
            if self._before is not None:
                rows = rows.filter(number__lt=self._before)
            newest = list(rows if limit is None else rows[:limit])
        return [
            EarlierTurn(query, answer, is_untrusted, facts=_list_real_facts(debug, events))
            for query, answer, is_untrusted, debug, events in reversed(newest)
        ]


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """An answer of an earlier run: the texts that the run was asked, whether it may have content from outside, and its words of memories."""

    questions: frozenset[str]
    is_untrusted: bool
    memories: tuple[str, ...]

    def answers(self, query: str) -> bool:
        """Return whether it is the answer to a query, which may begin with messages that got none."""
        return any(
            query == text or (text and query.endswith(f"\n\n{text}")) for text in self.questions
        )


class ClientHistory:
    """Implements ``engine.ports.HistoryPort`` with the messages that the client sent.

    Anything may stand in them. An answer is trusted only if an earlier run gave it to this question, and none that did had
    content from outside: many short answers are the same.
    """

    def __init__(self, claim: Claim, call: ClientCall) -> None:
        self._claim, self._call = claim, call

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]:
        turns = self._call.list_turns()
        turns = turns if limit is None else turns[max(len(turns) - limit, 0) :]
        has_answers = any(answer for _query, answer in turns)
        answers = await run_in_thread(self._load_answers) if has_answers else {}
        return [
            _judge_turn(query, answer, answers.get(answer.strip(), ())) for query, answer in turns
        ]

    def _load_answers(self) -> dict[str, list[RunAnswer]]:
        """Return the answers of earlier runs, by their text."""
        row = self._claim.row
        answers: dict[str, list[RunAnswer]] = {}
        with tenant([self._claim.team_id]):
            rows = (
                Run.objects.unscoped()
                .filter(
                    workflow_id=row["workflow_id"],
                    subject=row["subject"],
                    finished_at__isnull=False,
                )
                .order_by("-created_at", "-id")
                .values_list(
                    "outputs", "system", "inputs", "has_untrusted_outputs", "memories_in_outputs"
                )
            )
            for outputs, system, inputs, is_untrusted, memories in rows[:MAX_KNOWN_ANSWERS]:
                # A workflow that is no chat is asked in one of its inputs.
                questions = _list_texts([(system or {}).get("query"), *(inputs or {}).values()])
                run_answer = RunAnswer(frozenset(questions), is_untrusted, tuple(memories))
                for text in _list_texts((outputs or {}).values()):
                    answers.setdefault(text, []).append(run_answer)
        return answers


def _judge_turn(query: str, answer: str, run_answers: Sequence[RunAnswer]) -> EarlierTurn:
    """Return the turn with whether its answer is trusted, and the memories of all runs that answered in the same words."""
    same = [each for each in run_answers if each.answers(query.strip())]
    is_trusted = not any(each.is_untrusted for each in same) if same else not answer
    memories = tuple(word for each in run_answers for word in each.memories)
    return EarlierTurn(query, answer, not is_trusted, memories)


def _list_texts(values: Iterable[Json]) -> list[str]:
    return [value.strip() for value in values if isinstance(value, str)]


def _list_real_facts(debug: Json, events: Sequence[Json]) -> tuple[TurnFact, ...]:
    """Return the facts of a turn. The entries of a test run were its own, and are gone with it, although nobody forgot them."""
    is_dry_run = bool(debug) and debug.get("memory") == "sandbox"
    return () if is_dry_run else list_facts(events)
