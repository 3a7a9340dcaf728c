"""Strings of the page around the canvas: panels, top bar, history, first steps and tour."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("Saved"),
    _("Saving…"),
    _("Offline. Unsent edits: {n}"),
    _("Signed out. Unsent edits: {n}"),
    _("Offline. Edits are saved here and sent when you are back online"),
    _("Conflicting edits"),
    _("Undo"),
    _("Redo"),
    _("Undo {what}"),
    _("Redo {what}"),
    _("{n} problems"),
    _("1 problem"),
    _("No problems"),
    _("Start node skipped (only one allowed)"),
    _("Not published: some edits are not saved yet"),
    _("Something went wrong"),
    _("Show first steps"),
    _("Start tour"),
    _("Completed: {step}"),
    _("The history could not be loaded"),
    _("Show history"),
)
