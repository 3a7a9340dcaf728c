"""Restrict a code runner and the interpreter that it starts, which inherits the restrictions.

The interpreter (monty) has no file, socket or environment. The restrictions protect against a vulnerability in it. They
must allow what starting a program requires, but block the rest of the file system, the network, other processes and
rarely used system calls. They are independent: one that this machine doesn't support is only missing in the result.
"""

import contextlib
import ctypes
import os
import platform
import stat
import struct
from functools import partial
from pathlib import Path

from workflows.sandbox import restrictions


MEMORY_BYTES = 640 * 1024 * 1024  # beyond the idle process; the interpreter has a separate limit
_OPEN_FILES = 64

# The paths that the loader of a program reads.
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on both architectures
_BENEATH_PATH = 1
_EXECUTE, _WRITE, _READ, _READ_FOLDER = 1, 2, 4, 8
# The number of rights by version of Landlock's API; 16 since version 5.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets and signals of others

# System calls that computing doesn't need. A list of forbidden calls also works with other C libraries.
_BLOCKED_CALLS = {
    "x86_64": (
        *(41, 42, 43, 288, 44, 49, 50),  # socket connect accept accept4 sendto bind listen
        *(101, 310, 311, 438, 440),  # ptrace process_vm_readv process_vm_writev pidfd_getfd …
        *(165, 166, 155, 161, 272, 308),  # mount umount2 pivot_root chroot unshare setns
        *(321, 298, 323, 425, 426, 427),  # bpf perf_event_open userfaultfd io_uring_*
        *(248, 249, 250, 319),  # add_key request_key keyctl memfd_create
        *(322, 304),  # execveat open_by_handle_at
        *(175, 313, 176, 246, 320, 169),  # init_module finit_module delete_module kexec_* reboot
        *(133, 259, 135, 172, 173),  # mknod mknodat personality iopl ioperm
        *(29, 64, 68, 240),  # shmget semget msgget mq_open
    ),
    "aarch64": (
        *(198, 203, 202, 242, 206, 200, 201),
        *(117, 270, 271, 438, 440),
        *(40, 39, 41, 51, 97, 268),
        *(280, 241, 282, 425, 426, 427),
        *(217, 218, 219, 279, 281, 265),
        *(105, 273, 106, 104, 294, 142),
        *(33, 92),
        *(194, 190, 186, 180),
    ),
}
_NEW_MOUNT_CALLS = (428, 429, 430, 431, 432, 433, 442)


def restrict_process_tree(program: Path) -> list[str]:
    """Apply the restrictions and return the names of the active ones; afterwards only ``program`` can be started."""
    return restrictions.apply_restrictions(
        {
            "memory": partial(restrictions.limit_memory, MEMORY_BYTES),
            "limits": partial(restrictions.limit_resources, open_files=_OPEN_FILES),
            "user": partial(_become_nobody, program),
            "privileges": restrictions.give_up_privileges,
            "files": partial(_restrict_files, program),
            "syscalls": _filter_system_calls,
        }
    )


def _become_nobody(program: Path) -> None:
    if os.geteuid() == 0:
        if not all(path.stat().st_mode & stat.S_IXOTH for path in (program, *program.parents)):
            raise PermissionError  # the user nobody couldn't start it, for example in a checkout under /root
        restrictions.become_nobody()


def _restrict_files(program: Path) -> None:
    """Restrict file access with Landlock to the program and its libraries; no TCP, no signal to other processes."""
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    rights = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    masks = [rights, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = ctypes.create_string_buffer(struct.pack(f"={len(masks)}Q", *masks))
    ruleset = _syscall(_CREATE_RULESET, attributes, len(masks) * 8, 0)
    try:
        for path in (*_LIBRARIES, str(program)):
            folder_right = _READ_FOLDER if Path(path).is_dir() else 0
            _allow_path(ruleset, path, _EXECUTE | _READ | folder_right)
        _allow_path(ruleset, "/dev/null", _READ | _WRITE)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, path_fd))
            _syscall(_ADD_RULE, ruleset, _BENEATH_PATH, rule, 0)
        finally:
            os.close(path_fd)


def _syscall(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    values = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    result: int = library.syscall(ctypes.c_long(number), *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return result


def _filter_system_calls() -> None:
    machine = platform.machine()
    blocked = (*_BLOCKED_CALLS[machine], *_NEW_MOUNT_CALLS)
    checks = [
        restrictions.build_instruction(restrictions.JUMP_EQ, len(blocked) - index, 0, number)
        for index, number in enumerate(blocked)
    ]
    end = [
        restrictions.build_instruction(restrictions.RETURN, 0, 0, restrictions.RET_ALLOW),
        restrictions.build_instruction(restrictions.RETURN, 0, 0, restrictions.RET_EPERM),
    ]
    restrictions.install_filter([*restrictions.start_filter(machine), *checks, *end])
