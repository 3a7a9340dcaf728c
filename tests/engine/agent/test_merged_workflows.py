"""Merged workflows: whose functions an agent calls, how the model names them, and whose memory the run has."""

from typing import Any

from memory.core.records import MemoryQuery
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, ScriptedModel, Tools, answer_wait, call
from tests.engine.agent.test_todo import step
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Document
from workflows.engine.nodes.agent.tool_use.merged_functions import MergedWorkflow, list_functions
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.sub_workflows.merging import list_merged


GROUP = "group_123"
REPLY = "3行3列，表头是姓名、年龄、城市，数据是张三25北京、李四30上海、王五28深圳"
ROWS = '[{"姓名":"张三","年龄":25,"城市":"北京"},{"姓名":"李四","年龄":30,"城市":"上海"},{"姓名":"王五","年龄":28,"城市":"深圳"}]'
TODOS = (
    "分析：这是一个复杂任务，需要多步骤完成\n决策：需要TODO工作流\nTODO列表:\n"
    "1. 询问用户表格的具体内容和格式\n2. 创建Excel文件\n3. 填写数据到表格"
)
DESKTOP_TOOLS = (
    {"source": "builtin", "name": "create_excel_document", "title": "生成Excel"},
    {"source": "builtin", "name": "open_folder", "private": True},
    {"source": "builtin", "name": "print_file", "settings": {"printer": "{{#start.text#}}"}},
)


def build_desktop(**data: Any) -> Document:
    settings = {"model": MODEL, "query": "{{#start.text#}}", "tools": [*DESKTOP_TOOLS], **data}
    nodes = [
        start("text"),
        node("agent", "agent", **settings),
        node("recall", "memory-recall", scope="workflow"),
        end(text=["agent", "text"], memories=["recall", "results"]),
    ]
    return document(nodes, ["start -> agent", "agent -> recall", "recall -> end"])


def build_chat(*merge: str, strategy: str = "todo", **data: Any) -> Document:
    settings = {
        "model": MODEL,
        "query": "{{#start.text#}}",
        "strategy": strategy,
        "max_rounds": 20,
        "merge": [*merge],
        **data,
    }
    outputs = {name: ["agent", name] for name in ("text", "todos", "notes", "rounds")}
    nodes = [
        start("text"),
        node("recall", "memory-recall", scope="workflow"),
        node("agent", "agent", **settings),
        node(
            "store", "memory-store", scope="workflow", key="said", value_selector=["start", "text"]
        ),
        end(memories=["recall", "results"], **outputs),  # type: ignore[arg-type]
    ]
    edges = ["start -> recall", "recall -> agent", "agent -> store", "store -> end"]
    return document(nodes, edges)


class Desktop(Tools):
    """The tools of the workflow desktop. The first file can't be written."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.attempts = 0
        super().__init__(
            create_excel_document=self.create, open_folder=lambda: "", print_file=lambda **_: ""
        )
        self.schemas["create_excel_document"] = {
            "type": "object",
            "properties": {"filename": {"type": "string"}, "data": {"type": "array"}},
            "required": ["filename", "data"],
        }

    def create(self, filename: str, data: list[Any]) -> str:
        self.attempts += 1
        if self.attempts == 1:
            raise ToolFailed("the disk is full")
        self.files[filename] = data
        return f"created {filename} with {len(data)} rows"


def build_runner(model: Any, tools: Any, provider: Any = None, **data: Any) -> WorkflowRunner:
    return WorkflowRunner(
        build_chat("desktop", **data),
        models=model,
        tools=tools,
        memory=provider or InMemoryProvider(),
        workflows={"desktop": build_desktop()},
    )


async def test_walk_of_the_original_design() -> None:
    tools, provider = Desktop(), InMemoryProvider()
    create = f"[生成Excel:表格.xlsx:{ROWS}]"
    model = ScriptedModel(
        TODOS,
        step(
            "0.3", next_step="需要询问用户表格的具体内容", note="用户需要创建表格，但具体内容未确定"
        ),
        step("0.9", "[询问用户:请告诉我表格的具体内容]", note="已询问用户表格内容，等待回复"),
        step("0.9", create),
        step("0.9", create, note="已创建Excel文件，包含3行3列数据"),
        step("1", f'desktop.create_excel_document(filename="副本.xlsx", data={ROWS})'),
        "表格已创建。",
    )
    runner = build_runner(model, tools, provider)
    system = {"workflow_id": "chat", "group_id": GROUP, "user_id": "u"}
    handle = runner.start(inputs={"text": "帮我做一个表格"}, system=system)
    paused = await handle.result()
    handle, result = await answer_wait(runner, handle, "", answer=REPLY)

    assert paused.status is RunStatus.PAUSED
    assert result.status is RunStatus.SUCCEEDED, result.error
    assert [(each["status"], len(each["steps"])) for each in result.outputs["todos"]] == [
        ("completed", 2),
        ("completed", 2),  # a retry
        ("completed", 1),
    ]
    assert tools.files.keys() == {"表格.xlsx", "副本.xlsx"}
    assert tools.files["表格.xlsx"][2] == {"姓名": "王五", "年龄": 28, "城市": "深圳"}
    calls = [each["name"] for round_ in result.outputs["rounds"] for each in round_["calls"]]
    assert calls == ["desktop.create_excel_document"] * 3
    prompts = [request.messages[-1].text for request in model.requests]
    system_text = model.requests[0].messages[0].text
    function = "[desktop.create_excel_document:filename:data] (生成Excel)"
    assert "【可用功能】" in system_text
    assert function in system_text
    assert function in prompts[1]
    assert "[desktop.run:text]" in prompts[1]
    assert "ai:memory:chat-desktop:group_123" in prompts[1]
    assert REPLY in prompts[3]
    assert "1. 失败: 生成Excel: the disk is full" in prompts[4].replace("Error: ", "")
    notes = [note["content"] for note in result.outputs["notes"]]
    assert notes[-2:] == ["已询问用户表格内容，等待回复", "用户需要创建表格，但具体内容未确定"]
    assert {*result.outputs["notes"][0]} == {"content", "source", "time", "temporary"}
    [metadata] = provider.recall(MemoryQuery(f"ai:workflow:{handle.run_id}"))
    assert metadata.value["streamName"] == "chat-desktop"
    assert metadata.value["goal"] == "帮我做一个表格"
    assert provider.recall(MemoryQuery(f"ai:notes:{handle.run_id}")) == []


async def test_merged_run_has_a_memory_that_neither_workflow_reads_alone() -> None:
    tools, provider = Desktop(), InMemoryProvider()
    system = {"workflow_id": "chat", "group_id": GROUP}

    async def run(document: Document, text: str, own: str = "chat") -> list[str]:
        runner = WorkflowRunner(
            document,
            models=ScriptedModel("ok"),
            tools=tools,
            memory=provider,
            workflows={"desktop": build_desktop()},
        )
        result = await runner.run(inputs={"text": text}, system={**system, "workflow_id": own})
        assert result.status is RunStatus.SUCCEEDED, result.error
        return [each["value"] for each in result.outputs["memories"]]

    assert await run(build_chat("desktop"), "记住我是主人") == []
    assert await run(build_chat(), "hello") == []
    assert await run(build_desktop(), "hello", own="desktop") == []
    assert await run(build_chat("desktop"), "again") == ["记住我是主人"]
    [entry] = provider.recall(MemoryQuery("ai:memory:chat-desktop:group_123"))
    assert entry.value == "again"


async def test_function_of_a_merged_workflow_has_a_name_that_model_apis_accept() -> None:
    tools = Desktop()
    tools.attempts = 1
    create = call("desktop_create_excel_document", filename="a.xlsx", data=[])
    model = ScriptedModel(("", [create]), "done")

    result = await build_runner(model, tools, strategy="function_calling").run(
        inputs={"text": "a table"}, system={"workflow_id": "chat", "group_id": GROUP}
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert [spec.name for spec in model.requests[0].tools] == [
        "desktop_run",
        "desktop_create_excel_document",
    ]
    [call_record] = result.outputs["rounds"][0]["calls"]
    assert call_record["name"] == "desktop.create_excel_document"
    assert call_record["result"] == "created a.xlsx with 0 rows"


async def test_react_names_functions_as_people_do() -> None:
    tools = Desktop()
    tools.attempts = 1
    model = ScriptedModel(
        'Action: desktop.create_excel_document\nAction Input: {"filename": "a", "data": []}',
        "Final Answer: done",
    )

    result = await build_runner(model, tools, strategy="react").run(
        inputs={"text": "a table"}, system={"workflow_id": "chat", "group_id": GROUP}
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert "- desktop.create_excel_document: " in model.requests[0].messages[0].text
    assert tools.files == {"a": []}


async def test_merged_workflow_itself_is_a_function() -> None:
    model = ScriptedModel(("", [call("desktop_run", text="hi")]), "of desktop", "done")
    desktop = document(
        [start("text"), node("llm", "llm", model=MODEL, prompt_template=[
            {"role": "user", "text": "{{#start.text#}}"}]), end(text=["llm", "text"])],
        ["start -> llm", "llm -> end"],
    )  # fmt: skip
    chat = build_chat("desktop", strategy="function_calling")
    runner = WorkflowRunner(
        chat,
        models=model,
        tools=Desktop(),
        memory=InMemoryProvider(),
        workflows={"desktop": desktop},
    )

    result = await runner.run(
        inputs={"text": "x"}, system={"workflow_id": "chat", "group_id": GROUP}
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    [call_record] = result.outputs["rounds"][0]["calls"]
    assert call_record["name"] == "desktop.run"
    assert "of desktop" in call_record["result"]


@for_each(
    "written, is_called",
    [
        ("desktop.create_excel_document", True),
        ("Desktop_Create-Excel Document", True),
        ("create_excel_document", True),
        ("生成Excel", True),
        ("生成excel", True),
        ("open_folder", False),  # private
        ("desktop.print_file", False),  # its settings need a run of desktop
        ("chat.create_excel_document", False),
    ],
)
async def test_command_finds_a_function_by_any_of_its_names(written: str, is_called: bool) -> None:
    tools = Desktop()
    tools.attempts = 1
    model = ScriptedModel("TODO:\n1. one", step("1", f"[{written}:a.xlsx:[]]"), "done")

    await build_runner(model, tools, max_action_retries=0).run(
        inputs={"text": "做表格"}, system={"workflow_id": "chat", "group_id": GROUP}
    )

    assert bool(tools.files) is is_called


async def test_run_of_a_merged_workflow_is_another_call_once_it_is_published_anew() -> None:
    """A person who allowed the run of one version is asked again about the next."""
    workflow = MergedWorkflow("desktop", "Desktop", "", build_desktop(), version="7")

    run, *functions = await list_functions(workflow, Desktop())

    assert (run.reference.name, run.version) == ("desktop", "7")
    assert functions


async def test_missing_workflow_is_named() -> None:
    runner = WorkflowRunner(
        build_chat("nowhere"),
        models=ScriptedModel("x"),
        tools=Desktop(),
        memory=InMemoryProvider(),
        workflows={"desktop": build_desktop()},
    )

    result = await runner.run(inputs={"text": "x"}, system={"workflow_id": "chat", "group_id": "g"})

    assert result.status is RunStatus.FAILED
    assert "There is no workflow nowhere" in str(result.error)


def test_merged_workflows_are_listed_once_and_in_their_order() -> None:
    nodes = [
        node("a", "agent", merge=["desktop", "", "mail", "desktop"]),
        node("b", "agent", merge=["mail", 7, "web"]),
        node("c", "code", merge=["code"]),
    ]

    assert list_merged(document(nodes, [])) == ("desktop", "mail", "web")
