"""The page around the canvas: panels and the bar at the top."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("Saved"),
    _("Saving…"),
    _("Offline. Edits that wait: {n}"),
    _("Signed out. Edits that wait: {n}"),
    _("Offline: kept here, sent when the server answers"),
    _("The same thing was changed twice"),
    _("Undo"),
    _("Redo"),
    _("Undo {what}"),
    _("Redo {what}"),
    _("{n} problems"),
    _("One problem"),
    _("No problems"),
    _("Start was left out: the workflow has one"),
    _("Not published: some edits haven't reached the server yet"),
    _("That did not work"),
)
