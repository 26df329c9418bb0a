"""Nothing that can be read inside a sandbox tells whether it is online."""

import re
from collections import Counter

from assay_contracts.runs import NetworkMode
from assay_sandboxes.conformance.under_test import ProviderUnderTest

READ = """
import json, os, socket, stat
def read(path):
    try:
        with open(path, errors="replace") as file: return file.read(200_000)
    except OSError as error: return str(error.errno)
def listing(folder):
    found = []
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            status = os.lstat(os.path.join(path, name))
            found.append((os.path.join(path, name), stat.filemode(status.st_mode), status.st_uid))
    return found
own = ("mountinfo", "mounts", "status", "cgroup", "limits", "uid_map", "gid_map", "loginuid",
       "oom_score_adj", "attr/current", "timerslack_ns", "personality", "setgroups")
net = sorted(os.listdir("/proc/self/net"))
seen = {
    "environment": sorted(os.environ.items()),
    "host": [os.uname().nodename, socket.gethostname(), socket.if_nameindex()],
    "files": {name: read(f"/etc/{name}") for name in sorted(os.listdir("/etc"))},
    "of its own": {name: read(f"/proc/self/{name}") for name in own},
    "of the network": {name: read(f"/proc/self/net/{name}") for name in net},
    "of the others": {pid: [read(f"/proc/{pid}/{name}") for name in ("cmdline", "comm", "status")]
                      for pid in sorted(os.listdir("/proc")) if pid == "1"},
    "settings": {path: read(path) for path, _, _ in listing("/proc/sys/net/ipv4/conf")},
    "places": [listing(place) for place in ("/workspace", "/run", "/dev", "/home", "/tmp")],
}
print(json.dumps(seen, sort_keys=True, indent=1))
"""
CHANCE = (
    r"\b[0-9a-f]{8,16}\b",  # what sandboxes are numbered by
    r"(?m)^.*(ctxt_switches|VmRSS|VmHWM|RssAnon|RssFile|VmData|VmPTE).*$",
)
"""What differs between any two sandboxes."""


async def seen_in(bubblewrap: ProviderUnderTest, network: NetworkMode) -> list[str]:
    async with bubblewrap.open(network) as sandbox:
        await sandbox.upload([("/home/agent/read.py", READ.encode())])
        told = await sandbox.execute("python3 ~/read.py > ~/out")
        assert told.exit_code == 0, told.output
        (content,) = await sandbox.download(["/home/agent/out"])
    assert isinstance(content, bytes)
    return content.decode().splitlines()


def without_chance(lines: list[str]) -> list[str]:
    text = "\n".join(line.replace("\\n", "\n") for line in lines)
    for pattern in CHANCE:
        text = re.sub(pattern, "#", text)
    text = re.sub(r"(?m)^ *\d+: (?=[0-9A-F]{8}:)", "", text)
    # Numbers of mounts, sockets, ports and processes are given out one after another.
    return re.sub(r"(?<![.\w])\d{2,}(?![.\w])|:[0-9A-F]{4}\b", "#", text).splitlines()


async def test_an_online_and_an_offline_sandbox_show_the_same(
    bubblewrap: ProviderUnderTest,
) -> None:
    online = without_chance(await seen_in(bubblewrap, "open"))
    offline = without_chance(await seen_in(bubblewrap, "blocked"))
    assert len(online) > 500
    # Where a socket stands in a table is chance too: what counts is what is there.
    assert Counter(online) - Counter(offline) == Counter()
    assert Counter(offline) - Counter(online) == Counter()
