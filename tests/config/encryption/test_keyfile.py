from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from config.encryption.keyfile import load_secrets


def test_kept_secrets_are_made_once_and_only_their_owner_may_read_them(tmp_path: Path):
    first = load_secrets(tmp_path / "home")

    assert load_secrets(tmp_path / "home") == first
    assert (tmp_path / "home" / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert list((tmp_path / "home").iterdir()) == [tmp_path / "home" / "secrets.json"]


def test_kept_secrets_of_two_installations_differ(tmp_path: Path):
    assert load_secrets(tmp_path / "a") != load_secrets(tmp_path / "b")


def test_kept_secrets_file_that_exists_is_never_replaced(tmp_path: Path):
    kept = load_secrets(tmp_path)

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda _: load_secrets(tmp_path), range(20)))

    assert set(seen) == {kept}
