# ruff: noqa: E501  # a table of programs, a line for each
"""Attempts to get at what others have, for `escapes`: name, and program."""


def files_of_the_machine() -> list[tuple[str, str]]:
    shown = ("environ", "cmdline", "maps", "status", "io", "mountinfo", "auxv", "smaps", "stack")
    return [
        ("a file of the machine", "worked = reads(SECRET_FILE)"),
        (
            "by a symbolic link",
            "os.symlink(SECRET_FILE, f'l{os.getpid()}'); worked = reads(f'l{os.getpid()}')",
        ),
        ("by the root of a process", "worked = reads(f'/proc/{TARGET}/root' + SECRET_FILE)"),
        ("by the folder of a process", "worked = bool(os.listdir(f'/proc/{TARGET}/cwd/'))"),
        ("by a descriptor of a process", "worked = reads(f'/proc/{VICTIM}/fd/0')"),
        ("status of a file", "worked = os.stat(SECRET_FILE).st_size > 0"),
        (
            "watching a file",
            "w = libc.inotify_init1(0); worked = libc.inotify_add_watch(w, SECRET_FILE.encode(), 1) >= 0",
        ),
        (
            "handle of a file",
            "worked = reads(SECRET_FILE) and call(303, -100, SECRET_FILE.encode(), None, None, 0)",
        ),
        ("running a file of the machine", "worked = os.spawnv(os.P_WAIT, TOOL, [TOOL]) == 0"),
        ("temporary files of the machine", "worked = reads(MARK_TMP)"),
        ("shared memory of the machine", "worked = reads(MARK_SHM)"),
        ("more temporary files", "worked = reads(MARK_VAR)"),
        ("folders of other sandboxes", "worked = bool(os.listdir(STATE))"),
        (
            "a pipe of the machine",
            "d = os.open(PIPE, os.O_RDWR | os.O_NONBLOCK); worked = os.write(d, b'x') == 1",
        ),
        ("a socket file", "s = socket.socket(socket.AF_UNIX); s.connect(UNIX); worked = True"),
        (
            "an abstract socket",
            "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + ABSTRACT); worked = True",
        ),
        (
            "an abstract socket for datagrams",
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect('\\0' + ABSTRACT + 'd'); worked = True",
        ),
        ("shared memory by key", "worked = libc.shmget(KEY, 0, 0) >= 0"),
        ("messages by key", "worked = libc.msgget(KEY, 0) >= 0"),
        ("semaphores by key", "worked = libc.semget(KEY, 0, 0) >= 0"),
        *((f"a process's {name}", f"worked = reads(f'/proc/{{VICTIM}}/{name}')") for name in shown),
        ("a process's memory", "d = os.open(f'/proc/{VICTIM}/mem', os.O_RDONLY); worked = True"),
        ("a process's program", "worked = bool(os.readlink(f'/proc/{VICTIM}/exe'))"),
        ("a process's folder", "worked = bool(os.readlink(f'/proc/{VICTIM}/cwd'))"),
        ("a process's namespaces", "worked = bool(os.readlink(f'/proc/{VICTIM}/ns/net'))"),
        ("a process's descriptors", "worked = bool(os.listdir(f'/proc/{VICTIM}/fd'))"),
        ("a process's threads", "worked = bool(os.listdir(f'/proc/{VICTIM}/task'))"),
        ("a process's oom score", "worked = writes(f'/proc/{VICTIM}/oom_score_adj', '500')"),
        ("a process's name", "worked = bool(open(f'/proc/{VICTIM}/comm').read())"),
        ("a process's limits", "worked = reads(f'/proc/{VICTIM}/limits')"),
    ]


def other_processes() -> list[tuple[str, str]]:
    return [
        ("signal 0", "os.kill(VICTIM, 0); worked = True"),
        ("a signal", "os.kill(VICTIM, signal.SIGURG); worked = True"),
        ("a signal to a thread", "worked = must(200, VICTIM, 23)"),
        ("a signal to a group", "os.killpg(os.getpgid(VICTIM), 0); worked = True"),
        ("a queued signal", "worked = libc.sigqueue(VICTIM, 0, 0) == 0"),
        ("a handle", "worked = os.pidfd_open(VICTIM) > 0"),
        ("a signal by handle", "signal.pidfd_send_signal(os.pidfd_open(VICTIM), 0); worked = True"),
        ("a share of a descriptor", "worked = must(438, os.pidfd_open(VICTIM), 0, 0)"),
        (
            "tracing",
            "worked = must(101, 0x4206, VICTIM, 0, 0); libc.syscall(101, 17, VICTIM, 0, 0)",
        ),
        ("comparing", "worked = must(312, os.getpid(), VICTIM, 0, 0, 0)"),
        ("its processors", "worked = bool(os.sched_getaffinity(VICTIM))"),
        (
            "binding it to processors",
            "os.sched_setaffinity(VICTIM, os.sched_getaffinity(0)); worked = True",
        ),
        ("its priority", "os.setpriority(os.PRIO_PROCESS, VICTIM, 0); worked = True"),
        (
            "its class",
            "os.sched_setscheduler(VICTIM, os.SCHED_BATCH, os.sched_param(0)); worked = True",
        ),
        ("its limits", "resource.prlimit(VICTIM, resource.RLIMIT_CORE); worked = True"),
        (
            "setting its limits",
            "resource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0)); worked = True",
        ),
        ("its disk priority", "worked = must(251, 1, VICTIM, (2 << 13) | 4)"),
        ("its session", "worked = os.getsid(VICTIM) > 0"),
        ("its group", "worked = os.getpgid(VICTIM) > 0"),
        (
            "reading its memory",
            "b = ctypes.create_string_buffer(8); i = struct.pack('QQ', ctypes.addressof(b), 8); r = struct.pack('QQ', ADDRESS, 8); worked = must(310, VICTIM, i, 1, r, 1, 0)",
        ),
        ("moving its pages", "worked = must(279, VICTIM, 0, None, None, None, 0)"),
        (
            "its robust list",
            "a, b = ctypes.c_void_p(), ctypes.c_size_t(); worked = must(274, VICTIM, ctypes.byref(a), ctypes.byref(b))",
        ),
        ("its schedule", "os.sched_rr_get_interval(VICTIM); worked = True"),
        (
            "its clock",
            "worked = libc.clock_getcpuclockid(VICTIM, ctypes.byref(ctypes.c_int())) == 0",
        ),
    ]


def process_one() -> list[tuple[str, str]]:
    """Process 1, which watches over what runs inside; outside a process of the same user."""
    paths = ("environ", "maps", "auxv", "syscall", "smaps", "pagemap", "personality")
    return [
        *((f"process 1's {name}", f"worked = reads(f'/proc/{{TARGET}}/{name}')") for name in paths),
        *(
            (f"process 1's {name}", f"worked = bool(os.readlink(f'/proc/{{TARGET}}/{name}'))")
            for name in ("exe", "cwd", "root", "ns/user", "ns/pid", "ns/mnt", "ns/net")
        ),
        ("process 1's memory", "os.open(f'/proc/{TARGET}/mem', os.O_RDONLY); worked = True"),
        ("process 1's descriptors", "worked = bool(os.listdir(f'/proc/{TARGET}/fd'))"),
        ("a share of process 1's descriptor", "worked = must(438, os.pidfd_open(TARGET), 0, 0)"),
        ("tracing process 1", "worked = must(101, 0x4206, TARGET, 0, 0)"),
        (
            "process 1's limits",
            "resource.prlimit(TARGET, resource.RLIMIT_NOFILE, (64, 64)); worked = True",
        ),
        ("comparing with process 1", "worked = must(312, os.getpid(), TARGET, 0, 0, 0)"),
        (
            "reading process 1's memory",
            "b = ctypes.create_string_buffer(8); i = struct.pack('QQ', ctypes.addressof(b), 8); r = struct.pack('QQ', ADDRESS, 8); worked = must(310, TARGET, i, 1, r, 1, 0)",
        ),
    ]
