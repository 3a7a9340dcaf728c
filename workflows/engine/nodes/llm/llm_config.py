"""The settings of an LLM node: its model, its prompt, and the memory and messages that are added to the prompt."""

from typing import Any, Literal, TypeVar

from pydantic import Field

from workflows.engine.configuration import ConfigPart, ModelReference, NamedVariable, NodeConfig
from workflows.engine.kinds import NodeKind
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.memory_usage import MAX_RECENCY_DAYS
from workflows.engine.ports import Role


class ModelChoice(ModelReference):
    mode: str = "chat"

    @property
    def is_completion(self) -> bool:
        return self.mode == "completion"


class StructuredOutput(ConfigPart):
    def get_schema(self) -> dict[str, Any] | None:
        """Return ``schema``, which is a reserved name in pydantic."""
        return (self.model_extra or {}).get("schema")


class PromptMessage(ConfigPart):
    role: Role = "user"
    text: str = ""
    edition_type: str | None = None
    jinja2_text: str | None = None

    @property
    def is_jinja(self) -> bool:
        return self.edition_type == "jinja2"


class PromptConfig(ConfigPart):
    jinja2_variables: tuple[NamedVariable, ...] = ()


class ContextConfig(ConfigPart):
    enabled: bool = False
    variable_selector: tuple[str, ...] | None = None


class WindowSize(ConfigPart):
    enabled: bool = False
    size: int | None = None


class RolePrefix(ConfigPart):
    user: str = "Human"
    assistant: str = "Assistant"


class WindowConfig(ConfigPart):
    """Both dialects' ``memory``: Dify adds the chat's turns, and xworkflow the messages in a variable."""

    role_prefix: RolePrefix | None = None
    window: WindowSize = WindowSize()
    query_prompt_template: str | None = None
    enabled: bool = True
    window_size: int | None = None
    variable_selector: tuple[str, ...] | None = None


class EnhancedMemory(ConfigPart):
    enabled: bool = False
    scope: str = "conversation"
    query_selector: tuple[str, ...] | None = None
    top_k: int | None = Field(default=10, ge=1)
    filter: dict[str, Json] | None = None
    min_score: float | None = Field(default=None, ge=0, le=1)
    recency_days: float | None = Field(default=None, gt=0, le=MAX_RECENCY_DAYS)
    include_recent: bool = False
    include_profile: bool = False
    finds_former: bool = True
    injection_position: Literal["before_system", "after_system", "before_user"] = "after_system"
    format_template: str | None = None


class ImageVariable(ConfigPart):
    """The variable with the files, and how closely the model looks at their images."""

    variable_selector: tuple[str, ...] | None = None
    detail: Literal["auto", "low", "high"] | None = None

    @property
    def selector(self) -> tuple[str, ...]:
        """Return the variable, or that of the files of the message if none is set."""
        return tuple(filter(None, self.variable_selector or ())) or ("sys", "files")


class VisionConfig(ConfigPart):
    enabled: bool = False
    configs: ImageVariable | None = None

    def find_variable(self, model: ModelChoice) -> ImageVariable | None:
        """Return the variable with the images for the model, or None if it gets none."""
        if not self.enabled or model.is_completion:
            return None
        return self.configs or ImageVariable()


class ModelNodeConfig(NodeConfig):
    """The settings of every node that asks a model once."""

    model: ModelChoice
    memory: WindowConfig | None = None
    vision: VisionConfig | None = None

    @property
    def is_completion(self) -> bool:
        return self.model.is_completion

    @property
    def reads_turns(self) -> bool:
        """Return whether the prompt has the previous turns of the chat."""
        window = self.memory
        return window is not None and window.enabled and not window.variable_selector

    @property
    def image_variable(self) -> ImageVariable | None:
        """Return the variable with the images for the model, or None if it gets none."""
        return self.vision.find_variable(self.model) if self.vision else None

    def list_read_variables(self) -> list[tuple[str, ...]]:
        """Return the variables of the window and of the images."""
        window = self.memory.variable_selector if self.memory else None
        images = self.image_variable.selector if self.image_variable else None
        return [selector for selector in (window, images) if selector]


ConfigT = TypeVar("ConfigT", bound=ModelNodeConfig)


class ModelNode(NodeKind[ConfigT, ConfigT]):
    """A kind of node that asks a model once."""

    def reads_answers(self, spec: NodeSpec) -> bool:
        try:
            return self.configure(spec).reads_turns
        except ValueError:
            return False  # an incomplete draft, which cannot run

    def brings_untrusted_content(self, spec: NodeSpec) -> bool:
        """Return whether the model reads images, in which anybody may have written."""
        try:
            return self.configure(spec).image_variable is not None
        except ValueError:
            return False  # an incomplete draft, which cannot run


class LlmConfig(ModelNodeConfig):
    prompt_template: tuple[PromptMessage, ...] | PromptMessage = ()
    prompt_config: PromptConfig | None = None
    context: ContextConfig | None = None
    enhanced_memory: EnhancedMemory | None = None
    structured_output_switch_on: bool | None = False
    structured_output_enabled: bool | None = False
    structured_output: StructuredOutput | None = None
    reasoning_format: str | None = "separated"

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        template = self.prompt_template
        return (template,) if isinstance(template, PromptMessage) else template

    @property
    def jinja_variables(self) -> tuple[NamedVariable, ...]:
        return self.prompt_config.jinja2_variables if self.prompt_config else ()

    @property
    def json_schema(self) -> dict[str, Any] | None:
        is_on = self.structured_output_switch_on or self.structured_output_enabled
        return self.structured_output.get_schema() if is_on and self.structured_output else None
