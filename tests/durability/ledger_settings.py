"""The site's settings for workers whose agents have the tool of ``ledger_tools``."""

from config.settings import *  # noqa: F403, TID251
from config.settings import INSTALLED_APPS as PRODUCT_APPS  # noqa: TID251


INSTALLED_APPS = [*PRODUCT_APPS, "tests.durability.ledger_tools.LedgerConfig"]
