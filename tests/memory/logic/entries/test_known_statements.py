from memory.core.provider import utc_now
from memory.core.records import StoreParams
from memory.logic.entries.known_statements import find_known_entry
from memory.providers.in_memory import InMemoryProvider
from tests.support.cases import for_each


OTHERS = (
    "I have a cat.",
    "I play the violin in a quartet.",
    "我住在上海。",
    "Ich arbeite bei Siemens.",
)


@for_each(
    "known, said",
    [
        ("I'm Tom.", "I am Tom."),
        ("I won't eat.", "I will not eat."),
        ("I do not smoke", "I don’t smoke"),
        ("I live in Lyon.", "also I live in Lyon, please"),
        ("I live in the old town of Lyon.", "I live in old town of Lyon"),
        ("我住在杭州。", "我住在杭州"),
        ("ICH WOHNE IN KÖLN", "Ich wohne in Köln."),
        ("👍", "👍"),
    ],
)
def test_statement_in_other_words_for_the_same_is_known(known: str, said: str):
    store = InMemoryProvider()
    for number, text in enumerate((*OTHERS, known)):
        store.store(StoreParams("user:mia", f"m-{number}", value=text))

    entry = find_known_entry(StoreParams("user:mia", "new", value=said), store, utc_now())

    assert entry is not None
    assert entry.value == known


@for_each(
    "known, said",
    [
        ("I live in Lyon.", "I live in Rome."),
        ("I smoke", "I don't smoke"),
        ("I have two cats", "I have two cats and a dog"),
    ],
)
def test_statement_that_says_something_else_is_new(known: str, said: str):
    store = InMemoryProvider()
    store.store(StoreParams("user:mia", "m-1", value=known))

    assert find_known_entry(StoreParams("user:mia", "new", value=said), store, utc_now()) is None
