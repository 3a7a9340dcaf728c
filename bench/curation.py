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
from bench._services import add_really_option, create_operator, own_services
from bench.chatter import CURATOR, Chat, Score, Script, build_document, make_chat, score
from tests.fakes.openai_server import Answer, FakeOpenAI, Request


REPLY = "Noted, thank you all for saying so."
DELAY = 0.1  # seconds before each word: a reply takes about one, as a quick model's does
MAX_WAIT = 120  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chats", type=int, default=3, help="chats for each curator")
    parser.add_argument(
        "--runs", type=int, default=15, help="runs to time, with and without curation"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    script = Script()
    with _run_services(script, really=options.really) as server:
        chats = [make_chat(seed) for seed in range(options.chats)]
        model = [_curate(server, script, chat, "script") for chat in chats]
        plain = [_curate(server, script, chat, "") for chat in chats]
        failed = _count_memories_of_failure(server, script)
        without, within = _time_runs(server, script, options.runs)
    ratio = min(within) / min(without)
    for name, scores in (("with a model", model), ("without a model", plain)):
        for each in scores:
            sys.stdout.write(
                f"     {name}: {each.stored_facts} of {each.facts} facts, "
                f"{each.junk} of {each.small_talk} messages of small talk\n"
            )
    for name, spans in (("without", without), ("with", within)):
        best, middle = min(spans), statistics.median(spans)
        sys.stdout.write(f"     run {name} curation: best {best:.3f} s, median {middle:.3f} s\n")
    both = (*model, *plain)
    bars = [
        Bar("small talk rejected, with a model", _least_rejected(model), 0.9, at_least=True),
        Bar("small talk rejected, without a model", _least_rejected(plain), 0.9, at_least=True),
        Bar("facts stored, with a model", min(o.fact_share for o in model), 0.95, at_least=True),
        Bar("duplicates of repeated facts", sum(each.duplicates for each in both), 0),
        Bar("memories of a run whose curation failed", failed, 0),
        Bar("run with curation / without", ratio, 1.05),
    ]
    measured: dict[str, object] = {
        "with a model": [asdict(each) for each in model],
        "without a model": [asdict(each) for each in plain],
        "seconds without": without,
        "seconds with": within,
    }
    return report(bars, measured, options.json)


def _least_rejected(scores: list[Score]) -> float:
    return min(each.rejected_share for each in scores)


@contextmanager
def _run_services(script: Script, *, really: bool) -> Iterator[FakeOpenAI]:
    def reply(request: Request) -> Answer:
        if CURATOR in request.last_message:
            return Answer(script.answer(request.last_message))
        return Answer(REPLY, delay=DELAY)

    with FakeOpenAI() as server:
        server.script(reply)
        os.environ["NET_ALLOW"] = server.allow
        with own_services(really=really):
            from workflows.services.runs.durable_backend import ChildWorker

            worker = ChildWorker()
            worker.start()
            try:
                yield server
            finally:
                worker.stop()


class Application:
    """A workflow in a new team, or in the ``sibling``'s. ``curator`` is a provider, "" (offline) or None."""

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
            self._turn_on(curator)

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
        summary = summarize_curation(self._caller(), run_id=str(run.pk))
        assert summary is not None
        texts = [entry.text for entry in summary.entries if entry.key.startswith("learning:")]
        return summary.curation, texts

    def _turn_on(self, curator: str) -> None:
        from memory.services.curation.learning_rules import LearningRule, set_learning_rule

        model = "small" if curator else ""
        rule = LearningRule(True, provider=curator, model=model, token_budget=1_500)
        set_learning_rule(self._caller(), app_id=str(self.workflow.pk), learning=rule)

    def _caller(self) -> Any:
        from memory.services import MemoryCaller

        return MemoryCaller(self.principal, self.team.pk)


def _curate(server: FakeOpenAI, script: Script, chat: Chat, curator: str) -> Score:
    script.learn(chat)
    application = Application(server, curator)
    curation, memories = application.wait_for_curation(application.run(chat))
    if curation.status != "done":
        raise SystemExit(f"The curation failed: {curation.problem}")
    return score(chat, memories)


def _count_memories_of_failure(server: FakeOpenAI, script: Script) -> int:
    """Return how many memories a chat gets whose curator answers twice without JSON."""
    application = Application(server, "script")
    script.refuses = True
    try:
        curation, memories = application.wait_for_curation(application.run(make_chat(99)))
    finally:
        script.refuses = False
    if curation.status != "failed":
        raise SystemExit("A curation without any JSON should have failed.")
    return len(memories)


def _time_runs(server: FakeOpenAI, script: Script, times: int) -> tuple[list[float], list[float]]:
    without = Application(server, None)
    within = Application(server, "script", sibling=without)
    chats = [make_chat(1_000 + number) for number in range(times)]
    for chat in chats:
        script.learn(chat)
    without.run(chats[0])  # the first runs also load modules and fill caches
    within.run(chats[0])
    spans: tuple[list[float], list[float]] = [], []
    ended = []
    for chat in chats:
        spans[0].append(without.run(chat).elapsed)
        ended.append(within.run(chat))
        spans[1].append(ended[-1].elapsed)
    for run in ended:
        within.wait_for_curation(run)
    return spans


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
