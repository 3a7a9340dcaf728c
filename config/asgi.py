"""The web server's entry: uvicorn config.asgi:application."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.asgi import get_asgi_application

from config.assets import Assets


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Assets(get_asgi_application())

# Everything a request needs is loaded now, not with the first one; and what stays for good is taken from the
# collector's sight. A page of two thousand nodes makes it run, and it would look through all of that each time.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 10, 20)
