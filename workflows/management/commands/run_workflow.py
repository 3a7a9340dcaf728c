"""Runs a workflow document from the shell. Exit status 0 only when the run succeeded."""

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.engine.errors import DocumentInvalid, EngineFault
from workflows.engine.language.dsl import load_document
from workflows.engine.language.problems import Problem, select_errors
from workflows.engine.language.validation import validate
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.step_records import RunStatus, StepRecord
from workflows.engine.testing.backends import Backend, Outcome, Request
from workflows.execution.kinds import load_kinds
from workflows.management.answers import ShellAnswers, open_terminal
from workflows.management.backends import IN_MEMORY, BackendRefused, MemoryOptions, build_backend
from workflows.models import run as models
from workflows.templatetags.problems import (
    describe_with_location,
    list_titles,
    replace_ids_by_titles,
)


REMEMBER = "memory-store"
_SUCCESSFUL = (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


class Command(BaseCommand):
    help = "Validate and run a workflow document and print its outputs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--input", action="append", default=[], metavar="K=V")
        parser.add_argument("--inputs", default="{}", metavar="JSON")
        parser.add_argument("--query", metavar="TEXT")
        parser.add_argument("--system", action="append", default=[], metavar="K=V")
        parser.add_argument("--mocks", type=Path, metavar="FILE")
        parser.add_argument(
            "--answers", default="{}", metavar="JSON",
            help='answers to what the run asks, by node: {"ask": {"values": {"name": "Mia"}, "action": "send"}}; '
            "without one, it is asked in the terminal",
        )  # fmt: skip
        parser.add_argument("--offline", action="store_true")
        parser.add_argument("--events", action="store_true")
        parser.add_argument("--json", action="store_true", dest="as_json")
        parser.add_argument("--durable", action="store_true")
        parser.add_argument(
            "--memory", default=IN_MEMORY.provider, metavar="PROVIDER",
            help="memory provider of the run: in_memory, redis, http, or one from a plug-in",
        )  # fmt: skip
        parser.add_argument(
            "--memory-option", action="append", default=[], metavar="K=V",
            help="provider option; use @FILE as the value to read it from a file, for secrets",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        self._titles: Mapping[str, str] = {}
        try:
            outcome = asyncio.run(self._run(options))
        except DocumentInvalid as invalid:
            lines = [self._describe(problem) for problem in invalid.problems]
            outcome = Outcome(status=RunStatus.FAILED, error="; ".join(lines))
        except EngineFault as fault:
            outcome = Outcome(status=RunStatus.FAILED, error=fault.message)
        self._print(outcome, as_json=options["as_json"])
        if outcome.status not in _SUCCESSFUL:
            raise SystemExit(1)

    async def _run(self, options: dict[str, Any]) -> Outcome:
        request = _build_request(options)
        self._titles = list_titles(request.document, load_kinds())
        self._validate(request)
        backend = _build_backend(options)
        try:
            return await backend.run(request, self._print_event if options["events"] else None)
        finally:
            await backend.close()

    def _validate(self, request: Request) -> None:
        """Report every problem at once: warnings are printed, errors raise DocumentInvalid before anything runs."""
        problems = validate(request.document, load_kinds())
        for problem in problems:
            if not problem.is_error:
                self.stderr.write(f"Warning: {self._describe(problem)}")
        if errors := select_errors(problems):
            raise DocumentInvalid(errors)

    def _describe(self, problem: Problem) -> str:
        return describe_with_location(problem, self._titles)

    def _print_event(self, event: Event) -> None:
        # On another stream than the outputs, which other programs may parse.
        fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
        self.stderr.write(_dump_json({"event": event.name, **fields}), ending="\n")
        self.stderr.flush()

    def _print(self, outcome: Outcome, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(_dump_json(_build_report(outcome, self._titles)))
            return
        self._print_wishes(outcome)
        for name, value in outcome.outputs.items():
            self.stdout.write(f"{name}: {_format_value(value)}")
        if outcome.error:
            title = self._titles.get(outcome.error_node or "", outcome.error_node)
            status = models.RunStatus(str(outcome.status)).label
            error = replace_ids_by_titles(outcome.error, self._titles)
            self.stderr.write(": ".join(filter(None, (str(status), title, error))))

    def _print_wishes(self, outcome: Outcome) -> None:
        """Say what was forgotten because the person asked for it, or that several things could be meant."""
        steps = [step for step in outcome.steps if step.kind == REMEMBER]
        for entry in (entry for step in steps for entry in step.outputs.get("forgotten", ())):
            self.stderr.write(f"Forgotten: {_format_value(entry['value'])}")
        choices = [entry for step in steps for entry in step.outputs.get("choices", ())]
        if choices:
            self.stderr.write("Nothing was forgotten: several could be meant. Say which one:")
        for entry in choices:
            self.stderr.write(f"  - {_format_value(entry['value'])}")


def _build_backend(options: dict[str, Any]) -> Backend:
    memory_options = {
        name: _read_text(Path(value[1:])).strip() if value.startswith("@") else value
        for name, value in _parse_pairs(options["memory_option"], "--memory-option").items()
    }
    try:
        return build_backend(
            durable=options["durable"],
            offline=options["offline"],
            memory=MemoryOptions(options["memory"], memory_options),
        )
    except BackendRefused as error:
        raise CommandError(f"--memory: {error}") from error


def _build_request(options: dict[str, Any]) -> Request:
    inputs = _parse_object(options["inputs"], "--inputs")
    inputs |= _parse_pairs(options["input"], "--input")
    system: dict[str, Any] = {"user_id": "shell", "app_id": "default", "workflow_id": "shell"}
    system |= _parse_pairs(options["system"], "--system")
    if options["query"] is not None:
        system["query"] = options["query"]
    mocks = _parse_object(_read_text(options["mocks"]), "--mocks") if options["mocks"] else {}
    document = load_document(_read_text(options["file"]), confirm_newer=True).document
    answers = ShellAnswers(_parse_object(options["answers"], "--answers"), open_terminal())
    return Request(
        document,
        inputs=inputs,
        system=system,
        mocks=mocks,
        offline=options["offline"],
        answer=answers.answer,
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} can't be read: {error}") from error


def _parse_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CommandError(f"{option} must be a JSON object")
    return value


def _parse_pairs(items: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for item in items:
        name, separator, value = item.partition("=")
        if not separator or not name:
            raise CommandError(f"{option} takes name=value, not {item!r}")
        pairs[name] = value
    return pairs


def _build_report(outcome: Outcome, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return what programs read: nodes by their ids, each with its title."""
    return {
        "status": outcome.status,
        "outputs": outcome.outputs,
        "error": outcome.error,
        "error_node": outcome.error_node,
        "error_node_title": titles.get(outcome.error_node or ""),
        "stream": outcome.stream,
        "steps": [_build_step(step, titles) for step in outcome.steps],
        "elapsed": round(outcome.elapsed, 6),
    }


def _build_step(step: StepRecord, titles: Mapping[str, str]) -> dict[str, Any]:
    return {
        "node": step.key.node_id,
        "title": titles.get(step.key.node_id, ""),
        "rounds": list(step.key.rounds),
        "kind": step.kind,
        "status": step.status,
        "handle": step.handle,
        "inputs": step.inputs,
        "outputs": step.outputs,
        "error": dataclasses.asdict(step.error) if step.error else None,
        "tries": step.tries,
        "elapsed": round(step.elapsed, 6),
    }


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else _dump_json(value)


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
