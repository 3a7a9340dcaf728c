"""The workflows that the clients call as models."""

from tests.clients.mcp.documents import build_line


_START = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}

# Answers with what it knows of the person, then remembers the facts of the message.
DIARY = build_line(
    "advanced-chat",
    _START,
    {"id": "recall", "data": {"type": "memory-recall", "title": "Recall", "scope": "user",
                              "query": "{{#sys.query#}}", "top_k": 5}},
    {"id": "llm", "data": {
        "type": "llm", "title": "Answer",
        "model": {"provider": "offline", "name": "offline", "mode": "chat"},
        "prompt_template": [
            {"role": "system", "text": "You know this about the person: {{#recall.text#}}"},
            {"role": "user", "text": "{{#sys.query#}}"},
        ]}},
    {"id": "answer", "data": {"type": "answer", "title": "Answer", "answer": "{{#llm.text#}}"}},
    {"id": "store", "data": {"type": "memory-store", "title": "Remember", "scope": "user",
                             "source": "facts", "value_selector": ["sys", "query"],
                             "metadata": {"kind": "diary"}}},
)  # fmt: skip

# Forgets on request what the diary remembered of the person.
FORGET = build_line(
    "advanced-chat",
    _START,
    {"id": "forget", "data": {"type": "memory-delete", "title": "Forget", "scope": "user",
                              "filter": {"kind": "diary"}}},
    {"id": "answer", "data": {"type": "answer", "title": "Answer",
                              "answer": "Forgotten: {{#forget.deleted#}}"}},
)  # fmt: skip

# Fails whatever it is asked.
BROKEN = build_line(
    "workflow",
    {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
        {"variable": "text", "type": "string"}]}},
    {"id": "code", "data": {"type": "code", "title": "Divide", "code_language": "python3",
                            "code": "def main() -> dict:\n    return {'x': 1 / 0}",
                            "outputs": {"x": {"type": "number"}}, "variables": []}},
    {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
        {"variable": "x", "value_selector": ["code", "x"]}]}},
)  # fmt: skip

DOCUMENTS = {"Diary": DIARY, "Forget": FORGET, "Broken": BROKEN}
