"""What curation keeps of a chat full of talk, and what it costs the runs: `python -m bench.curation [--json FILE]`.

Everything is real but the model: PostgreSQL behind row-level security, runs and curations in a Celery worker,
a model provider over HTTP that is a script (`bench.chatter`). Each chat is a run of 200 messages. The ratio
is between runs of an application that learns, each beside the curations of those before it and reminded of
what they taught, and runs of one that doesn't, in turns; a run's time is its own, from its first attempt to
its last commit, and the best of each is compared, since others use the machine, too.
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
from bench._services import own_services, takes_really
from bench.chatter import CURATOR, Chat, Judged, Script, chat, document, judged
from bench.memory import _operator as new_operator
from tests.fakes.openai_server import Answer, FakeOpenAI, Request


REPLY = "Noted, thank you all for saying so."
THINKS = 0.1  # seconds before each word: a reply takes about one, as a quick model's does
PATIENCE = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chats", type=int, default=3, help="of each curator")
    parser.add_argument("--runs", type=int, default=15, help="that are timed, of each application")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    takes_really(parser)
    options = parser.parse_args()
    script = Script()
    with _world(script, really=options.really) as server:
        model = [_curated(server, script, chat(seed), "script") for seed in range(options.chats)]
        plain = [_curated(server, script, chat(seed), "") for seed in range(options.chats)]
        half = _beyond_repair(server, script)
        without, within = _timed(server, script, options.runs)
    ratio = min(within) / min(without)
    for name, found in (("with a model", model), ("without one", plain)):
        for one in found:
            sys.stdout.write(
                f"     {name}: {one.found} of {one.facts} facts, {one.junk} of {one.talk} messages of talk\n"
            )
    for name, spans in (("that doesn't learn", without), ("that learns", within)):
        best, middle = min(spans), statistics.median(spans)
        sys.stdout.write(
            f"     run of an application {name}: best {best:.3f} s, median {middle:.3f} s\n"
        )
    bars = [
        Bar("talk kept out, with a model", min(o.kept_out for o in model), 0.9, at_least=True),
        Bar("talk kept out, without one", min(o.kept_out for o in plain), 0.9, at_least=True),
        Bar("facts kept, with a model", min(o.remembered for o in model), 0.95, at_least=True),
        Bar("doubles left of what was said twice", sum(o.doubles for o in (*model, *plain)), 0),
        Bar("memories of a run whose curation failed", half, 0),
        Bar("run with curation / without", ratio, 1.05),
    ]
    measured: dict[str, object] = {
        "with a model": [asdict(one) for one in model],
        "without one": [asdict(one) for one in plain],
        "seconds without": without,
        "seconds with": within,
    }
    return report(bars, measured, options.json)


@contextmanager
def _world(script: Script, *, really: bool) -> Iterator[FakeOpenAI]:
    def reply(request: Request) -> Answer:
        if CURATOR in request.last_message:
            return Answer(script.answer(request.last_message))
        return Answer(REPLY, delay=THINKS)

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
    """A workflow of a team of its own; ``curator``: nobody, ``""`` for the offline one, or a provider."""

    def __init__(
        self, server: FakeOpenAI, curator: str | None, beside: "Application | None" = None
    ):
        from accounts.principals import load_user_principal
        from workflows.services.catalog import importing
        from workflows.services.credentials import create_provider

        self.who: Any = beside.who if beside else new_operator()
        user, self.team = self.who
        self.principal = load_user_principal(user)
        if beside is None:
            create_provider(
                self.principal, team_id=self.team.pk, name="script", base_url=server.base_url
            )
        source = document({"provider": "script", "name": "small", "mode": "chat"})
        self.workflow = importing.import_document(
            self.principal, team_id=self.team.pk, source=source, name="Chat"
        ).workflow
        if curator is not None:
            self._learns(curator)

    def run(self, said: Chat) -> Any:
        """As it is when it has ended."""
        from workflows.models import Run
        from workflows.models.run import ENDED
        from workflows.services.runs.runs import start_run

        run = start_run(
            self.principal, workflow=self.workflow, inputs={"said": list(said.messages)}
        )
        found: Any = _until(
            self.team.pk,
            lambda: Run.objects.unscoped().filter(pk=run.pk, status__in=ENDED).first(),
        )
        if found.status != "succeeded":
            raise SystemExit(f"The run {found.status}: {found.error}")
        return found

    def learnt(self, run: Any) -> tuple[Any, list[str]]:
        """Its curation once that is over, and each thing that was learnt."""
        from memory.models import Curation
        from memory.services.curation.curation_summary import summarize_curation

        _until(
            self.team.pk,
            lambda: (
                Curation.objects.unscoped()
                .filter(run_id=str(run.pk), status__in=("done", "failed"))
                .first()
            ),
        )
        found = summarize_curation(self._caller(), run_id=str(run.pk))
        assert found is not None
        return found.curation, [
            one.text for one in found.entries if one.key.startswith("learning:")
        ]

    def _learns(self, curator: str) -> None:
        from memory.services.curation.learning_rules import LearningRule, set_learning_rule

        model = "small" if curator else ""
        rule = LearningRule(True, provider=curator, model=model, token_budget=1_500)
        set_learning_rule(self._caller(), app_id=str(self.workflow.pk), learning=rule)

    def _caller(self) -> Any:
        from memory.services import MemoryCaller

        return MemoryCaller(self.principal, self.team.pk)


def _curated(server: FakeOpenAI, script: Script, said: Chat, curator: str) -> Judged:
    script.knows(said)
    application = Application(server, curator)
    curation, learnt = application.learnt(application.run(said))
    if curation.status != "done":
        raise SystemExit(f"The curation failed: {curation.problem}")
    return judged(said, learnt)


def _beyond_repair(server: FakeOpenAI, script: Script) -> int:
    """How many memories there are of a chat whose curator gave no JSON, asked twice."""
    application = Application(server, "script")
    script.refuses = True
    try:
        curation, learnt = application.learnt(application.run(chat(99)))
    finally:
        script.refuses = False
    if curation.status != "failed":
        raise SystemExit("A curation without any JSON should have failed.")
    return len(learnt)


def _timed(server: FakeOpenAI, script: Script, times: int) -> tuple[list[float], list[float]]:
    without = Application(server, None)
    within = Application(server, "script", beside=without)
    chats = [chat(1_000 + number) for number in range(times)]
    for said in chats:
        script.knows(said)
    without.run(chats[0])  # the first ones pay for what is loaded
    within.run(chats[0])
    spans: tuple[list[float], list[float]] = [], []
    ended = []
    for said in chats:
        spans[0].append(without.run(said).elapsed)
        ended.append(within.run(said))
        spans[1].append(ended[-1].elapsed)
    for run in ended:
        within.learnt(run)
    return spans


def _until(team_id: Any, look: Callable[[], Any]) -> Any:
    from accounts.tenancy import tenant

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with tenant([team_id]):
            found = look()
        if found is not None:
            return found
        time.sleep(0.02)
    raise SystemExit("The worker took too long.")


if __name__ == "__main__":
    sys.exit(main())
