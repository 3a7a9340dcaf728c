"""Passwords as people write them down in a dozen languages, and sentences about passwords that contain none."""

import pytest

from memory.logic.entries.secrets import redact, redact_json
from tests.support.cases import for_each
from tests.support.processor_time import limit_cpu


WRITTEN_DOWN = [
    ("password=Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("Password: geheim123", "geheim123"),
    ("my password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("The wifi password is correct-horse-42!", "correct-horse-42"),
    ("pwd: hunter2x", "hunter2x"),
    ("passwd = s3cret,word", "s3cret,word"),
    ("My PIN is 482913.", "482913"),
    ('passphrase: "correct horse battery staple"', "correct horse battery staple"),
    ("secret_key='a=b&c;d'", "a=b&c;d"),
    ("Passwort: geheim123", "geheim123"),
    ("Mein Passwort ist Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("Das Kennwort lautet Sommer2024!", "Sommer2024"),
    ("Kennwort=Müller&Söhne99", "Müller&Söhne99"),
    ("WLAN-Passwort: Katze#17", "Katze#17"),
    ('Das WLAN-Kennwort ist "offene Tür 12"', "offene Tür 12"),
    ("Passwörter: geheim123", "geheim123"),
    ("Zugangscode: 84Xk-22pQ", "84Xk-22pQ"),
    ("Mot de passe : soleil2024", "soleil2024"),
    ("mon mot de passe est Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("Le mot de passe du wifi est « Été2024! »", "Été2024!"),
    ("code secret : Lune-7391", "Lune-7391"),
    ("mdp: azerty42", "azerty42"),
    ("mdp=chat&chien7", "chat&chien7"),
    ("Contraseña: secreto123", "secreto123"),
    ("Mi contraseña es Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("la clave del wifi es perro#2024", "perro#2024"),
    ("contrasena=hola1234", "hola1234"),
    ("Senha: segredo123", "segredo123"),
    ("Minha senha é Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("a palavra-passe é Lisboa#99", "Lisboa#99"),
    ("senha=café&leite7", "café&leite7"),
    ("La password è Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("Parola d'ordine: Roma2024!", "Roma2024!"),
    ("la mia password: gatto&cane7", "gatto&cane7"),
    ("Wachtwoord: geheim123", "geheim123"),
    ("Mijn wachtwoord is Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("wachtwoord=fiets&boot7", "fiets&boot7"),
    ("Hasło: tajne123", "tajne123"),
    ("Moje hasło to Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("haslo=kot&pies7", "kot&pies7"),
    ("Пароль: секрет123", "секрет123"),
    ("Мой пароль — Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("пароль от вайфая: кот&пёс7", "кот&пёс7"),
    ("пароль=gfhjkm123", "gfhjkm123"),
    ("Şifre: gizli123", "gizli123"),
    ("Şifrem Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("parola=kedi&kopek7", "kedi&kopek7"),
    ("密码：geheim123", "geheim123"),
    ("我的密码是Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("口令为 S3cret,pass", "S3cret,pass"),
    ("密碼：abc&12345", "abc&12345"),
    ("パスワード：himitsu123", "himitsu123"),
    ("パスワードはTr0ub4dor&3です。", "Tr0ub4dor&3"),
    ("暗証番号は482913です", "482913"),
    ("비밀번호: bimil123", "bimil123"),
    ("제 비밀번호는 Tr0ub4dor&3입니다.", "Tr0ub4dor&3"),
    ("비번=gae&go7a", "gae&go7a"),
    ("كلمة المرور: sirr1234", "sirr1234"),
    ("كلمة السر هي Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("رمز عبور: ramz1234", "ramz1234"),
    ("पासवर्ड: gupt1234", "gupt1234"),
    ("The password for the router is Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("clave=Sol&luna9", "Sol&luna9"),
    ("Bankpasswort: Tr0ub4dor&3, danke", "Tr0ub4dor&3"),
    ("Das Passwort für das Portal ist jetzt Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("La contraseña del router es ahora gato&perro7", "gato&perro7"),
    ("Пин-код: 482913", "482913"),
    ("我的密码改成了Tr0ub4dor&3。", "Tr0ub4dor&3"),
]

INNOCENT = [
    "Ich habe mein Passwort vergessen.",
    "Das Passwort ist sicher gespeichert.",
    "Bitte ein Passwort mit mindestens 12 Zeichen wählen.",
    "Passwort: erforderlich",
    "Kennwort: Pflichtfeld",
    "Mein Passwort ist zu lang.",
    "Das Passwort ist Groß-/Kleinschreibung-sensitiv.",
    "Das Passwort wurde am 12.03.2024 geändert.",
    "Passwort: siehe Abschnitt 3.2",
    "Mot de passe oublié ?",
    "Le mot de passe est obligatoire.",
    "mot de passe : obligatoire",
    "Le mot de passe est peut-être trop court.",
    "Le mot de passe est aujourd'hui le même qu'hier.",
    "Olvidé mi contraseña.",
    "La contraseña es obligatoria.",
    "La clave del éxito es la constancia.",
    "La clave es practicar cada día.",
    "clave: importante",
    "La clave es aprender-haciendo.",
    "A senha é obrigatória.",
    "Esqueci minha senha ontem.",
    "A chave é a paciência.",
    "La password è obbligatoria.",
    "La parola d'ordine è solidarietà.",
    "Ik ben mijn wachtwoord vergeten.",
    "Het wachtwoord is verplicht.",
    "Moje hasło jest za krótkie.",
    "Hasło to tajemnica.",
    "Zapomniałem hasła.",
    "Я забыл пароль.",
    "Пароль должен быть длинным.",
    "Пароль — обязательное поле.",
    "Пароль: обязательное поле",
    "Şifremi unuttum.",
    "Şifre zorunludur.",
    "Parola gereklidir.",
    "密码必须至少八位",
    "忘记密码是常见的问题",
    "密码是必填项",
    "密码：必填",
    "密码长度为8到16位",
    "密码是用Argon2加密的",
    "パスワードを忘れました。",
    "パスワードは8文字以上です。",
    "パスワードは必須です。",
    "パスワードは必要ありません。",
    "비밀번호를 잊어버렸어요.",
    "비밀번호는 8자 이상이어야 합니다.",
    "비밀번호: 필수",
    "نسيت كلمة المرور.",
    "كلمة المرور مطلوبة.",
    "كلمة السر هي الصبر.",
    "पासवर्ड भूल गया.",
    "The password is case-sensitive.",
    "My password is too long.",
    "The password manager is 1Password.",
    "Password reset: 24 hours",
    "The password is stored as SHA-256.",
    "password: min. 8 characters, max. 64",
    "The secret is in the sauce.",
    "The secret to good bread is time.",
    "The PIN is on the back",
    "PIN code: four digits",
    "The pin is 25mm long.",
    "My password is expired since 2024-05-01.",
    "API key rotation: every 90 days",
    "token count: 128000",
    "tokens: 12",
    "The token is valid for 30 minutes",
    "access token lifetime = 3600s",
    "I pinned the password policy from 2023.",
    "Secret Santa: December 24",
    "Das Geheimnis ist Geduld.",
    "Code secret : demandez à Paul",
    "Sifra je duga.",
    "My secret: I love chocolate.",
    "Pass: Gold-Member",
    "The passphrase is a line of Goethe.",
    "Use password: true in the config",
    "El PIN tiene 4 dígitos.",
    "Die PIN besteht aus 4 Ziffern.",
    "密钥是由管理员分发的",
    "Passwort, Kennwort und Zugangscode sind dasselbe.",
    "Password (8-64 chars)",
    "the password is: required",
    "mdp oublié",
    "Secret garden is my favourite book.",
    "La clave de sol está en la segunda línea.",
    "Clave: A-12",
    "Hasło: do ustalenia",
    'error: password is "not long enough"',
    "The password for the staging server was rotated 2024-11-01.",
    "Das Passwort für das Portal ist abgelaufen.",
    "Passwort: 8-64 Zeichen",
    "Le mot de passe du portail est « expiré ».",
    "Contraseña: mínimo 12 caracteres",
    "Senha: ver página 12.3",
    "Пароль — это секрет.",
    "Пароль от почты я сменил 12.03.2024.",
    '"密码" 是 password 的中文',
    "パスワードは「忘れた」",
    "비밀번호는 3.5.1버전부터 바뀝니다",
    "Sul desenhado: verde-escuro",
    "designar: azul-claro",
    "La parola è: d'accordo",
    "Passwort: https://example.com/reset",
    "My PIN is 4 digits.",
    "The pin is 2.54 mm wide",
    "PIN: 1234567890123456",
]


@for_each("text, password", WRITTEN_DOWN)
def test_password_is_redacted_whole(text: str, password: str):
    before, _, after = text.partition(password)

    redacted = redact(text).value

    # A sign at the end of a sentence may be the last one of the password.
    rest = redacted.removeprefix(f"{before}[redacted: password]")
    assert rest in (after, after.lstrip(".!")), redacted


@for_each("text", INNOCENT)
def test_sentence_about_passwords_is_left_alone(text: str):
    assert redact(text).value == text


def test_redacting_a_password_again_changes_nothing():
    for text, _password in WRITTEN_DOWN:
        once = redact(text).value
        assert redact(once).value == once


@for_each(
    "name",
    [
        "Passwort",
        "wlan_passwort",
        "mot de passe",
        "senha",
        "пароль",
        "비밀번호",
        "密碼",
        "db_contraseña",
    ],
)
def test_field_with_the_name_of_a_password_is_redacted(name: str):
    assert redact_json({name: "geheim123"}).value == {name: "[redacted: password]"}
    assert redact_json({name: ""}).value == {name: ""}


@pytest.mark.parametrize(
    "unit", ["Passwort ", "пароль: ", "mot de passe du ", "密码是", "şifrem ", "pin is "]
)
@pytest.mark.timed  # regular expressions can't be counted
def test_hostile_text_costs_no_more_than_a_long_one(unit: str):
    with limit_cpu(3):
        redact(unit * 20_000)
