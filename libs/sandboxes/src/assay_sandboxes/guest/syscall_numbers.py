"""Numbers of system calls, which differ between processors."""

from __future__ import annotations

import os

ARM = os.uname().machine == "aarch64"

CONNECT, SENDTO, SENDMSG, SENDMMSG = (203, 206, 211, 269) if ARM else (42, 44, 46, 307)
SOCKET = 198 if ARM else 41
PRLIMIT = 261 if ARM else 302
SECCOMP = 277 if ARM else 317
PIDFD_GETFD = 438
IO_URING = (425, 426, 427)
KERNEL_DOORS = (280, 241, 219, 217, 218, 282) if ARM else (321, 298, 250, 248, 249, 323)
"""bpf, perf_event_open, keyctl, add_key, request_key, userfaultfd."""
