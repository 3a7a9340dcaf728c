"""Strings of the canvas: results of gestures, reasons why a connection is refused, states of nodes."""

from django.utils.translation import gettext_lazy as _


RUN_STATES = (
    _("Queued"),
    _("Running"),
    _("Succeeded"),
    _("Failed"),
    _("Skipped"),
    _("Paused"),
    _("Retrying"),
)

TEXTS = (
    _("Only nodes can be connected."),
    _("A node can't be connected to itself."),
    _("An edge can't cross the border of a container."),
    _("This node has no input."),
    _("This node has no output."),
    _("These nodes are already connected."),
    _("This connection would create a cycle. Use a Loop node to repeat steps."),
    _("Connected {from} to {to}"),
    _("Connect {from} to {to}"),
    _("Disconnected {from} from {to}"),
    _("Disconnect {from} from {to}"),
    _("Insert {name}"),
    _("Move {name}"),
    _("Resize {name}"),
    _("{n} nodes"),
    _("Collapsed {name}"),
    _("Expanded {name}"),
    _("Workflow"),
    _("Whole workflow"),
    _("Inside {name}"),
    _("Waits for {names}. Skipped branches don't count."),
    _("Drag to pan"),
    _("Drag to select"),
    *RUN_STATES,
)
