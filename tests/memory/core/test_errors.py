"""The family of errors: each says whether going on without memory makes sense."""

from memory.core import errors
from memory.core.errors import MemoryFault
from tests.support.cases import for_each


RECOVERABLE = {"NotFound", "NotAdmitted", "RetrievalError"}
FAMILY = {
    "NotFound",
    "AlreadyExists",
    "AccessDenied",
    "NotAdmitted",
    "QuotaExceeded",
    "ValueTooLarge",
    "InvalidInput",
    "Serialization",
    "ProviderError",
    "ProviderAway",
    "RetrievalError",
}


def test_family_has_every_member_and_no_other() -> None:
    found = {
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, MemoryFault) and one is not MemoryFault
    }

    assert found == FAMILY


@for_each("name", sorted(FAMILY))
def test_error_says_whether_it_is_recoverable(name: str) -> None:
    assert getattr(errors, name)("why").is_recoverable is (name in RECOVERABLE)


@for_each("name", sorted(FAMILY))
def test_docstring_of_an_error_is_a_sentence_for_people(name: str) -> None:
    assert getattr(errors, name).__doc__.endswith(".")
