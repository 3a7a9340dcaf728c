"""Adds images to the user's last message, for models that read them (``vision``)."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute, is_file
from workflows.engine.nodes.llm.llm_config import ImageVariable
from workflows.engine.ports import ImagePart, Message


MAX_IMAGES: Final = 20
MAX_IMAGE_BYTES: Final = 20 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 40 * 1024 * 1024
_MAX_SHOWN_URL: Final = 200  # characters in the record of the step, which needn't repeat an image
_SCHEMES: Final = ("https://", "http://", "data:image/")
# The types that models read, by the first bytes of a content. A file's own word for its type is not asked.
_SIGNATURES: Final[tuple[tuple[bytes, int, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)


async def add_images(
    variable: ImageVariable, ctx: NodeContext, messages: list[Message]
) -> list[Message]:
    """Return the messages with the images of the files in the variable. Files of other types are left out.

    Stored images are sent as data URLs, images on the web by their address. Whatever stands in an image counts as text
    from outside, like that of a document, and the step records that it was given some. Raises NodeFailed for one that no
    model can read, and for more than may be sent.
    """
    value = ctx.pool.get_or_none(variable.selector)
    files = [file for file in (value if isinstance(value, list) else [value]) if _is_image(file)]
    if not files:
        return messages
    if len(files) > MAX_IMAGES:
        message = f"There are {len(files)} images; at most {MAX_IMAGES} can be sent to the model"
        raise NodeFailed("ImageInvalid", message)
    images: list[ImagePart] = []
    size = 0
    for file in files:
        images.append(await _build_part(file, variable.detail or "high", ctx))
        size += len(images[-1].url)
        if size > MAX_TOTAL_BYTES * 4 // 3:
            megabytes = MAX_TOTAL_BYTES // 1024**2
            message = f"The images have more than {megabytes} MB together; send fewer of them"
            raise NodeFailed("ImageInvalid", message)
    ctx.record_untrusted_keys([f"image:{name}" for name in describe_images(images)])
    return _attach(tuple(images), messages)


def describe_images(images: Sequence[ImagePart]) -> list[Json]:
    """Return the names or URLs of images for the record of a step; the content of data URLs is left out."""
    return [image.name or _shorten(image.url) for image in images]


def _shorten(url: str) -> str:
    return url if len(url) <= _MAX_SHOWN_URL else f"{url[:_MAX_SHOWN_URL]}…"


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


async def _build_part(
    file: Mapping[str, Json], detail: Literal["auto", "low", "high"], ctx: NodeContext
) -> ImagePart:
    if get_file_attribute(file, "related_id") is None:
        return ImagePart(_get_url(file), detail)
    if ctx.ports.files is None:
        raise PortMissing("files")
    content = await ctx.ports.files.read(file, max_bytes=MAX_IMAGE_BYTES)
    media_type = _find_media_type(content)
    if media_type is None:
        message = f"{_get_name(file)} is not a PNG, JPEG, GIF or WebP image, which models read"
        raise NodeFailed("ImageInvalid", message)
    data = base64.b64encode(content).decode()
    return ImagePart(f"data:{media_type};base64,{data}", detail, _get_name(file))


def _find_media_type(content: bytes) -> str | None:
    return next(
        (name for mark, start, name in _SIGNATURES if content.startswith(mark, start)), None
    )


def _get_url(file: Mapping[str, Json]) -> str:
    url = str(get_file_attribute(file, "url") or "")
    if not url.startswith(_SCHEMES):
        message = f"The image {_get_name(file)} has no URL that a model can read"
        raise NodeFailed("ImageInvalid", message)
    return url


def _get_name(file: Mapping[str, Json]) -> str:
    return str(get_file_attribute(file, "name") or "without a name")[:100]
