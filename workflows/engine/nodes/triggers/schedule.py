"""Schedule: a run begins at the times of a cron expression, or every hour, day, week or month."""

from collections.abc import Iterable
from typing import Any, Final, Literal

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop
from workflows.engine.triggers.calls import SCHEDULED_AT
from workflows.engine.triggers.recurrence import (
    Recurrence,
    ScheduleInvalid,
    build_recurrence,
)


_TIMED: Final = ("daily", "weekly", "monthly")


class ScheduleConfig(NodeConfig):
    mode: Literal["visual", "cron"] = "visual"
    frequency: str | None = None
    cron_expression: str | None = None
    visual_config: dict[str, Any] | None = None
    timezone: str = "UTC"
    # What happens to times that passed while nothing could start a run.
    missed_runs: Literal["skip", "once"] = "once"


class ScheduleTrigger(NodeKind[ScheduleConfig, Recurrence]):
    name = "trigger-schedule"
    title = gettext_noop("Schedule")
    description = gettext_noop("Starts the workflow at set times")
    group = "flow"
    mode = Mode.WORKFLOW
    palette_order = 16
    icon = "clock"
    family = "flow"
    dialects = ("dify",)
    config_model = ScheduleConfig
    execution = Execution.ROOT
    fields = (
        Field("mode", gettext_noop("Times"), Widget.CHOICE, default="visual", choices=(
                  ("visual", gettext_noop("Every hour, day, week or month")),
                  ("cron", gettext_noop("Cron expression")),
              )),
        Field("cron_expression", gettext_noop("Cron expression"), Widget.TEXT,
              shown_when=("mode", ("cron",)),
              help=gettext_noop("Minute, hour, day, month, weekday: 0 9 * * 1-5 is 9:00 from Monday to Friday.")),
        Field("frequency", gettext_noop("Repeat"), Widget.CHOICE, default="daily",
              shown_when=("mode", ("visual", None)), choices=(
                  ("hourly", gettext_noop("Every hour")),
                  ("daily", gettext_noop("Every day")),
                  ("weekly", gettext_noop("Every week")),
                  ("monthly", gettext_noop("Every month")),
              ), example="weekly"),
        Field("visual_config", gettext_noop("When"), Widget.SECTION,
              shown_when=("mode", ("visual", None)),
              default={"time": "9:00 AM", "weekdays": ["mon"], "monthly_days": [1], "on_minute": 0},
              initial={"time": "9:00 AM", "weekdays": ["mon"], "monthly_days": [1], "on_minute": 0},
              fields=(
                  Field("time", gettext_noop("Time of day"), Widget.TEXT, default="12:00 AM",
                        help=gettext_noop("Such as 9:30 AM or 21:30."),
                        shown_when=("/frequency", ("daily", "weekly", "monthly", None)),
                        example="9:30 AM"),
                  Field("weekdays", gettext_noop("Weekdays"), Widget.STRINGS, default=[],
                        help=gettext_noop("sun, mon, tue, wed, thu, fri or sat."),
                        shown_when=("/frequency", ("weekly",)),
                        example=["mon", "thu"]),
                  Field("monthly_days", gettext_noop("Days of the month"), Widget.STRINGS,
                        default=[], help=gettext_noop("Numbers, or “last”."),
                        shown_when=("/frequency", ("monthly",))),
                  Field("on_minute", gettext_noop("Minute"), Widget.NUMBER, default=0, low=0,
                        high=59, help=gettext_noop("Of each hour, from 0 to 59."),
                        shown_when=("/frequency", ("hourly",))),
              ),
              example={"time": "9:30 AM", "weekdays": ["mon", "thu"]}),
        Field("timezone", gettext_noop("Time zone"), Widget.TEXT, default="UTC",
              help=gettext_noop("A name such as Europe/Berlin or Asia/Shanghai."),
              example="Europe/Berlin"),
        Field("missed_runs", gettext_noop("Missed times"), Widget.CHOICE, default="once", choices=(
                  ("once", gettext_noop("Run once when possible again")),
                  ("skip", gettext_noop("Skip")),
              ), is_advanced=True,
              help=gettext_noop("Times that passed while no worker was there.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        try:
            recurrence = build_recurrence(data)
        except ScheduleInvalid:
            return []
        visual = data.get("visual_config")
        settings = visual if isinstance(visual, dict) else {}
        frequency = str(data.get("frequency") or "daily")
        label = _LABELS.get(frequency)
        if data.get("mode") == "cron" or label is None:
            return [recurrence.expression, str(recurrence.zone)]
        clock = as_text(settings.get("time") or "12:00 AM") if frequency in _TIMED else ""
        return [Phrase(label), clock, str(recurrence.zone)]

    def prepare(self, spec: NodeSpec) -> Recurrence:
        self.configure(spec)
        try:
            return build_recurrence(spec.data)
        except ScheduleInvalid as invalid:
            raise NodeFailed("ScheduleInvalid", str(invalid)) from invalid

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        try:
            build_recurrence(spec.data)
        except ScheduleInvalid as invalid:
            return [Problem("schedule.invalid", str(invalid), spec.id, invalid.field)]
        return []

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output(
                "scheduled_at",
                "string",
                gettext_noop("The time for which the run was due, in the schedule's time zone"),
                example="2026-03-02T09:30:00+01:00",
            ),
            Output("date", "string", gettext_noop("The day of this time"), example="2026-03-02"),
        )

    def run(self, prepared: Recurrence, ctx: NodeContext) -> NodeResult:
        due = str(ctx.identity.get(SCHEDULED_AT) or "") or _format_now(prepared, ctx)
        return NodeResult({"scheduled_at": due, "date": due[:10]})


_LABELS: Final = {
    "hourly": gettext_noop("Every hour"),
    "daily": gettext_noop("Every day"),
    "weekly": gettext_noop("Every week"),
    "monthly": gettext_noop("Every month"),
}


def _format_now(recurrence: Recurrence, ctx: NodeContext) -> str:
    """Return the present time, for a run that somebody starts by hand."""
    return ctx.ports.clock.now().astimezone(recurrence.zone).isoformat(timespec="seconds")
