"""The rows do what the plain store does."""

from copy import deepcopy
from random import Random

import pytest
from django.db import transaction

from accounts.tenancy import tenant
from tests.engine.editing.gestures import DOCUMENT, context, random_gesture
from tests.factories.workflows import make_workflow
from workflows.engine.editing import EditRefused, InMemoryStore, apply_all, perform, read_ops
from workflows.engine.language.dsl import build_tree
from workflows.engine.language.dsl.limits import measure_tree
from workflows.models.documents import blank_secrets, to_json
from workflows.services.editing.draft_store import DraftStore
from workflows.services.editing.gestures import check_size, open_store
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db


def outcome(store, asked, prefix):
    try:
        with transaction.atomic():  # as in the service: what is refused half-way leaves nothing
            return perform(store, asked, context(prefix))
    except EditRefused as refused:
        return [(problem.code, problem.node) for problem in refused.problems]


SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(8, 20))]


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_do_what_memory_does(alice, seed):
    """Operation by operation: what is done, its inverse, what is refused, and the document at the end."""
    workflow = make_workflow(alice, source=build_tree(DOCUMENT))
    rng = Random(seed)
    with tenant([workflow.team_id]):
        memory = InMemoryStore(drafts.load_draft(workflow))
        for number in range(10):
            asked = read_ops(random_gesture(rng, memory, f"g{number}"))
            locked = drafts.lock(workflow)
            oracle, store = deepcopy(memory), open_store(locked, asked)
            expected = outcome(oracle, asked, f"f{number}_")

            found = outcome(store, asked, f"f{number}_")

            assert found == expected
            if not isinstance(found, list):
                store.flush()
                check_size(store)
                locked.save()
                memory = oracle
            assert drafts.load_draft(drafts.lock(workflow)) == memory.build_document()
            assert (locked.most_characters or 0) >= measure_tree(to_json(memory.build_document()))


@pytest.mark.parametrize("seed", range(8))
def test_inverse_on_rows_gives_back_the_draft(alice, seed):
    workflow = make_workflow(alice, source=build_tree(DOCUMENT))
    rng = Random(seed)
    before = drafts.load_draft(workflow)
    with tenant([workflow.team_id]):
        workflow = drafts.lock(workflow)
        inverses = []
        for number in range(8):
            memory = InMemoryStore(drafts.load_draft(workflow))
            asked = read_ops(random_gesture(rng, memory, f"g{number}"))
            if isinstance(outcome(memory, asked, f"f{number}_"), list):
                continue
            store = open_store(workflow, asked)
            inverses.append(perform(store, asked, context(f"f{number}_")).inverse)
            store.flush()

        for inverse in reversed(inverses):
            store = DraftStore(workflow)
            apply_all(store, inverse)
            store.flush()

    assert blank_secrets(drafts.load_draft(workflow)) == before
