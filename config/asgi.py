"""The entry point of the web server: uvicorn config.asgi:application."""

import gc
import os
from importlib import import_module

import django
from django.conf import settings

from config.http.assets import Assets
from config.http.handler import Handler


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)
application = Assets(Handler())

# Everything a request needs is loaded now, not with the first one; and what stays for good is taken from the
# collector's sight. A page of two thousand nodes makes it run, and it would look through all of that each time.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 10, 20)
