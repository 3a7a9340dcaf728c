"""The settings of an agent: its model, its task, its tools, its memory and its limits."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from workflows.engine.answerers import MAX_ANSWERERS, Answerer
from workflows.engine.configuration import ConfigPart, NamedVariable, NodeConfig
from workflows.engine.language.content_marks.untrusted import ANSWERS
from workflows.engine.language.document import Json, Selector
from workflows.engine.language.templating import list_references
from workflows.engine.nodes.agent.foreign_agents import read_agent_data
from workflows.engine.nodes.llm.llm_config import (
    EnhancedMemory,
    ImageVariable,
    LlmConfig,
    ModelChoice,
    PromptConfig,
    PromptMessage,
    VisionConfig,
    WindowConfig,
)
from workflows.engine.nodes.memory.knowledge.config import KnowledgeBases
from workflows.engine.tool_calls import ToolReference, ToolSource


MemoryToolName = Literal[
    "recall",
    "remember",
    "forget",
    "search_pages",
    "write_page",
    "read_page",
    "add_source",
    "link_pages",
    "compile_page",
    "list_stale",
    "lint_pages",
    "wiki_log",
]

DEFAULT_ROUNDS: Final = 10
# With a to-do list, each to-do adds these to the default: a step, its retries, and one more.
DEFAULT_ROUNDS_PER_TODO: Final = 4
MAX_ROUNDS: Final = 100
DEFAULT_WINDOW: Final = 32_000  # tokens
MIN_WINDOW: Final = 1_000
DEFAULT_THRESHOLD: Final = 0.8
DEFAULT_RETRIES: Final = 2
DEFAULT_QUERY: Final = "{{#sys.query#}}"
# In a ``tools`` list: every tool of the provider.
ALL_TOOLS: Final = "*"

# A number of a form, in which an empty field means that there is no limit.
Limit = BeforeValidator(lambda value: None if value == "" else value)


# A list of workflows in a form, where a new row is still empty.
Slugs = BeforeValidator(
    lambda value: (
        [item for item in value if item != ""] if isinstance(value, list | tuple) else value or ()
    )
)


def _leave_out_nameless(value: Any) -> Any:  # Any: JSON
    """Return the tools without those that have no name: rows of a form in which nothing was chosen yet."""
    if not isinstance(value, list | tuple):
        return value or ()
    return [item for item in value if not isinstance(item, dict) or item.get("name")]


class AgentTool(ConfigPart):
    """A tool that the model may call. ``settings`` are arguments that the author sets and the model does not see."""

    source: ToolSource = "builtin"
    provider: str = ""
    name: str = Field(min_length=1)
    description: str = ""  # replaces the description of the tool
    enabled: bool = True
    settings: dict[str, Any] = {}
    needs_approval: bool = False
    title: str = ""  # another name that a model may write, such as a Chinese one
    private: bool = False  # not offered to workflows that merge this one

    @property
    def setting_selectors(self) -> tuple[Selector, ...]:
        """Return the variables that settings of the type ``variable`` name. One without a variable yet names none."""
        selectors = (read_setting_selector(setting) for setting in self.settings.values())
        return tuple(filter(None, selectors))

    @property
    def blank_settings(self) -> tuple[str, ...]:
        """Return the names of the settings of the type ``variable`` that name none."""
        selectors = {name: read_setting_selector(each) for name, each in self.settings.items()}
        return tuple(name for name, selector in selectors.items() if selector == ())

    @property
    def text_selectors(self) -> tuple[Selector, ...]:
        """Return the variables that the texts of settings refer to."""
        values = [
            setting["value"] if is_typed_value(setting) else setting
            for setting in self.settings.values()
            if not (is_typed_value(setting) and setting["type"] == "constant")
        ]
        texts = [value for value in values if isinstance(value, str)]
        return tuple(selector for text in texts for selector in list_references(text))

    @property
    def reference(self) -> ToolReference:
        return ToolReference(self.source, self.name, self.provider)


class AgentConfig(NodeConfig):
    model: ModelChoice
    strategy: str = "function_calling"
    instruction: str = ""
    instruction_format: Literal["basic", "jinja2"] = "basic"
    prompt_config: PromptConfig | None = None
    query: str = DEFAULT_QUERY
    tools: Annotated[tuple[AgentTool, ...], BeforeValidator(_leave_out_nameless)] = ()
    merge: Annotated[tuple[str, ...], Slugs] = ()  # the workflows whose functions it calls
    memory_tools: dict[MemoryToolName, tuple[str, ...]] = {}  # the scopes of each allowed tool
    knowledge_bases: KnowledgeBases = ()  # that the tool search_pages searches
    memory: WindowConfig | None = None
    vision: VisionConfig | None = None
    enhanced_memory: EnhancedMemory | None = None
    # None: ``DEFAULT_ROUNDS``, and more with a to-do list.
    max_rounds: Annotated[int | None, Limit] = Field(default=None, ge=1, le=MAX_ROUNDS)
    max_tokens: Annotated[int | None, Limit] = Field(default=None, ge=1)
    max_cost: Annotated[float | None, Limit] = Field(default=None, gt=0)  # USD
    timeout_seconds: Annotated[float | None, Limit] = Field(default=None, gt=0)
    # Of the strategy "todo": when a todo counts as done, and how often a failed action is tried again.
    completion_threshold: float = Field(default=DEFAULT_THRESHOLD, gt=0, le=1)
    max_action_retries: int = Field(default=DEFAULT_RETRIES, ge=0, le=10)
    # Tokens. When the messages get longer, older results of tools are shortened.
    context_window: Annotated[
        int, BeforeValidator(lambda value: DEFAULT_WINDOW if value in ("", None) else value)
    ] = Field(default=DEFAULT_WINDOW, ge=MIN_WINDOW)
    approval_timeout_hours: Annotated[float | None, Limit] = Field(default=None, gt=0)
    approvers: tuple[Answerer, ...] = Field(default=(), max_length=MAX_ANSWERERS)

    @model_validator(mode="before")
    @classmethod
    def _read_foreign_forms(cls, data: Any) -> Any:
        return read_agent_data(data)

    @property
    def enabled_tools(self) -> tuple[AgentTool, ...]:
        return tuple(tool for tool in self.tools if tool.enabled)

    @property
    def all_tools(self) -> tuple[AgentTool, ...]:
        """Return the enabled tools, and an entry for all functions of each merged workflow."""
        merged = (
            AgentTool(source="workflow", provider=slug, name=ALL_TOOLS)
            for slug in dict.fromkeys(self.merge)
        )
        return (*self.enabled_tools, *merged)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """Return what the model is given: the variables in its texts, those that the step looks up, and earlier answers.

        What the settings of its tools are is part of the tools' results.
        """
        texts = (self.instruction, self.query)
        in_texts = (selector for text in texts for selector in list_references(text))
        in_settings = (selector for tool in self.enabled_tools for selector in tool.text_selectors)
        answers = ((ANSWERS,),) if self.reads_answers else ()
        return (*in_texts, *in_settings, *self.looked_up_selectors, *answers)

    @property
    def looked_up_selectors(self) -> tuple[Selector, ...]:
        """Return the variables that the step looks up itself."""
        window, memory = self.memory, self.enhanced_memory
        selectors: list[Selector | None] = [
            window.variable_selector if window else None,
            memory.query_selector if memory else None,
            self.image_variable.selector if self.image_variable else None,
            *(variable.value_selector for variable in self._jinja_variables),
            *(selector for tool in self.enabled_tools for selector in tool.setting_selectors),
        ]
        return tuple(filter(None, selectors))

    @property
    def reads_answers(self) -> bool:
        """Return whether earlier answers of the conversation are part of the prompt."""
        return self.memory is not None and self.memory.enabled and not self.memory.variable_selector

    @property
    def has_memory(self) -> bool:
        """Return whether the agent is given memories of people, or may look for them and change them."""
        is_given = self.enhanced_memory is not None and self.enhanced_memory.enabled
        return is_given or any(self.memory_tools.values())

    @property
    def image_variable(self) -> ImageVariable | None:
        """Return the variable with the images for the model, or None if it gets none."""
        return self.vision.find_variable(self.model) if self.vision else None

    @property
    def _jinja_variables(self) -> tuple[NamedVariable, ...]:
        return self.prompt_config.jinja2_variables if self.prompt_config else ()

    def build_prompt_config(self) -> LlmConfig:
        """Return the settings of an LLM node whose prompt is the agent's first prompt, without its images."""
        is_jinja = self.instruction_format == "jinja2"
        instruction = PromptMessage(
            role="system",
            text=self.instruction,
            edition_type="jinja2" if is_jinja else "basic",
            jinja2_text=self.instruction if is_jinja else None,
        )
        return LlmConfig(
            model=self.model,
            prompt_template=(instruction, PromptMessage(role="user", text=self.query)),
            prompt_config=self.prompt_config,
            memory=self._build_window(),
            enhanced_memory=self.enhanced_memory,
        )

    def _build_window(self) -> WindowConfig | None:
        """Return the window of the conversation, which ends with the agent's query."""
        if self.memory is None or self.memory.variable_selector:
            return self.memory
        return self.memory.model_copy(update={"query_prompt_template": self.query})


def read_setting_selector(setting: Json) -> Selector | None:
    """Return the variable that a setting names: none for one that was not chosen, and None for a setting of another type."""
    if not is_typed_value(setting) or setting["type"] != "variable":
        return None
    value = setting["value"]
    is_selector = isinstance(value, list | tuple) and len(value) > 1
    return tuple(map(str, value)) if is_selector else ()


def is_typed_value(value: Json) -> bool:
    """Return whether a value has Dify's form {type: constant | variable | mixed, value}."""
    return (
        isinstance(value, dict)
        and value.get("type") in ("constant", "variable", "mixed")
        and "value" in value
    )
