"""Restrict the child process: it gives up all access that a template or program could misuse.

Called after the last import. Memory up to a limit, processor time up to a limit and three pipes remain. The walls are
independent; a wall that this machine can't build is not fatal and only missing in the returned list.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
from collections.abc import Callable
from pathlib import Path


MEMORY_BYTES = 216 * 1024 * 1024  # beyond the idle process; a child stays below 256 MB
_UNKNOWN_BASE_BYTES = 128 * 1024 * 1024
_NOBODY = 65534
_CPU_SECONDS = 3

_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
RET_ALLOW = 0x7FFF0000
RET_EPERM = 0x00050000 | 1

# BPF: load word at offset, jump if equal, jump if greater or equal, return
LOAD, JUMP_EQ, JUMP_GE, RETURN = 0x20, 0x15, 0x35, 0x06
OFFSET_NUMBER, OFFSET_ARCH, OFFSET_FIRST_ARGUMENT = 0, 4, 16
X32_BIT = 0x40000000

# The calls that CPython needs to compute and to use its open pipes. Without open, socket, fork, exec, kill, ptrace and
# process_vm_*, code that escapes from the interpreter reaches nothing.
_COMMON = [
    "read",
    "write",
    "close",
    "fstat",
    "lseek",
    "mmap",
    "munmap",
    "mprotect",
    "brk",
    "mremap",
    "madvise",
    "futex",
    "exit",
    "exit_group",
    "rt_sigreturn",
    "rt_sigaction",
    "rt_sigprocmask",
    "sigaltstack",
    "getrandom",
    "clock_gettime",
    "gettimeofday",
    "clock_nanosleep",
    "nanosleep",
    "restart_syscall",
    "sched_yield",
    "getpid",
    "gettid",
    "getrusage",
]
_NUMBERS = {
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
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def raise_walls() -> list[str]:
    """Build the walls and return the names of those that are active."""
    walls: tuple[tuple[str, Callable[[], None]], ...] = (
        ("memory", _limit_memory),
        ("limits", _limit_resources),
        ("user", _become_nobody),
        ("privileges", give_up_privileges),
        ("syscalls", _filter_system_calls),
    )
    active = []
    for name, build in walls:
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):
            build()
            active.append(name)
    return active


def allow_cpu_seconds(seconds: int = _CPU_SECONDS) -> None:
    """Limit the job's processor time, so that the kernel ends it if its parent is gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _limit_memory() -> None:
    limit = get_address_space() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def get_address_space() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * resource.getpagesize()
    except OSError:  # no /proc inside a jail
        return _UNKNOWN_BASE_BYTES


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def _become_nobody() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def give_up_privileges() -> None:
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_DUMPABLE, 0)  # other runners of the same user can't read this process's memory


def _filter_system_calls() -> None:
    install_filter(_build_filter(platform.machine()))


def install_filter(program: list[bytes]) -> None:
    """Install a seccomp program that filters every system call of this thread and its children."""
    code = ctypes.create_string_buffer(b"".join(program), len(program) * 8)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    loaded = Filter(len(program), ctypes.addressof(code))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(loaded))


def _build_filter(machine: str) -> list[bytes]:
    numbers = _NUMBERS[machine]
    allowed = [numbers[name] for name in _COMMON]
    start = [
        build_instruction(LOAD, 0, 0, OFFSET_ARCH),
        build_instruction(JUMP_EQ, 1, 0, ARCHITECTURES[machine]),
        build_instruction(RETURN, 0, 0, RET_EPERM),
        build_instruction(LOAD, 0, 0, OFFSET_NUMBER),
        build_instruction(JUMP_GE, 0, 1, X32_BIT),
        build_instruction(RETURN, 0, 0, RET_EPERM),
        # prlimit64, but only of this process
        build_instruction(JUMP_EQ, 0, 4, numbers["prlimit64"]),
        build_instruction(LOAD, 0, 0, OFFSET_FIRST_ARGUMENT),
        build_instruction(JUMP_EQ, 0, 1, 0),
        build_instruction(RETURN, 0, 0, RET_ALLOW),
        build_instruction(RETURN, 0, 0, RET_EPERM),
    ]
    count = len(allowed)
    checks = [build_instruction(JUMP_EQ, count - i, 0, number) for i, number in enumerate(allowed)]
    return [
        *start,
        *checks,
        build_instruction(RETURN, 0, 0, RET_EPERM),
        build_instruction(RETURN, 0, 0, RET_ALLOW),
    ]


def build_instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in values] + [ctypes.c_ulong(0)] * (
        4 - len(values)
    )
    if ctypes.CDLL(None, use_errno=True).prctl(ctypes.c_int(option), *arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
