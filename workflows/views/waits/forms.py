"""The form of a question for a person: its text, the fields in their places, and the buttons."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from config.http import strict_json
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Json
from workflows.engine.runtime.waits import (
    AGAIN,
    HAPPENED,
    STOP,
    UNCERTAIN,
    find_reply_field,
    is_uncertain,
    list_actions,
    list_input_fields,
)
from workflows.forms import CONTROLS, InputField
from workflows.models import Run, RunWait, StepIntent
from workflows.services.questions.people import describe_asked, name_answerers
from workflows.services.runs import waits
from workflows.templatetags.markdown_text import render_markdown
from workflows.templatetags.problems import describe_problem
from workflows.views.value_text import format_value
from workflows.views.waits.meant_memories import format_meant, format_other_arguments


# Not an identifier, so that no field has this name.
ACTION_NAME = "-action"
_PLACE = re.compile(r"\{\{#\$output\.([A-Za-z_][A-Za-z0-9_]{0,29})#\}\}")
_BUTTONS = {"primary": "button-main", "accent": "button-main", "ghost": "button-quiet"}


@dataclass(frozen=True, slots=True)
class AnswerField(InputField):
    """A field of the question. Several questions may be on one page, so its id contains the question's."""

    wait: str = ""

    @property
    def id(self) -> str:
        return f"answer-{self.wait}-{self.name}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text, or the field that stands in it."""

    text: str = ""
    field: AnswerField | None = None

    @property
    def html(self) -> SafeString:
        return render_markdown(self.text, has_line_breaks=True)


@dataclass(frozen=True, slots=True)
class Button:
    id: str
    title: str
    style: str
    declines: bool = False  # nothing has to be filled in


@dataclass(frozen=True, slots=True)
class Question:
    """A question as its form shows it. ``outcome`` says why a closed one can't be answered any more."""

    wait: RunWait
    url: str  # to which the answer is sent
    pieces: Sequence[Piece]
    buttons: Sequence[Button]
    outcome: str = ""
    error: str = ""
    tool: str = ""
    connection: str = ""  # of the team, through which the tool is called
    arguments: str = ""  # … without the memories that are meant
    memories: Sequence[str] = ()
    answers: Sequence[tuple[str, str]] = field(default=())
    is_asked: bool = True  # whether the reader may answer
    asked_people: Sequence[str] = field(
        default=()
    )  # the names of those who may, unless they are the run's own people
    lost_call: StepIntent | None = None  # of an uncertain step

    @property
    def is_approval(self) -> bool:
        return bool((self.wait.form or {}).get("type") == "approval")

    @property
    def is_uncertain(self) -> bool:
        """Return whether a person has to decide about a step whose outcome is unknown."""
        return is_uncertain(self.wait.form)

    @property
    def node(self) -> str:
        return str((self.wait.form or {}).get("node") or self.wait.node_key)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A question with what its reader may know of its run: who started it, and perhaps the run itself."""

    run: Run
    question: Question
    can_view_run: bool
    asker: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Tells on the run's page who answered a question, when, and with which button."""

    node: str
    name: str
    at: datetime | None
    action: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Tells for the head of a run's page what a person decided about an uncertain step."""

    node: str
    action: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question in a chat, and its answer. ``is_card``: it is shown with its form, since a message can't answer it.

    ``reply_hint`` says what the next message does.
    """

    question: Question
    text: str
    answer: str
    is_card: bool
    reply_hint: str = ""

    @property
    def is_for_visitor(self) -> bool:
        """Return whether a visitor of a public page may answer. Calls of tools and lost steps concern the team."""
        is_for_team = self.question.is_approval or self.question.is_uncertain
        return self.question.is_asked and not is_for_team


def build_exchange(question: Question) -> Exchange:
    form, wait = question.wait.form or {}, question.wait
    reply_field = find_reply_field(form)
    is_answered = wait.answered_at is not None and not wait.is_timed_out
    return Exchange(
        question,
        text="\n\n".join(piece.text for piece in question.pieces if piece.text),
        answer=_join_answer(question, reply_field) if is_answered else "",
        is_card=not is_answered and (not question.is_asked or reply_field is None),
        reply_hint=_describe_reply(question, reply_field) if reply_field else "",
    )


def _join_answer(question: Question, reply_field: str | None) -> str:
    """Return the answer as the person's message: their own words alone, if words are all that was asked for."""
    reply = (question.wait.values or {}).get(reply_field) if reply_field else None
    if reply:
        return format_value(reply)
    return ", ".join(value for _name, value in question.answers if value)


def _describe_reply(question: Question, reply_field: str) -> str:
    """Name the field into which the next message goes, and the button that it stands for."""
    if (question.wait.form or {}).get(
        "type"
    ) == "question":  # of an agent: it has no field of an author
        return _("The reply below answers this question.")
    fields = {piece.field.name: piece.field.label for piece in question.pieces if piece.field}
    titles = {"field": fields.get(reply_field, reply_field)}
    if list_actions(question.wait.form or {}):
        titles["button"] = question.buttons[0].title
        return _("Your reply fills in “%(field)s” and chooses “%(button)s”.") % titles
    return _("Your reply fills in “%(field)s”.") % titles


def build_decision(wait: RunWait) -> Decision:
    node = str((wait.form or {}).get("node") or wait.node_key)
    return Decision(node, _describe_actions(UNCERTAIN).get(wait.action, wait.action))


def list_answered(waits_of_run: Sequence[RunWait], titles: Mapping[str, str]) -> list[Answered]:
    """Return who answered these questions. ``titles`` are those of the nodes."""
    names = name_answerers(waits_of_run)
    return [
        Answered(
            str((wait.form or {}).get("node") or titles.get(wait.node_key) or wait.node_key),
            names.get(wait.answered_by, ""),
            wait.answered_at,
            _list_titles(wait.form or {}).get(wait.action, ""),
        )
        for wait in waits_of_run
    ]


def build_question(
    run: Run,
    wait: RunWait,
    url: str,
    *,
    submitted: Mapping[str, str] | None = None,
    rejected: InputRejected | None = None,
    is_asked: bool = True,
    shows_names: bool = True,
) -> Question:
    """Return the form of a question, with what was submitted and why it was rejected.

    ``shows_names``: whether its reader learns who answered it, or whom else it asks.
    """
    form = wait.form or {}
    errors = (
        {p.field: describe_problem(p) for p in rejected.problems if p.field} if rejected else {}
    )
    fields = {each.name: each for each in _build_fields(wait, submitted, errors)}
    other_errors = [text for name, text in errors.items() if name not in fields]
    return Question(
        wait=wait,
        url=url,
        pieces=tuple(_iter_pieces(str(form.get("content", "")), fields)),
        buttons=_build_buttons(form),
        outcome=""
        if waits.is_open(wait, run)
        else _describe_outcome(run, wait, shows_names=shows_names),
        error=" ".join(other_errors),
        tool=str(form.get("tool") or ""),
        connection=str(form.get("connection") or ""),
        arguments=format_other_arguments(form),
        memories=format_meant(form),
        answers=_list_answers(wait),
        is_asked=is_asked,
        asked_people=describe_asked(wait) if shows_names and not is_asked else (),
        lost_call=waits.find_lost_call(wait) if is_uncertain(form) else None,
    )


def read_answer(wait: RunWait, data: Mapping[str, str]) -> tuple[dict[str, Json], str]:
    """Return the submitted values and the pressed button."""
    values: dict[str, Json] = {}
    for each in list_input_fields(wait.form or {}):
        control = CONTROLS.get(each.type, "json")
        text = data.get(each.name, "").replace("\x00", "")  # PostgreSQL can't store NUL
        if control == "switch":
            values[each.name] = each.name in data
        elif control == "json" and text.strip():
            values[each.name] = _parse_json(text)
        elif text or control in ("text", "paragraph"):
            values[each.name] = text
    return values, data.get(ACTION_NAME, "")


def _parse_json(text: str) -> Json:
    try:
        return strict_json.loads(text)
    except strict_json.NotStrictJson:
        return text


def _build_fields(
    wait: RunWait, submitted: Mapping[str, str] | None, errors: Mapping[str, str]
) -> Iterator[AnswerField]:
    labels = _list_labels(wait.form or {})
    hints = {
        str(item.get("name")): _describe_field(item)
        for item in (wait.form or {}).get("inputs") or ()
    }
    for each in list_input_fields(wait.form or {}):
        default = each.default if isinstance(each.default, str) else _format_default(each.default)
        yield AnswerField(
            name=each.name,
            label=labels.get(each.name, each.name),
            control=CONTROLS.get(each.type, "json"),
            required=each.required,
            value=submitted.get(each.name, "") if submitted is not None else default,
            options=each.options,
            max_length=each.max_length,
            error=errors.get(each.name, ""),
            default=default,
            hint=hints.get(each.name, ""),
            wait=wait.pk.hex,
        )


def _list_labels(form: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of each field by its name. The engine writes the forms of agents, in English."""
    own_label = {
        "question": _("Your answer"),
        "approval": _("Reason (optional)"),
        UNCERTAIN: _("If it happened: its outputs as JSON (optional)"),
    }.get(form.get("type", ""))
    return {
        str(item.get("name")): own_label or str(item.get("label") or item.get("name"))
        for item in form.get("inputs") or ()
    }


def _describe_field(item: Mapping[str, Any]) -> str:
    """Return what the form says about a field, on one line."""
    texts = [str(item.get("description") or "")]
    if choices := item.get("choices"):
        texts.append(_("One per line: %(choices)s") % {"choices": ", ".join(map(str, choices))})
    if example := item.get("example"):  # as it could be entered
        text = json.dumps(example, ensure_ascii=False)
        texts.append(_("Example: %(example)s") % {"example": text})
    return " ".join(text for text in texts if text)


def _format_default(value: Json) -> str:
    """Return the default as the control's text, and "" for a switch that is off."""
    return "" if value is None or value is False else format_value(value)


def _iter_pieces(content: str, fields: Mapping[str, AnswerField]) -> Iterator[Piece]:
    """Yield the text with the fields at their places; fields without a place come last."""
    remaining = dict(fields)
    for number, piece in enumerate(_PLACE.split(content)):
        if number % 2 == 0:
            if piece.strip():
                yield Piece(text=piece.strip("\n"))
        elif piece in remaining:
            yield Piece(field=remaining.pop(piece))
    yield from (Piece(field=each) for each in remaining.values())


def _build_buttons(form: Mapping[str, Any]) -> tuple[Button, ...]:
    styles = {str(item.get("id")): item.get("style") for item in form.get("actions") or ()}
    declining = {str(item.get("id")) for item in form.get("actions") or () if item.get("declines")}
    actions = list_actions(form)
    if not actions:
        return (Button("", _("Send"), "button-main"),)
    titles = _list_titles(form)
    return tuple(
        Button(name, titles[name], _BUTTONS.get(str(styles[name]), ""), name in declining)
        for name in actions
    )


def _describe_actions(form_type: str) -> dict[str, str]:
    """Return the titles of the buttons that the engine adds, which it writes in English."""
    if form_type == "approval":
        return {"allow": _("Allow"), "refuse": _("Refuse")}
    if form_type == UNCERTAIN:
        return {
            HAPPENED: _("It happened"),
            AGAIN: _("Call again"),
            STOP: _("Stop the run"),
        }
    return {}


def _list_titles(form: Mapping[str, Any]) -> dict[str, str]:
    titles = {**list_actions(form), **_describe_actions(str(form.get("type")))}
    if any(item.get("declines") for item in form.get("actions") or ()):  # a tool asks
        titles |= {"accept": _("Send"), "decline": _("Decline")}
    return titles


def _list_answers(wait: RunWait) -> tuple[tuple[str, str], ...]:
    form = wait.form or {}
    titles = _list_titles(form)
    labels = _list_labels(form)
    values = [
        (labels.get(name, name), _describe_value(value))
        for name, value in (wait.values or {}).items()
        if value not in (None, "")
    ]
    button = [(pgettext("to-do", "Answer"), titles[wait.action])] if wait.action in titles else []
    return (*button, *values)


def _describe_value(value: Json) -> str:
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    return format_value(value)


def _describe_outcome(run: Run, wait: RunWait, *, shows_names: bool) -> str:
    if wait.answered_at is not None and not wait.is_timed_out:
        name = name_answerers([wait]).get(wait.answered_by, "") if shows_names else ""
        if not name:
            return _("This has been answered.")
        return _("Answered by %(name)s.") % {"name": name}
    if run.has_ended:
        return _("The run has ended, so no answer is needed any more.")
    return _("The time to answer is over.")
