import pytest

from config.encryption.crypto import SecretUnreadable, decrypt, encrypt, generate_key, rotate


def test_encrypt_then_decrypt_is_the_same_and_never_looks_alike():
    assert decrypt(encrypt("sk-ключ")) == "sk-ключ"
    assert encrypt("sk-1") != encrypt("sk-1")
    assert b"sk-1" not in encrypt("sk-1")


def test_decrypt_after_a_new_key_in_front_still_reads_and_rotate_lets_the_old_one_go(settings):
    old, new = generate_key(), generate_key()
    settings.SECRET_KEYS_AT_REST = [old]
    stored = encrypt("sk-1")
    settings.SECRET_KEYS_AT_REST = [new, old]
    rotated = rotate(stored)

    read_meanwhile = decrypt(stored)
    settings.SECRET_KEYS_AT_REST = [new]

    assert (read_meanwhile, decrypt(rotated)) == ("sk-1", "sk-1")
    with pytest.raises(SecretUnreadable):
        decrypt(stored)


@pytest.mark.parametrize("token", [b"", b"nonsense", b"gAAAAA"])
def test_decrypt_what_is_no_secret_says_so(token: bytes):
    with pytest.raises(SecretUnreadable, match="SECRET_KEYS_AT_REST"):
        decrypt(token)
