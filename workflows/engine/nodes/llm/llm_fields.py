"""The fields that all kinds with a model have in their forms."""

from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.texts import gettext_noop


MODEL_FIELD: Final = Field(
    "model",
    gettext_noop("Model"),
    Widget.MODEL,
    required=True,
    default={"provider": "offline", "name": "offline", "mode": "chat", "completion_params": {}},
)

WINDOW_FIELD: Final = Field(
    "memory",
    gettext_noop("Conversation memory window"),
    Widget.SECTION,
    help=gettext_noop("Sends earlier messages of the conversation."),
    fields=(
        Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
        Field(
            "variable_selector",
            gettext_noop("Messages variable"),
            Widget.SELECTOR,
            accepted_types=("array[any]", "array[object]", "array[string]"),
            help=gettext_noop("Without a variable, the turns of this conversation are used."),
        ),
        Field("window_size", gettext_noop("Max messages"), Widget.NUMBER, low=0),
    ),
)
