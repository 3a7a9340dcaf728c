"""The chats of the gallery know the sentence before."""

from workflows.engine.language.document import NodeSpec
from workflows.engine.language.dsl import load_document
from workflows.samples import SAMPLES


def answers_without_window(node: NodeSpec) -> bool:
    answers = node.kind in ("llm", "agent") and "{{#sys.query#}}" in str(node.data)
    window = node.data.get("memory", {}).get("window", {})
    return answers and not window.get("enabled")


def test_models_that_answer_in_a_chat_read_the_last_turns() -> None:
    chats = {s.slug: load_document(s.source).document for s in SAMPLES}
    slugs = {
        slug
        for slug, document in chats.items()
        if document.mode == "advanced-chat" and any(map(answers_without_window, document.nodes))
    }

    # What is proposed for the handbook in a conversation isn't used before somebody accepts it. The merged assistant plans
    # its tasks from the memory of its group. The wiki answers from its pages, which may have changed since an earlier answer.
    assert slugs == {"handbook", "merged", "wiki"}
