"""The page around the canvas: panels and the bar at the top."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("Saved"),
    _("Saving…"),
    _("Offline: kept here, sent when the server answers"),
    _("The same thing was changed twice"),
    _("Not accepted"),
    _("Undo"),
    _("Redo"),
    _("Undo {what}"),
    _("Redo {what}"),
    _("{n} problems"),
    _("One problem"),
    _("No problems"),
)
