"""Adds images to the user's last message, for models that read them (``vision``)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute, is_file
from workflows.engine.nodes.llm.llm_config import ImageVariable
from workflows.engine.ports import ImagePart, Message


MAX_IMAGES: Final = 20
_MAX_SHOWN_URL: Final = 200  # characters in the record of the step, which needn't repeat an image
_SCHEMES: Final = ("https://", "http://", "data:image/")


def add_images(variable: ImageVariable, ctx: NodeContext, messages: list[Message]) -> list[Message]:
    """Return the messages with the images of the files in the variable. Files of other types are left out.

    Raises NodeFailed for an image without a URL that the model's endpoint could read.
    """
    value = ctx.pool.get_or_none(variable.selector)
    files = value if isinstance(value, list) else [value]
    detail = variable.detail or "high"
    images = tuple(ImagePart(_get_url(file), detail) for file in files if _is_image(file))
    if not images:
        return messages
    if len(images) > MAX_IMAGES:
        message = f"There are {len(images)} images; at most {MAX_IMAGES} can be sent to the model"
        raise NodeFailed("ImageInvalid", message)
    return _attach(images, messages)


def describe_images(images: Sequence[ImagePart]) -> list[Json]:
    """Return the URLs of images for the record of a step; the content of data URLs is left out."""
    return [
        url if len(url) <= _MAX_SHOWN_URL else f"{url[:_MAX_SHOWN_URL]}…"
        for url in (image.url for image in images)
    ]


def _attach(images: tuple[ImagePart, ...], messages: list[Message]) -> list[Message]:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            message = replace(messages[index], images=(*messages[index].images, *images))
            return [*messages[:index], message, *messages[index + 1 :]]
    return [*messages, Message("user", "", images=images)]


def _is_image(file: Json) -> bool:
    if not is_file(file):
        return False
    mime_type = get_file_attribute(file, "mime_type")
    return file.get("type") == "image" or str(mime_type or "").startswith("image/")


def _get_url(file: Json) -> str:
    url = str(get_file_attribute(file, "url") or "")
    if not url.startswith(_SCHEMES):
        name = str(get_file_attribute(file, "name") or "without a name")[:100]
        raise NodeFailed("ImageInvalid", f"The image {name} has no URL that a model can read")
    return url
