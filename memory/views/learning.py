"""The picture of learning: runs on one time axis, what they wrote to memory, and where that was used; and a list of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import OffsetPage, replace_query
from memory.forms.learning import LearningForm, PeriodChoice
from memory.host import TeamRun, get_host
from memory.logic.learning.drawing import Arc, Drawing, LessonMark, RunDot, RunMark, draw
from memory.logic.learning.lessons import Learning, Lesson, LessonKind
from memory.services.history.learning import (
    MAX_RUNS,
    list_lesson_namespaces,
    load_key_lessons,
    load_learning,
)
from memory.views.request_context import build_caller, load_titles, render_page_or_fragment


LISTED_RUNS: Final = 10

KIND_LABELS: Final[Mapping[LessonKind, str | Promise]] = {
    LessonKind.TASK: _("Task"),
    LessonKind.ERROR: _("Error"),
    LessonKind.LEARNING: _("Lesson"),
    LessonKind.NOTE: _("Stored memory"),
}


@dataclass(frozen=True, slots=True)
class LessonRow:
    """A lesson with the runs that used it."""

    lesson: Lesson
    label: str | Promise
    place: str
    targets: tuple[TeamRun, ...]


@dataclass(frozen=True, slots=True)
class UsedRow:
    """A run used this lesson of an earlier run."""

    lesson: Lesson
    label: str | Promise
    source: TeamRun


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list, with what it taught and what it used."""

    run: TeamRun
    select_url: str
    is_selected: bool
    lessons: tuple[LessonRow, ...]
    used: tuple[UsedRow, ...]


@dataclass(frozen=True, slots=True)
class DotView:
    """A run in the drawing; ``is_lit`` is set for the selected run and those that it is connected to."""

    dot: RunDot
    run: TeamRun
    url: str
    is_selected: bool
    is_lit: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """The page shows this of the runs."""

    runs: Sequence[TeamRun]
    learning: Learning
    is_all: bool
    by_id: Mapping[str, TeamRun] = field(default_factory=dict)


def load_picture(request: HttpRequest, form: LearningForm) -> Picture:
    """Load the newest runs that match the form, and what they learned. ``is_all`` says whether none is missing."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    team_runs = get_host().list_team_runs(principal, team_id, form.build_filter(), MAX_RUNS + 1)
    runs = team_runs[:MAX_RUNS]
    learning = load_learning(build_caller(request), run_ids=[run.id for run in runs])
    is_all = len(team_runs) <= MAX_RUNS and learning.is_all
    return Picture(runs, learning, is_all, {run.id: run for run in runs})


@login_required
@require_safe
def learning(request: HttpRequest) -> HttpResponse:
    """Show the picture, or with ``run`` the picture of what this run taught and used."""
    form = LearningForm(request.GET)
    picture = load_picture(request, form)
    selected = form.selected_run if form.selected_run in picture.by_id else ""
    drawing = _draw(picture)
    listed = _list_runs(picture, selected)
    page = OffsetPage(len(listed), form.start, request.GET, size=LISTED_RUNS)
    workflows = get_host().list_team_workflows(get_principal(request), get_current_team_id(request))
    context = {
        "form": form,
        "keys": load_key_lessons(build_caller(request), form.build_filter()),
        "ignored": list_form_errors(request.GET, form),
        "workflows": workflows,
        "periods": PeriodChoice.choices,
        "picture": picture,
        "drawing": drawing,
        "dots": _build_dots(request, drawing, picture, selected),
        "marks": _light_marks(drawing, picture, selected),
        "arcs": [(arc, _is_lit(arc, selected)) for arc in drawing.arcs],
        "kinds": [(kind.value, label) for kind, label in KIND_LABELS.items()],
        "selected": picture.by_id.get(selected),
        "clear_url": replace_query(request.GET, run=""),
        "rows": _build_rows(request, picture, page.select_rows(listed), selected),
        "page": page,
        "max_runs": MAX_RUNS,
    }
    return render_page_or_fragment(
        request, "memory/learning/learning.html", "memory/learning/_learning.html", context
    )


def _draw(picture: Picture) -> Drawing:
    marks = [RunMark(run.id, run.workflow, run.at) for run in picture.runs]
    return draw(marks, picture.learning)


def _is_lit(arc: Arc, selected: str) -> bool:
    return selected in (arc.source, arc.target)


def _list_connected(learning: Learning, selected: str) -> set[str]:
    """Return the selected run, and the runs that taught it or that it taught."""
    uses = (use for use in learning.uses if selected in (use.source_run, use.target_run))
    return {selected}.union(*((use.source_run, use.target_run) for use in uses))


def _build_dots(
    request: HttpRequest, drawing: Drawing, picture: Picture, selected: str
) -> list[DotView]:
    connected = _list_connected(picture.learning, selected)
    return [
        DotView(
            dot,
            picture.by_id[dot.run_id],
            replace_query(request.GET, run=dot.run_id, offset=""),
            dot.run_id == selected,
            dot.run_id in connected,
        )
        for dot in drawing.dots
    ]


def _light_marks(
    drawing: Drawing, picture: Picture, selected: str
) -> list[tuple[LessonMark, str | Promise, bool]]:
    return [(mark, KIND_LABELS[mark.kind], mark.run_id == selected) for mark in drawing.marks]


def _list_runs(picture: Picture, selected: str) -> list[TeamRun]:
    """Return the selected run, or all runs that taught or used anything, newest first."""
    if selected:
        return [picture.by_id[selected]]
    linked = picture.learning.linked_runs
    return [run for run in picture.runs if run.id in linked]


def _build_rows(
    request: HttpRequest, picture: Picture, runs: Sequence[TeamRun], selected: str
) -> list[RunRow]:
    taught = picture.learning.group_lessons()
    by_entry = {(lesson.entry_id, lesson.run_id): lesson for lesson in picture.learning.lessons}
    ids = {run.id for run in runs}
    lessons = [lesson for run in runs for lesson in taught.get(run.id, ())]
    titles = load_titles(request, list_lesson_namespaces(build_caller(request), lessons))
    used: dict[str, list[UsedRow]] = {}
    for use in picture.learning.uses:
        if use.target_run in ids:
            lesson = by_entry[use.entry_id, use.source_run]
            row = UsedRow(lesson, KIND_LABELS[lesson.kind], picture.by_id[use.source_run])
            used.setdefault(use.target_run, []).append(row)
    return [
        RunRow(
            run,
            replace_query(request.GET, run=run.id, offset=""),
            run.id == selected,
            tuple(_build_lesson(lesson, picture, titles) for lesson in taught.get(run.id, ())),
            tuple(used.get(run.id, ())),
        )
        for run in runs
    ]


def _build_lesson(lesson: Lesson, picture: Picture, titles: Mapping[str, str]) -> LessonRow:
    targets = picture.learning.list_targets(lesson.entry_id, lesson.run_id)
    return LessonRow(
        lesson,
        KIND_LABELS[lesson.kind],
        titles.get(lesson.namespace, lesson.namespace),
        tuple(picture.by_id[run_id] for run_id in targets),
    )
