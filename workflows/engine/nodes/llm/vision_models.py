"""The well-known models that read texts alone, so that the editor can warn about images that they would not see.

A model that is not listed may read images or not; then only its provider knows.
"""

import re
from collections.abc import Iterator
from typing import Final

from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.llm.llm_config import ModelChoice, VisionConfig


# Parts of the names of models that do read images, although another part says the opposite.
_SEES: Final = re.compile(
    r"vision|[-_.]vl|vl[-_]|llava|pixtral|omni|-4v|\dv\b|internvl|minicpm-v|multimodal|image", re.I
)
_READS_TEXT_ALONE: Final = re.compile(
    r"(?:^|/)(?:"
    r"deepseek-(?:chat|reasoner|coder|v[0-9.]+|r1)"
    r"|gpt-3\.5|gpt-4(?:-32k|-0613|-0314)?$|o1-mini|o1-preview|o3-mini|text-davinci|babbage|davinci"
    r"|claude-(?:2|instant)"
    r"|qwen(?:-(?:plus|turbo|max|long|coder)|[0-9.]*-(?:coder|math|[0-9]+b))|qwq"
    r"|mistral-(?:tiny|7b|nemo)|mixtral|open-mi|codestral|ministral"
    r"|llama-?[23](?:\.[013])?(?:[-:]|$)|codellama|phi-?[23](?:[-:]|$)|gemma-?[12]?(?:[-:]|$)"
    r"|glm-4(?:-(?:plus|air|flash|long|0520))?$|moonshot-v1-\d+k$|kimi-k2|ernie-(?:bot|speed|lite)|hunyuan-(?:lite|pro|standard)"
    r"|command-r|yi-(?:34b|lightning|large)|baichuan|abab|sonar"
    r")",
    re.I,
)


def sees_no_images(model: str) -> bool:
    """Return whether a model is known to read texts alone."""
    return bool(_READS_TEXT_ALONE.search(model)) and not _SEES.search(model)


def find_vision_problems(
    node_id: str, model: ModelChoice, vision: VisionConfig | None
) -> Iterator[Problem]:
    """Yield a warning if images are to be sent to a model that doesn't see them, or in a mode without images."""
    if vision is None or not vision.enabled:
        return
    name = model.name
    if model.is_completion:
        message = f"Images are not sent to {name}, because it is used as a completion model"
    elif sees_no_images(name):
        message = f"{name} reads no images; choose a model that does, or switch off Images"
    else:
        return
    yield build_warning("llm.vision", message, node=node_id, field="vision.enabled")
