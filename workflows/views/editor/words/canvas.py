"""The canvas: what a gesture did, why a connection can't be, how a node is doing."""

from django.utils.translation import gettext_lazy as _


TEXTS = (
    _("Only nodes can be connected."),
    _("A node can't follow itself."),
    _("An edge can't cross the border of a container."),
    _("Nothing leads into this node."),
    _("Nothing leads out of this node."),
    _("These two are connected already."),
    _("That would go round in a circle. Repeat with a loop instead."),
    _("Connected {from} to {to}"),
    _("Connect {from} to {to}"),
    _("Disconnected {from} from {to}"),
    _("Disconnect {from} from {to}"),
    _("Insert {name}"),
    _("Move {name}"),
    _("Resize {name}"),
    _("{n} nodes"),
    _("Folded: {name}"),
    _("Unfolded: {name}"),
    _("Workflow"),
    _("The whole workflow"),
    _("Inside {name}"),
    _("Waits for: {names}. Branches that aren't taken don't count."),
    _("Dragging the background pans"),
    _("Dragging the background chooses"),
    _("waiting"),
    _("running"),
    _("done"),
    _("failed"),
    _("skipped"),
    _("paused"),
    _("trying again"),
)
