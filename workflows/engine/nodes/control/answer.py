"""Answer: what a chat says. Several answers of one run are joined in the order they complete."""

from collections.abc import Sequence

from workflows.engine.document import Json, NodeSpec
from workflows.engine.kinds import (
    Execution,
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.templating import Segment, Template
from workflows.engine.values import is_file


class AnswerConfig(NodeConfig):
    answer: str = ""


class Answer(NodeKind[AnswerConfig, Template]):
    name = "answer"
    title = gettext_noop("Answer")
    description = gettext_noop("Says something in the chat.")
    group = "flow"
    config_model = AnswerConfig
    execution = Execution.RESPONSE
    fields = (
        Field(
            "answer",
            gettext_noop("Answer"),
            Widget.TEMPLATE,
            required=True,
            help=gettext_noop("Streams: what stands before a variable is said while it is made."),
            example="{{#llm.text#}}",
            wanted="The answer is empty: nothing is said",
        ),
    )

    def prepare(self, spec: NodeSpec) -> Template:
        return Template.of(self.configure(spec).answer)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("answer", "string", gettext_noop("What was said")),
            Output("files", "array[file]", gettext_noop("Files among the variables")),
        )

    def segments(self, prepared: Template) -> Sequence[Segment]:
        return prepared.segments

    def run(self, prepared: Template, ctx: NodeContext) -> NodeResult:
        files: list[Json] = []
        for selector in prepared.references:
            value = ctx.pool.get(selector)
            found = value if isinstance(value, list) else [value]
            files += [item for item in found if is_file(item)]
        return NodeResult({"answer": prepared.markdown(ctx.pool), "files": files})
