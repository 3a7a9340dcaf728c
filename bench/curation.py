"""The quality of curation on chats full of small talk, and its cost for runs: `python -m bench.curation [--json FILE]`.

Everything is real except the model: PostgreSQL with row-level security, runs and curations in a Celery worker, and a
scripted model provider over HTTP (`bench.chatter`). Each chat is one run with 200 messages. The cost is a ratio: runs
of a workflow with curation, which run beside the curations of earlier runs and are reminded of their results, divided
by runs of a workflow without, in turns. A run's time is its own, from its first attempt to its last commit; the best
of each is compared, because other processes use the machine too.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench._common import Bar, report
from bench._services import add_really_option, create_operator, run_temporary_services
from bench.chatter import (
    CURATOR_PROMPT,
    Chat,
    Score,
    ScriptedModel,
    build_document,
    make_chat,
    score_memories,
)
from tests.fakes.openai_server import Answer, FakeOpenAI, Request


REPLY = "Noted, thank you all for saying so."
DELAY = 0.1  # seconds before each word: a reply takes about one, as a quick model's does
MAX_WAIT = 120  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chats", type=int, default=3, help="chats for each curator")
    runs_help = "runs to time, with and without curation"
    parser.add_argument("--runs", type=int, default=15, help=runs_help)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    model = ScriptedModel()
    with _run_services(model, really=options.really) as server:
        chats = [make_chat(seed) for seed in range(options.chats)]
        model_scores = [_curate(server, model, chat, "script") for chat in chats]
        offline_scores = [_curate(server, model, chat, "") for chat in chats]
        failure_count = _count_memories_of_failure(server, model)
        plain_times, curated_times = _time_runs(server, model, options.runs)
    _print_scores("with a model", model_scores)
    _print_scores("without a model", offline_scores)
    for name, times in (("without", plain_times), ("with", curated_times)):
        best, median = min(times), statistics.median(times)
        sys.stdout.write(f"     run {name} curation: best {best:.3f} s, median {median:.3f} s\n")
    least_rejected, least_rejected_offline = (
        min(score.rejected_share for score in scores) for scores in (model_scores, offline_scores)
    )
    least_stored = min(score.fact_share for score in model_scores)
    duplicates = sum(score.duplicates for score in (*model_scores, *offline_scores))
    ratio = min(curated_times) / min(plain_times)
    bars = [
        Bar("small talk rejected, with a model", least_rejected, 0.9, at_least=True),
        Bar("small talk rejected, without a model", least_rejected_offline, 0.9, at_least=True),
        Bar("facts stored, with a model", least_stored, 0.95, at_least=True),
        Bar("duplicates of repeated facts", duplicates, 0),
        Bar("memories of a run whose curation failed", failure_count, 0),
        Bar("run with curation / without", ratio, 1.05),
    ]
    measured: dict[str, object] = {
        "with a model": [asdict(score) for score in model_scores],
        "without a model": [asdict(score) for score in offline_scores],
        "seconds without": plain_times,
        "seconds with": curated_times,
    }
    return report(bars, measured, options.json)


def _print_scores(name: str, scores: list[Score]) -> None:
    for score in scores:
        sys.stdout.write(
            f"     {name}: {score.stored_facts} of {score.facts} facts, "
            f"{score.junk} of {score.small_talk} messages of small talk\n"
        )


@contextmanager
def _run_services(model: ScriptedModel, *, really: bool) -> Iterator[FakeOpenAI]:
    """Run the database, a worker and a server for the scripted model, which this function provides."""

    def reply(request: Request) -> Answer:
        if CURATOR_PROMPT in request.last_message:
            return Answer(model.answer(request.last_message))
        return Answer(REPLY, delay=DELAY)

    with FakeOpenAI() as server:
        server.script(reply)
        os.environ["NET_ALLOW"] = server.allow
        with run_temporary_services(really=really):
            from workflows.services.runs.durable_backend import ChildWorker

            worker = ChildWorker()
            worker.start()
            try:
                yield server
            finally:
                worker.stop()


class Application:
    """A workflow in a new team, or in that of ``sibling``.

    ``curator`` is the model provider of the curation, "" to curate without a model, or None for no curation.
    """

    def __init__(
        self, server: FakeOpenAI, curator: str | None, sibling: "Application | None" = None
    ):
        from accounts.principals import load_user_principal
        from workflows.services.catalog import importing
        from workflows.services.credentials import create_provider

        self.operator: Any = sibling.operator if sibling else create_operator()
        user, self.team = self.operator
        self.principal = load_user_principal(user)
        if sibling is None:
            create_provider(
                self.principal, team_id=self.team.pk, name="script", base_url=server.base_url
            )
        source = build_document({"provider": "script", "name": "small", "mode": "chat"})
        self.workflow = importing.import_document(
            self.principal, team_id=self.team.pk, source=source, name="Chat"
        ).workflow
        if curator is not None:
            self._turn_on_curation(curator)

    def run(self, chat: Chat) -> Any:
        """Run the workflow on the chat, and return the ended run."""
        from workflows.models import Run
        from workflows.models.run import ENDED
        from workflows.services.runs.runs import start_run

        run = start_run(
            self.principal, workflow=self.workflow, inputs={"messages": list(chat.messages)}
        )
        ended: Any = _wait_for(
            self.team.pk,
            lambda: Run.objects.unscoped().filter(pk=run.pk, status__in=ENDED).first(),
        )
        if ended.status != "succeeded":
            raise SystemExit(f"The run {ended.status}: {ended.error}")
        return ended

    def wait_for_curation(self, run: Any) -> tuple[Any, list[str]]:
        """Return the run's curation once it has ended, and the texts of its memories."""
        from memory.models import Curation
        from memory.services.curation.curation_summary import summarize_curation

        _wait_for(
            self.team.pk,
            lambda: (
                Curation.objects.unscoped()
                .filter(run_id=str(run.pk), status__in=("done", "failed"))
                .first()
            ),
        )
        summary = summarize_curation(self._build_caller(), run_id=str(run.pk))
        assert summary is not None
        texts = [entry.text for entry in summary.entries if entry.key.startswith("learning:")]
        return summary.curation, texts

    def _turn_on_curation(self, curator: str) -> None:
        from memory.services.curation.learning_rules import LearningRule, set_learning_rule

        model = "small" if curator else ""
        rule = LearningRule(True, provider=curator, model=model, token_budget=1_500)
        set_learning_rule(self._build_caller(), app_id=str(self.workflow.pk), learning=rule)

    def _build_caller(self) -> Any:
        from memory.services import MemoryCaller

        return MemoryCaller(self.principal, self.team.pk)


def _curate(server: FakeOpenAI, model: ScriptedModel, chat: Chat, curator: str) -> Score:
    """Run the chat in a new application and score the memories that its curation stores."""
    model.learn(chat)
    application = Application(server, curator)
    curation, memories = application.wait_for_curation(application.run(chat))
    if curation.status != "done":
        raise SystemExit(f"The curation failed: {curation.problem}")
    return score_memories(chat, memories)


def _count_memories_of_failure(server: FakeOpenAI, model: ScriptedModel) -> int:
    """Return how many memories a curation stores if the model answers twice without JSON."""
    application = Application(server, "script")
    model.refuses = True
    try:
        curation, memories = application.wait_for_curation(application.run(make_chat(99)))
    finally:
        model.refuses = False
    if curation.status != "failed":
        raise SystemExit("A curation without any JSON should have failed.")
    return len(memories)


def _time_runs(
    server: FakeOpenAI, model: ScriptedModel, count: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of this number of runs without curation, and of as many with curation, taken in turns."""
    plain = Application(server, None)
    curated = Application(server, "script", sibling=plain)
    chats = [make_chat(1_000 + number) for number in range(count)]
    for chat in chats:
        model.learn(chat)
    plain.run(chats[0])  # the first runs also load modules and fill caches
    curated.run(chats[0])
    plain_runs, curated_runs = [], []
    for chat in chats:
        plain_runs.append(plain.run(chat))
        curated_runs.append(curated.run(chat))
    for run in curated_runs:
        curated.wait_for_curation(run)
    return [run.elapsed for run in plain_runs], [run.elapsed for run in curated_runs]


def _wait_for(team_id: Any, find: Callable[[], Any]) -> Any:
    """Return the first result of ``find`` that isn't None."""
    from accounts.tenancy import tenant

    deadline = time.monotonic() + MAX_WAIT
    while time.monotonic() < deadline:
        with tenant([team_id]):
            result = find()
        if result is not None:
            return result
        time.sleep(0.02)
    raise SystemExit("The worker took too long.")


if __name__ == "__main__":
    sys.exit(main())
