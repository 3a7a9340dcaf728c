"""The entry point of the web server: uvicorn config.asgi:application."""

import gc
import os
import sys
from importlib import import_module

import django
from django.conf import settings

from config.http.assets import Assets
from config.http.body_timeout import BodyTimeout
from config.http.handler import Handler
from config.http.health import HealthChecks
from config.http.proxies import TrustedProxies
from config.monitoring.request_ids import RequestIds
from config.net import ReceivedMarks


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
gc.set_threshold(20_000, 10, 20)  # as manage.py does
# Seconds that a busy thread may keep the event loop waiting: with Python's 5 ms, a health check waits for all threads of
# pages several times.
sys.setswitchinterval(0.001)
django.setup(set_prefix=False)
application = HealthChecks(
    RequestIds(ReceivedMarks(TrustedProxies(BodyTimeout(Assets(Handler())))))
)

# All modules are loaded before the first request, and the garbage collector then ignores these permanent objects.
# Otherwise every collection would scan them again.
import_module(settings.ROOT_URLCONF)
import_module("workflows.mcp_server.answering")  # commands start without it
gc.collect()
gc.freeze()
# Nothing else runs in this process during a collection. Of so few objects it takes a few milliseconds; of those that
# pages make in between with the threshold for starts it takes a tenth of a second, beside pages that wait for the processor.
gc.set_threshold(1_000, 10, 400)
