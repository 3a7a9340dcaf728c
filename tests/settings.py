"""The site's own settings, on services of the test session's own: nothing of the developer's is read or touched.

`MNEMOFLOW_TEST_HOME` reaches the xdist workers through the environment, so that all share one server.
"""

import os
import sys

from config.env import Env


os.environ.setdefault("MNEMOFLOW_TEST_HOME", f"/tmp/mnemoflow-test-{os.geteuid()}-{os.getpid()}")
for _name in Env.model_fields:
    os.environ.pop(_name.upper(), None)
os.environ |= {
    "MNEMOFLOW_ENV_FILE": os.devnull,
    "MNEMOFLOW_HOME": os.environ["MNEMOFLOW_TEST_HOME"],
    "SECRET_KEY": "tests-only-" + "0" * 40,
    "SECRET_KEYS_AT_REST": "dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=",
    "LOG_LEVEL": "WARNING",
    # Tests of search by meaning name their embedder; the others needn't load a model.
    "MEMORY_EMBEDDER": "none",
}

# A shell may ask for no compiled files; then each of a hundred processes would compile all of ours again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from config.settings import *  # noqa: E402, F403, TID251


ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
# Argon2 is slow on purpose; its own test names it.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.Argon2PasswordHasher",
]
