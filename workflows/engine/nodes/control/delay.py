"""Delay: continues after a duration, or at a time. A long delay pauses the run, which then occupies no worker."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from pydantic import Field as Bounded

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template
from workflows.engine.runtime.waits import Wait
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, count_text, gettext_noop


MAX_SLEEP: Final = 5.0  # seconds; a longer delay pauses the run
_MAX_DELAY: Final = timedelta(days=366)
_SECONDS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}


class DelayConfig(NodeConfig):
    mode: Literal["duration", "until"] = "duration"
    amount: float = Bounded(default=1, ge=0)
    unit: Literal["seconds", "minutes", "hours", "days"] = "minutes"
    until: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    duration: timedelta | None
    until: Template


class Delay(NodeKind[DelayConfig, Prepared]):
    name = "delay"
    title = gettext_noop("Delay")
    description = gettext_noop("Waits for some time, or until a time")
    palette_order = 50
    icon = "clock"
    family = "logic"
    config_model = DelayConfig
    fields = (
        Field("mode", gettext_noop("Wait"), Widget.CHOICE, default="duration",
              choices=(("duration", gettext_noop("For a duration")), ("until", gettext_noop("Until a time")))),
        Field("amount", gettext_noop("Duration"), Widget.NUMBER, default=1, low=0, example=10,
              shown_when=("mode", ("duration", None))),
        Field("unit", gettext_noop("Unit"), Widget.CHOICE, default="minutes", example="minutes",
              is_unit=True, shown_when=("mode", ("duration", None)),
              choices=(("seconds", gettext_noop("Seconds")), ("minutes", gettext_noop("Minutes")),
                       ("hours", gettext_noop("Hours")), ("days", gettext_noop("Days")))),
        Field("until", gettext_noop("Time"), Widget.TEMPLATE, shown_when=("mode", ("until",)),
              help=gettext_noop("Such as 2026-12-24T18:00+01:00, or a variable with such a text. Without an offset it is UTC.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        if data.get("mode") == "until":
            return [as_text(data.get("until"))]
        unit = as_text(data.get("unit") or "minutes")
        singular, plural = _SUMMARIES.get(unit, ("1", "%(count)s"))
        return [count_text(as_text(data.get("amount", 1)), singular, plural)]

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        if config.mode == "duration" and _get_duration(config) is None:
            problems.append(
                Problem("delay.too_long", "A delay takes at most 366 days", spec.id, "amount")
            )
        if config.mode == "until":
            if not config.until.strip():
                problems.append(Problem("config.empty", "Time: enter a value", spec.id, "until"))
            elif not Template.of(config.until).references and parse_time(config.until) is None:
                problems.append(
                    Problem("delay.no_time", _build_no_time(config.until), spec.id, "until")
                )
        return problems

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        duration = _get_duration(config) if config.mode == "duration" else None
        return Prepared(duration, Template.of(config.until))

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (Output("until", "string", gettext_noop("The time until which the run waited")),)

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        clock = ctx.ports.clock
        now = clock.now()
        if prepared.duration is not None:
            end = now + prepared.duration
        else:
            text = prepared.until.render_text(ctx.pool)
            ctx.record_inputs({"until": text})
            end = _read_end(text, now)
        if not ctx.answers:
            seconds = (end - now).total_seconds()
            if seconds > MAX_SLEEP:
                is_duration = prepared.duration is not None
                ctx.wait_for(Wait(due_at=end.timestamp(), is_duration=is_duration))
            elif seconds > 0:
                await clock.sleep(seconds)
        return NodeResult({"until": min(end, clock.now()).astimezone(UTC).isoformat()})

    async def preview_inputs(self, prepared: Prepared, ctx: NodeContext) -> Mapping[str, Json]:
        if prepared.duration is not None:
            return {}
        return {"until": prepared.until.render_text(ctx.pool)}


def parse_time(text: str) -> datetime | None:
    """Return the time of an ISO 8601 text or of unix seconds, and None for anything else."""
    text = text.strip()
    try:
        if text.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(text), UTC)
        time = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _read_end(text: str, now: datetime) -> datetime:
    end = parse_time(text)
    if end is None:
        raise NodeFailed("TimeInvalid", _build_no_time(text))
    try:
        is_too_late = end > now + _MAX_DELAY
    except OverflowError:
        is_too_late = True
    if is_too_late:
        raise NodeFailed("TimeInvalid", "A delay takes at most 366 days")
    return end


def _build_no_time(text: str) -> str:
    return f"{text[:80]!r} is not a time; write it as 2026-12-24T18:00+01:00"


def _get_duration(config: DelayConfig) -> timedelta | None:
    """Return the duration, or None if it is too long."""
    seconds = config.amount * _SECONDS[config.unit]
    return timedelta(seconds=seconds) if seconds <= _MAX_DELAY.total_seconds() else None


# unit → the words for one, and for another number
_SUMMARIES: Final = {
    "seconds": (gettext_noop("1 second"), gettext_noop("%(count)s seconds")),
    "minutes": (gettext_noop("1 minute"), gettext_noop("%(count)s minutes")),
    "hours": (gettext_noop("1 hour"), gettext_noop("%(count)s hours")),
    "days": (gettext_noop("1 day"), gettext_noop("%(count)s days")),
}
