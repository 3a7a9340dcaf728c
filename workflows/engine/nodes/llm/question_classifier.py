"""Question classifier: asks a model to which class a text belongs, and takes the branch of that class."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import Field as Bounded

from workflows.engine.appearance import Data, HandleLabel, get_model_name, iter_objects
from workflows.engine.configuration import ConfigPart, Field, Widget
from workflows.engine.kinds import Execution, NodeContext, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template
from workflows.engine.language.variables import VariablePool
from workflows.engine.model_records import describe_usage
from workflows.engine.nodes.llm.class_answers import NamedClass, Uncertainty, find_class
from workflows.engine.nodes.llm.images import add_images
from workflows.engine.nodes.llm.llm_config import ModelNode, ModelNodeConfig
from workflows.engine.nodes.llm.llm_fields import MODEL_FIELD, VISION_FIELD, WINDOW_FIELD
from workflows.engine.nodes.llm.model_calls import (
    build_request,
    call_model,
    describe_request,
)
from workflows.engine.nodes.llm.prompt_messages import load_history
from workflows.engine.nodes.llm.task_prompts import build_classifier_prompt, build_completion
from workflows.engine.nodes.llm.vision_models import find_vision_problems
from workflows.engine.ports import ModelRequest
from workflows.engine.runtime.step_records import StepError
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


# The handle for texts that fit no class, and what the outputs say then. It comes from xworkflow.
DEFAULT_CLASS: Final = "default"
# The output that says why the answer left the class open; null if it did not.
UNCERTAINTY: Final = "uncertainty"


class TextClass(ConfigPart):
    id: str = Bounded(coerce_numbers_to_str=True)
    name: str = ""
    label: str | None = None


class ClassifierConfig(ModelNodeConfig):
    query_variable_selector: tuple[str, ...] = ()
    classes: tuple[TextClass, ...] = Bounded(min_length=1)
    default_branch: bool = False
    instruction: str | None = None
    instructions: str | None = None  # the name in old documents


class QuestionClassifier(ModelNode[ClassifierConfig]):
    name = "question-classifier"
    title = gettext_noop("Question classifier")
    description = gettext_noop("Takes the branch of the class that a model chooses")
    group = "ai"
    palette_order = 20
    icon = "classify"
    family = "model"
    dialects = ("dify", "xworkflow")
    config_model = ClassifierConfig
    execution = Execution.BRANCH
    has_effect = True
    calls_outside = True
    records_untrusted_content = True
    retry = Retry(max_retries=3, interval_ms=1000)
    fields = (
        MODEL_FIELD,
        Field("query_variable_selector", gettext_noop("Text"), Widget.SELECTOR, required=True,
              help=gettext_noop("The question or other text to classify.")),
        Field("classes", gettext_noop("Classes"), Widget.CLASSES, required=True,
              help=gettext_noop("Describe each class in a few words. Each has a branch of its own."),
              default=[{"id": "1", "name": ""}, {"id": "2", "name": ""}],
              example=[{"id": "1", "name": "Billing"}, {"id": "2", "name": "Technical support"}]),
        Field("default_branch", gettext_noop("Branch for other texts"), Widget.SWITCH,
              help=gettext_noop("Taken if no class fits, or the answer names several. Without it, the first class is, and the step says so.")),
        Field("instruction", gettext_noop("Instructions"), Widget.TEMPLATE,
              help=gettext_noop("How to decide when several classes fit.")),
        WINDOW_FIELD,
        VISION_FIELD,
    )  # fmt: skip

    def build_initial_data(self, text: Selector) -> Data:
        return {"query_variable_selector": [*text]}

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_model_name(data.get("model"))]

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        counts = Counter(text_class.id for text_class in config.classes)
        for index, text_class in enumerate(config.classes):
            field = f"classes.{index}.id"
            if counts[text_class.id] > 1:
                message = f"Several classes have the id {text_class.id}"
                problems.append(Problem("classes.duplicate", message, spec.id, field))
            elif config.default_branch and text_class.id == DEFAULT_CLASS:
                message = f"The id {DEFAULT_CLASS} is that of the branch for other texts"
                problems.append(Problem("classes.reserved", message, spec.id, field))
        return [*problems, *find_vision_problems(spec.id, config.model, config.vision)]

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        config = self.configure(spec)
        default = (DEFAULT_CLASS,) if config.default_branch else ()
        return (*(text_class.id for text_class in config.classes), *default)

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        labels = {
            str(text_class.get("id")): _label_class(text_class, number)
            for number, text_class in enumerate(iter_objects(data.get("classes")), start=1)
        }
        default = HandleLabel(Phrase(gettext_noop("Otherwise")))
        return {**labels, DEFAULT_CLASS: default} if data.get("default_branch") else labels

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        outputs = (
            Output("class_name", "string", gettext_noop("Name of the class")),
            Output("class_label", "string", gettext_noop("Short name of the class")),
            Output("class_id", "string", gettext_noop("Id of the class")),
            Output(UNCERTAINTY, "string", gettext_noop("If the answer names no class or several: which of both")),
            Output("usage", "object", gettext_noop("Prompt and completion tokens")),
        )  # fmt: skip
        if not self.configure(spec).default_branch:
            return outputs
        return (*outputs, Output("category_id", "string", gettext_noop("As class_id")))

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return tuple(filter(None, (config.query_variable_selector, *config.list_read_variables())))

    async def run(self, prepared: ClassifierConfig, ctx: NodeContext) -> NodeResult:
        classes = _render_classes(prepared, ctx.pool)
        request = await _build_request(prepared, classes, ctx)
        ctx.record_inputs(describe_request(prepared.model, request))
        answer = await call_model(request, ctx)
        chosen, uncertainty = _choose_class(
            answer.text, classes, has_default=prepared.default_branch
        )
        outputs: dict[str, Json] = {
            "class_name": chosen.name,
            "class_label": chosen.label,
            "class_id": chosen.id,
            UNCERTAINTY: uncertainty and uncertainty.value,
            "usage": describe_usage(answer.usage),
        }
        if prepared.default_branch:
            outputs["category_id"] = (
                chosen.id
            )  # the name of xworkflow, whose nodes have this branch
        return NodeResult(
            outputs,
            handle=chosen.id,
            usage=answer.usage,
            shortfall=None if prepared.default_branch else _build_shortfall(chosen, uncertainty),
        )

    async def preview_inputs(self, prepared: ClassifierConfig, ctx: NodeContext) -> dict[str, Json]:
        request = await _build_request(prepared, _render_classes(prepared, ctx.pool), ctx)
        return describe_request(prepared.model, request)


def _label_class(text_class: Data, number: int) -> HandleLabel:
    name = as_text(text_class.get("name")) or as_text(text_class.get("label"))
    return HandleLabel(text=[name or Phrase(gettext_noop("Class %(number)s"), {"number": number})])


def _render_classes(config: ClassifierConfig, pool: VariablePool) -> list[TextClass]:
    """Return the classes with their references replaced, and with a label each."""
    return [
        text_class.model_copy(
            update={
                "name": Template.of(text_class.name).render_text(pool),
                "label": text_class.label or f"CLASS {number}",
            }
        )
        for number, text_class in enumerate(config.classes, start=1)
    ]


async def _build_request(
    config: ClassifierConfig, classes: Sequence[TextClass], ctx: NodeContext
) -> ModelRequest:
    text = as_text(ctx.pool.get_or_none(config.query_variable_selector))
    instruction = config.instruction or config.instructions or ""
    messages = build_classifier_prompt(
        text,
        [(text_class.id, text_class.name) for text_class in classes],
        default=DEFAULT_CLASS if config.default_branch else None,
        instruction=Template.of(instruction).render_text(ctx.pool),
        history=await load_history(config.memory, ctx),
    )
    if config.is_completion:
        messages = build_completion(messages)
    if config.image_variable:
        messages = await add_images(config.image_variable, ctx, messages)
    schema = _build_schema(classes, has_default=config.default_branch)
    return build_request(config.model, messages, ctx, json_schema=schema, subject=text)


def _build_schema(classes: Sequence[TextClass], *, has_default: bool) -> dict[str, Any]:
    """Return the schema of the answer, which leaves a model no other choice than the classes."""
    names = [text_class.name for text_class in classes]
    ids = [
        {"type": "string", "const": text_class.id, "title": text_class.name}
        for text_class in classes
    ]
    if has_default:
        names.append(DEFAULT_CLASS)
        ids.append({"type": "string", "const": DEFAULT_CLASS, "title": DEFAULT_CLASS})
    return {
        "type": "object",
        "properties": {
            "category_name": {"type": "string", "enum": [*dict.fromkeys(names)]},
            "category_id": {"anyOf": ids},
        },
        "required": ["category_name", "category_id"],
        "additionalProperties": False,
    }


def _choose_class(
    answer: str, classes: Sequence[TextClass], *, has_default: bool
) -> tuple[TextClass, Uncertainty | None]:
    """Return the class that an answer names. If it names none or several, the default one or else the first, and why."""
    default = TextClass(id=DEFAULT_CLASS, name=DEFAULT_CLASS, label=DEFAULT_CLASS)
    choices = [*classes, default] if has_default else [*classes]
    named = find_class(answer, [NamedClass(choice.id, choice.name) for choice in choices])
    if isinstance(named, Uncertainty):
        return default if has_default else classes[0], named
    return next(choice for choice in choices if choice.id == named), None


def _build_shortfall(chosen: TextClass, uncertainty: Uncertainty | None) -> StepError | None:
    """Return what the step says where the first class was taken as a guess."""
    if uncertainty is None:
        return None
    named = _NAMED_CLASSES[uncertainty]
    message = f"The model named {named} of the classes, so the first one was taken: {chosen.name}"
    return StepError("ClassificationUnsure", message)


_NAMED_CLASSES: Final = {Uncertainty.NO_CLASS: "none", Uncertainty.SEVERAL_CLASSES: "several"}
