"""Document extractor: takes the text out of a document, or out of each document in a list."""

from collections.abc import Iterable, Mapping
from typing import Final

from workflows.engine.appearance import Data, get_variable_name
from workflows.engine.configuration import Field, NodeConfig, Widget
from workflows.engine.errors import NodeFailed, PortMissing
from workflows.engine.files.ports import DocumentRequest
from workflows.engine.initial_values import Surroundings
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.values import ValueType, get_file_attribute, is_file
from workflows.engine.texts import Text, gettext_noop


MAX_DOCUMENT_BYTES: Final = 20 * 1024 * 1024
MAX_CHARACTERS: Final = 4_000_000  # of all documents of a step together


class DocumentConfig(NodeConfig):
    variable_selector: tuple[str, ...] = ()
    is_array_file: bool = False


class DocumentExtractor(NodeKind[DocumentConfig, DocumentConfig]):
    name = "document-extractor"
    title = gettext_noop("Document extractor")
    description = gettext_noop("Takes the text out of documents")
    group = "data"
    palette_order = 45
    icon = "file"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = DocumentConfig
    has_untrusted_outputs = True
    fields = (
        Field(
            "variable_selector",
            gettext_noop("Document"),
            Widget.SELECTOR,
            required=True,
            accepted_types=("file", "array[file]"),
            help=gettext_noop(
                "A file or a list of files: PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, HTML, Markdown, CSV, mail "
                "or text."
            ),
        ),
        Field(
            "is_array_file",
            gettext_noop("List of files"),
            Widget.SWITCH,
            default=False,
            help=gettext_noop("Then the output is a list of texts."),
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_variable_name(data.get("variable_selector"))]

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        found = surroundings.find_value((str(ValueType.FILE), str(ValueType.ARRAY_FILE)))
        return {"is_array_file": found.type == ValueType.ARRAY_FILE} if found else {}

    def find_text_output(self, spec: NodeSpec) -> str:
        return "text"

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        is_list = self.configure(spec).is_array_file
        return (
            Output(
                "text",
                "array[string]" if is_list else "string",
                gettext_noop("Text of each document") if is_list else gettext_noop("Text"),
                example=["Minutes of the meeting …"] if is_list else "Minutes of the meeting …",
            ),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selector = self.configure(spec).variable_selector
        return (selector,) if selector else ()

    async def run(self, prepared: DocumentConfig, ctx: NodeContext) -> NodeResult:
        if not prepared.variable_selector:
            raise NodeFailed("VariableNotFound", "Document: choose a variable")
        value = ctx.pool.require(prepared.variable_selector)
        ctx.record_inputs({"variable_selector": value})
        if is_file(value):
            text = await _extract(value, ctx)
            # Old documents may have a single file where they say that there is a list.
            return NodeResult({"text": [text] if prepared.is_array_file else text})
        if not isinstance(value, list) or not all(map(is_file, value)):
            path = ".".join(prepared.variable_selector)
            raise NodeFailed("FileInvalid", f"{path} is neither a file nor a list of files")
        texts: list[str] = []
        for file in value:
            texts.append(await _extract(file, ctx))
            if sum(map(len, texts)) > MAX_CHARACTERS:
                message = f"The documents have more than {MAX_CHARACTERS:,} characters together"
                raise NodeFailed("DocumentTooLong", message)
        return NodeResult({"text": texts})


async def _extract(file: Mapping[str, Json], ctx: NodeContext) -> str:
    if ctx.ports.files is None or ctx.ports.documents is None:
        raise PortMissing("files" if ctx.ports.files is None else "documents")
    name = str(get_file_attribute(file, "name") or "The file")
    content = await ctx.ports.files.read(file, max_bytes=MAX_DOCUMENT_BYTES)
    return await ctx.ports.documents.extract_text(DocumentRequest(content, name))
