"""Restrict a runner process: it gives up all access that a template or program could misuse.

Called after the last import. Only memory and processor time up to a limit and three pipes remain. The restrictions are
independent: one that this machine doesn't support raises nothing and is only missing in the returned list.
"""

import contextlib
import ctypes
import mmap
import os
import platform
import resource
import struct
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import partial


MEMORY_BYTES = 216 * 1024 * 1024  # beyond the idle process; a child stays below 256 MB
_MAX_PAGES = 2**30  # more than any idle process has
_NOBODY = 65534
_CPU_SECONDS = 3

_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
RET_ALLOW = 0x7FFF0000
RET_EPERM = 0x00050000 | 1

# BPF: load word at offset, jump if equal, jump if greater or equal, return
_LOAD, JUMP_EQ, _JUMP_GE, RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_FIRST_ARGUMENT = 0, 4, 16
_X32_BIT = 0x40000000

# The system calls that CPython needs to compute and to use its open pipes. Without open, socket, fork, exec, kill, ptrace
# and process_vm_*, code that escapes from the interpreter reaches nothing. prlimit64 is allowed for this process only.
_ALLOWED_CALLS = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28,
        "nanosleep": 35, "getpid": 39, "exit": 60, "gettimeofday": 96, "getrusage": 98, "sigaltstack": 131,
        "gettid": 186, "futex": 202, "restart_syscall": 219, "clock_gettime": 228, "clock_nanosleep": 230,
        "exit_group": 231, "prlimit64": 302, "getrandom": 318,
    },
    "aarch64": {
        "close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98,
        "nanosleep": 101, "clock_gettime": 113, "clock_nanosleep": 115, "sched_yield": 124,
        "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "rt_sigreturn": 139, "getrusage": 165, "gettimeofday": 169, "getpid": 172, "gettid": 178, "brk": 214,
        "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261, "getrandom": 278,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def restrict_process(memory_bytes: int = MEMORY_BYTES) -> list[str]:
    """Apply all restrictions to this process, and return the names of those that are active."""
    return apply_restrictions(
        {
            "memory": partial(limit_memory, memory_bytes),
            "limits": partial(limit_resources, open_files=3),
            "user": _become_unprivileged,
            "privileges": give_up_privileges,
            "syscalls": _filter_system_calls,
        }
    )


def apply_restrictions(restrictions: Mapping[str, Callable[[], None]]) -> list[str]:
    """Apply restrictions in their order, and return the names of those that this machine supports."""
    active = []
    for name, apply in restrictions.items():
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            apply()
            active.append(name)
    return active


def allow_cpu_seconds(seconds: int = _CPU_SECONDS) -> None:
    """Limit the processor time of the next job, so that the kernel ends it even if its parent is gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def limit_memory(additional_bytes: int) -> None:
    """Limit the memory of this process to its current size and the additional bytes."""
    limit = measure_addresses() + additional_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def measure_addresses() -> int:
    """Return how many bytes of addresses this process has: the smallest limit under which it may have another page.

    Asked this way because a jail has no /proc to read it from.
    """
    page = resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        return page * bisect_left(range(_MAX_PAGES), True, key=partial(_may_grow, page))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _may_grow(page: int, count: int) -> bool:
    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (count * page, hard))
    try:
        mmap.mmap(-1, page).close()
    except (OSError, MemoryError):
        return False
    return True


def limit_resources(*, open_files: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)


def give_up_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)  # other runners of the same user can't read this process's memory


def install_filter(program: list[bytes]) -> None:
    """Install a seccomp program that filters every system call of this thread and its children."""
    code = ctypes.create_string_buffer(b"".join(program), len(program) * 8)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    loaded = Filter(len(program), ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(loaded))


def start_filter(machine: str) -> list[bytes]:
    """Return the instructions that reject calls of other architectures, and load the number of the call."""
    return [
        build_instruction(_LOAD, 0, 0, _OFFSET_ARCH),
        build_instruction(JUMP_EQ, 1, 0, _ARCHITECTURES[machine]),
        build_instruction(RETURN, 0, 0, RET_EPERM),
        build_instruction(_LOAD, 0, 0, _OFFSET_NUMBER),
        build_instruction(_JUMP_GE, 0, 1, _X32_BIT),
        build_instruction(RETURN, 0, 0, RET_EPERM),
    ]


def build_instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _become_unprivileged() -> None:
    if os.geteuid() == 0:
        become_nobody()
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def _filter_system_calls() -> None:
    install_filter(_build_filter(platform.machine()))


def _build_filter(machine: str) -> list[bytes]:
    numbers = _ALLOWED_CALLS[machine]
    allowed = [number for name, number in numbers.items() if name != "prlimit64"]
    own_limits = [
        build_instruction(JUMP_EQ, 0, 4, numbers["prlimit64"]),
        build_instruction(_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        build_instruction(JUMP_EQ, 0, 1, 0),
        build_instruction(RETURN, 0, 0, RET_ALLOW),
        build_instruction(RETURN, 0, 0, RET_EPERM),
    ]
    count = len(allowed)
    checks = [build_instruction(JUMP_EQ, count - i, 0, number) for i, number in enumerate(allowed)]
    end = [build_instruction(RETURN, 0, 0, RET_EPERM), build_instruction(RETURN, 0, 0, RET_ALLOW)]
    return [*start_filter(machine), *own_limits, *checks, *end]


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(ctypes.c_int(option), *arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
