"""A key goes where it was meant for, and nowhere else."""

from config.encryption.crypto import encrypt
from tests.support.cases import for_each
from workflows.execution.ports.models import load_config
from workflows.models import Credential, ModelProvider
from workflows.models.provider import ProviderKind


SECRET = "sk-a-secret-of-the-team"


def provider(base_url: str, hosts: str) -> ModelProvider:
    kind = ProviderKind.OPENAI_COMPATIBLE
    credential = Credential(kind=kind, name="openai", hosts=hosts, secret=encrypt(SECRET))
    return ModelProvider(kind=kind, name="openai", base_url=base_url, credential=credential)


@for_each(
    "base_url, hosts, goes",
    [
        ("https://api.example.com/v1", "api.example.com", True),
        ("https://API.example.com/v1", "api.EXAMPLE.com", True),
        ("https://eu.example.com/v1", "*.example.com", True),
        ("https://api.example.com:8443/v1", "api.example.com", True),
        ("https://evil.test/v1", "api.example.com", False),
        ("https://evil.test/api.example.com", "api.example.com", False),
        ("https://api.example.com.evil.test/v1", "api.example.com", False),
        ("https://notexample.com/v1", "*.example.com", False),
        ("https://example.com/v1", "*.example.com", False),
        ("https://api.example.com@evil.test/v1", "api.example.com", False),
        ("https://api.example.com/v1", "", False),
    ],
)
def test_secret_goes_only_to_the_hosts_it_was_meant_for(
    base_url: str, hosts: str, goes: bool
) -> None:
    assert load_config(provider(base_url, hosts)).api_key == (SECRET if goes else "")


def test_secret_is_not_in_the_representation_of_a_configuration() -> None:
    config = load_config(provider("https://api.example.com/v1", "api.example.com"))

    assert SECRET not in repr(config)
