# ruff: noqa: E501  # a table of programs, a line for each
"""Attempts to get out of a sandbox, as small programs that also run outside of one.

Each sets `worked`. Outside, where nothing of ours stands in its way, it has to: else it would prove
nothing to fail inside. `run_probes` makes the program that runs them, each in a process of its own;
`control` says where its control runs: `plain`, as whoever runs the tests; `rooted`, as root of
namespaces that are made for it and thrown away.
"""

from typing import Final, Literal, NamedTuple

from assay_testkit.escapes_by_processes import files_of_the_machine, other_processes, process_one

Control = Literal["plain", "rooted"]


class EscapeProbe(NamedTuple):
    """One attempt."""

    name: str
    code: str
    control: Control


PRELUDE: Final = '''
import ctypes, errno, fcntl, json, os, resource, select, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.ESRCH, errno.ENOENT}
def call(number, *arguments):
    """Whether the kernel takes a system call, were it only to find fault with what is asked."""
    result = libc.syscall(number, *arguments)
    return result >= 0 or ctypes.get_errno() not in REFUSED
def must(number, *arguments):
    """Make a system call."""
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True
def reads(path):
    with open(path, "rb") as file: return bool(file.read(64))
def writes(path, text):
    descriptor = os.open(path, os.O_WRONLY)
    return os.write(descriptor, text.encode()) > 0
def reaches(host, port, kind=socket.SOCK_STREAM):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, kind) as there:
        there.settimeout(2)
        there.connect((host, port))
        there.send(b"x")
        return there.recv(1) == b"x"
def sysctl(path):
    with open("/proc/sys/" + path) as file: before = file.read()
    return writes("/proc/sys/" + path, before)
'''

MAIN: Final = """
def serve(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family)
    server.bind((host, 8099)); server.listen(8)
    def work():
        while True:
            there, _ = server.accept()
            there.sendall(there.recv(1)); there.close()
    threading.Thread(target=work, daemon=True).start()
def attempt(name, code):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.alarm(4)
        try:
            exec(code, globals())
            said = "worked" if worked else "came to nothing"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(into, said.encode()[:200])
        os._exit(0)
    os.close(into)
    said = b""
    while select.select([out], [], [], 6)[0] and (part := os.read(out, 200)): said += part
    os.close(out)
    for end in (lambda: os.killpg(child, 9), lambda: os.kill(child, 9)):
        try: end()
        except OSError: pass
    os.waitpid(child, 0)
    # A probe that makes a child says it twice.
    return "worked" if said.startswith(b"worked") else said.decode(errors="replace") or "ended"
for name, value in GIVEN.items(): globals()[name] = value
os.makedirs(FOLDER, exist_ok=True)
for host in ADDRESSES:
    os.system(f"ip addr add {host}/{128 if ':' in host else 32} dev lo nodad 2>/dev/null || ip addr add {host}/32 dev lo")
for host in ADDRESSES:
    try: serve(host)
    except OSError: pass
print(json.dumps({name: attempt(name, code) for name, code in PROBES}))
"""


def run_probes(probes: list[EscapeProbe], given: dict[str, object], addresses: list[str]) -> str:
    """A program that tries them all and prints, as JSON, what came of each."""
    pairs = [(probe.name, probe.code) for probe in probes]
    return f"{PRELUDE}\nGIVEN = {given!r}\nADDRESSES = {addresses!r}\nPROBES = {pairs!r}\n{MAIN}"


METADATA_AND_PRIVATE: Final = (
    *("169.254.169.254", "169.254.170.2", "169.254.0.23", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.192", "10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.1", "192.168.0.1"),
    *("100.64.0.1", "198.18.0.1", "fd00:ec2::254", "fd20:ce::254", "fc00::7", "fd12:3456::7"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "2002:a9fe:a9fe::1"),
)


def _read_only() -> list[tuple[str, str]]:
    """Changing what is not the sandbox's; outside, copies that are ours."""
    return [
        ("appending to a skill", "worked = bool(open(SKILL, 'a').write('x'))"),
        ("emptying a skill", "os.truncate(SKILL, 0); worked = True"),
        ("removing a skill", "os.unlink(SKILL2); worked = True"),
        ("renaming a skill", "os.rename(SKILL3, SKILL3 + '2'); worked = True"),
        ("a new file beside a skill", "open(SKILLS + '/new', 'w').close(); worked = True"),
        ("a new folder beside a skill", "os.mkdir(SKILLS + '/folder'); worked = True"),
        ("a link beside a skill", "os.symlink('/', SKILLS + '/link'); worked = True"),
        ("rights of a skill", "os.chmod(SKILL, 0o777); worked = True"),
        ("times of a skill", "os.utime(SKILL, (0, 0)); worked = True"),
        ("attributes of a skill", "os.setxattr(SKILL, 'user.x', b'x'); worked = True"),
        ("a hard link to a skill", "os.link(SKILL, SKILLS + '/hard'); worked = True"),
        (
            "a socket beside a skill",
            "s = socket.socket(socket.AF_UNIX); s.bind(SKILLS + '/s'); worked = True",
        ),
        ("a pipe beside a skill", "os.mkfifo(SKILLS + '/p'); worked = True"),
        (
            "room for a skill",
            "d = os.open(SKILL, os.O_RDWR); os.posix_fallocate(d, 0, 9); worked = True",
        ),
        (
            "mapping a skill for writing",
            "import mmap; d = os.open(SKILL, os.O_RDWR); mmap.mmap(d, 1)[0:1]; worked = True",
        ),
        ("a program of ours", "worked = bool(open(PROGRAM, 'a').write('x'))"),
        ("the list of users", "worked = bool(open(USERS, 'a').write('x'))"),
        ("the resolver's settings", "worked = bool(open(RESOLVER, 'a').write('x'))"),
        ("the list of hosts", "worked = bool(open(HOSTS, 'a').write('x'))"),
        ("a program of the machine", "worked = bool(open(SYSTEM + '/true', 'a').write('x'))"),
        ("a new program of the machine", "open(SYSTEM + '/new', 'w').close(); worked = True"),
        ("a new file at the top", "open(TOP + '/new', 'w').close(); worked = True"),
        ("a new device folder", "open(DEVICES + '/new', 'w').close(); worked = True"),
    ]


def _network() -> list[tuple[str, str]]:
    hosts = ("127.0.0.1", "127.1.2.3", "0.0.0.0", "::ffff:127.0.0.1")  # noqa: S104  # as a caller
    return [
        *(
            (f"the machine's loopback by {host}", f"worked = reaches({host!r}, PORT4)")
            for host in hosts
        ),
        ("the machine's loopback by ::1", "worked = reaches('::1', PORT6)"),
        (
            "the machine's loopback by name",
            "worked = reaches(socket.gethostbyname('localhost'), PORT4)",
        ),
        ("an address of the machine", "worked = reaches(OWN, PORT_OWN)"),
        (
            "datagrams to the machine's loopback",
            "worked = reaches('127.0.0.1', PORT_UDP, socket.SOCK_DGRAM)",
        ),
        (
            "the machine's sockets",
            "worked = any(f':{PORT4:04X}' in line for line in open('/proc/net/tcp'))",
        ),
        ("the machine's socket files", "worked = ABSTRACT in open('/proc/net/unix').read()"),
        ("the machine's routes", "worked = len(open('/proc/net/route').readlines()) > 1"),
        (
            "the machine's interfaces",
            "worked = [name for _, name in socket.if_nameindex()] != ['lo']",
        ),
    ]


def _rooted_network() -> list[tuple[str, str]]:
    kinds = (
        ("raw ICMP", 2, 3, 1),
        ("raw TCP", 2, 3, 6),
        ("raw UDP", 2, 3, 17),
        ("raw IP", 2, 3, 255),
        ("raw ICMP of version 6", 10, 3, 58),
        ("packets", 17, 3, 0x300),
        ("cooked packets", 17, 2, 0x300),
    )
    up = "struct.pack('16sH14x', b'lo', 0x49)"
    return [
        *((f"{host}", f"worked = reaches({host!r}, 8099)") for host in METADATA_AND_PRIVATE),
        *(
            (f"sockets for {name}", f"socket.socket({a}, {b}, {c}); worked = True")
            for name, a, b, c in kinds
        ),
        (
            "an interface's flags",
            f"s = socket.socket(); fcntl.ioctl(s, 0x8914, {up}); worked = True",
        ),
        (
            "an interface's address",
            "s = socket.socket(); fcntl.ioctl(s, 0x8916, struct.pack('16sHHI8x', b'lo', 2, 0, 0x0100007f)); worked = True",
        ),
        ("another source address", "s = socket.socket(); s.setsockopt(0, 19, 1); worked = True"),
        ("marking packets", "s = socket.socket(); s.setsockopt(1, 36, 7); worked = True"),
        ("reserved ports", "s = socket.socket(); s.bind(('127.0.0.1', 81)); worked = True"),
        *(
            (f"setting net/{name}", f"worked = sysctl('net/{name}')")
            for name in (
                "ipv4/ip_forward",
                "ipv4/ip_unprivileged_port_start",
                "ipv4/tcp_syncookies",
                "ipv4/conf/lo/accept_local",
                "ipv6/conf/all/forwarding",
                "core/somaxconn",
            )
        ),
    ]


def _rooted() -> list[tuple[str, str]]:
    spaces = (
        ("user", 0x10000000),
        ("mount", 0x20000),
        ("network", 0x40000000),
        ("process", 0x20000000),
        ("ipc", 0x08000000),
        ("host name", 0x04000000),
        ("cgroup", 0x02000000),
        ("time", 0x80),
    )
    entered = ("mnt", "net", "pid", "ipc", "uts", "cgroup")
    return [
        *((f"a new {name} namespace", f"worked = must(272, {flag})") for name, flag in spaces),
        *(
            (f"a child in a new {name} namespace", f"worked = must(56, {flag} | 17, 0, 0, 0, 0)")
            for name, flag in spaces[1:4]
        ),
        *(
            (
                f"entering a {name} namespace",
                f"d = os.open('/proc/self/ns/{name}', 0); worked = call(308, d, 0)",
            )
            for name in entered
        ),
        ("a mount", "worked = must(165, b'none', FOLDER.encode(), b'tmpfs', 0, None)"),
        ("a mount of processes", "worked = must(165, b'proc', FOLDER.encode(), b'proc', 0, None)"),
        (
            "showing a folder elsewhere",
            "worked = must(165, b'/', FOLDER.encode(), None, 0x5000, None)",
        ),
        (
            "a folder for writing again",
            "must(165, b'/usr', b'/usr', None, 0x1000, None); worked = must(165, None, b'/usr', None, 0x1020, None)",
        ),
        ("moving mounts out of sight", "worked = must(165, b'none', b'/', None, 0x44000, None)"),
        ("taking a mount away", "worked = call(166, b'/proc', 2)"),
        ("another root", "worked = must(161, FOLDER.encode())"),
        ("changing places of roots", "worked = call(155, FOLDER.encode(), FOLDER.encode())"),
        ("a new file system", "worked = must(430, b'tmpfs', 0)"),
        ("a tree to move", "worked = must(428, -100, b'/', 1)"),
        ("a mounted file system", "worked = must(433, -100, b'/', 0)"),
    ]


def _rooted_rights() -> list[tuple[str, str]]:
    return [
        ("another host name", "worked = must(170, b'other', 5)"),
        ("another domain", "worked = must(171, b'other', 5)"),
        ("becoming root", "os.setuid(0); worked = True"),
        ("becoming root's group", "os.setgid(0); worked = True"),
        ("secure bits", "worked = libc.prctl(28, 0x2f, 0, 0, 0) == 0"),
        (
            "capabilities",
            "header = (ctypes.c_uint32 * 2)(0x20080522, 0); worked = libc.capset(header, (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 0, 0, 0, 0)) == 0",
        ),
        (
            "ambient capabilities",
            "header = (ctypes.c_uint32 * 2)(0x20080522, 0); libc.capset(header, (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 1 << 21, 0, 0, 0)); worked = libc.prctl(47, 2, 21, 0, 0) == 0",
        ),
        ("the bounding set", "worked = libc.prctl(24, 21, 0, 0, 0) == 0"),
        ("owners of files", "open('owned', 'w').close(); os.chown('owned', 0, 0); worked = True"),
        ("rings around the filter", "worked = call(425, 1, ctypes.create_string_buffer(120))"),
        ("kernel keys", "worked = call(250, 0, -3, 0)"),
        ("a new kernel key", "worked = call(248, b'user', b'x', b'x', 1, -3)"),
        ("asking for a kernel key", "worked = call(249, b'user', b'x', None, 0)"),
        *(
            (f"setting {name}", f"worked = sysctl('{name}')")
            for name in (
                "kernel/hostname",
                "kernel/domainname",
                "user/max_user_namespaces",
                "user/max_net_namespaces",
                "user/max_mnt_namespaces",
            )
        ),
    ]


_PLAIN: Final = {
    "files": files_of_the_machine(),
    "other processes": other_processes(),
    "process 1": process_one(),
    "what is read-only": _read_only(),
    "network": _network(),
}
_ROOTED: Final = {
    "network of its own": _rooted_network(),
    "namespaces": _rooted(),
    "rights": _rooted_rights(),
}
PROBES: Final = tuple(
    EscapeProbe(f"{group}: {name}", code, "plain" if group in _PLAIN else "rooted")
    for group, listed in (_PLAIN | _ROOTED).items()
    for name, code in listed
)
