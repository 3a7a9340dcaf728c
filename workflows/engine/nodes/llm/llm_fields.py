"""The fields that all kinds with a model have in their forms."""

from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.texts import gettext_noop


MODEL_FIELD: Final = Field(
    "model",
    gettext_noop("Model"),
    Widget.MODEL,
    required=True,
    # The team's default model, or the offline demo model as long as the team has none.
    default={"provider": "default", "name": "default", "mode": "chat", "completion_params": {}},
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

VISION_FIELD: Final = Field(
    "vision",
    gettext_noop("Images"),
    Widget.SECTION,
    help=gettext_noop("Sends images with the last message, to a model that reads images."),
    fields=(
        Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
        Field(
            "configs",
            gettext_noop("Images to send"),
            Widget.SECTION,
            fields=(
                Field(
                    "variable_selector",
                    gettext_noop("Files variable"),
                    Widget.SELECTOR,
                    accepted_types=("file", "array[file]"),
                    help=gettext_noop("Without a variable, the files of the message are used."),
                ),
                Field(
                    "detail",
                    gettext_noop("Detail"),
                    Widget.CHOICE,
                    default="high",
                    choices=(
                        ("high", gettext_noop("High")),
                        ("low", gettext_noop("Low")),
                        ("auto", gettext_noop("Automatic")),
                    ),
                ),
            ),
        ),
    ),
)
