"""Answer: the text that a chat sends. Several answers of one run are joined in the order they complete."""

from collections.abc import Iterable, Sequence

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.initial_values import Surroundings
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, Mode, NodeSpec, Selector
from workflows.engine.language.templating import Segment, Template
from workflows.engine.language.values import is_file
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


class AnswerConfig(NodeConfig):
    answer: str = ""


class Answer(NodeKind[AnswerConfig, Template]):
    name = "answer"
    title = gettext_noop("Answer")
    description = gettext_noop("Replies in the chat")
    group = "flow"
    mode = Mode.CHAT
    palette_order = 30
    icon = "chat"
    family = "flow"
    dialects = ("dify", "xworkflow")
    config_model = AnswerConfig
    execution = Execution.RESPONSE
    fields = (
        Field(
            "answer",
            gettext_noop("Reply"),
            Widget.TEMPLATE,
            required=True,
            help=gettext_noop("Text before a variable streams immediately."),
            example="{{#llm.text#}}",
            empty_warning="Answer is empty",
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("answer"))]

    def prepare(self, spec: NodeSpec) -> Template:
        return Template.of(self.configure(spec).answer)

    def build_initial_data(self, text: Selector) -> Data:
        return {"answer": f"{{{{#{'.'.join(text)}#}}}}"}

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Return what was found in memory where no node before makes a text."""
        text = surroundings.text or surroundings.context or surroundings.message
        return self.build_initial_data(text) if text else {}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("answer", "string", gettext_noop("Reply text")),
            Output("files", "array[file]", gettext_noop("Files in the reply")),
        )

    def list_segments(self, prepared: Template) -> Sequence[Segment]:
        return prepared.segments

    def run(self, prepared: Template, ctx: NodeContext) -> NodeResult:
        files: list[Json] = []
        for selector in prepared.references:
            value = ctx.pool.get(selector)
            values = value if isinstance(value, list) else [value]
            files += [item for item in values if is_file(item)]
        return NodeResult({"answer": prepared.render_markdown(ctx.pool), "files": files})
