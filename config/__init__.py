"""The configuration of the process and everything that all apps share."""

import os


# Read when numpy is loaded. Threads that multiply matrices together wait for each other in loops, and take the cores from
# the other processes meanwhile: on two busy cores a sentence took three times the processor time, and ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
