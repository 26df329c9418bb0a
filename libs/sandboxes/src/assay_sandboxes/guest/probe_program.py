"""A program that tries every way out at once, since each may take its whole time."""

from __future__ import annotations

import json
import sys
import threading

from assay_sandboxes.guest.network_probe import try_address, try_name


def main() -> None:
    """Print what came of each, as JSON. The argument is what to try, as JSON."""
    request = json.loads(sys.argv[1])
    seconds: float = request["seconds"]
    addresses = [""] * len(request["addresses"])
    names = [""] * len(request["names"])

    def address(position: int, host: str, port: int) -> None:
        addresses[position] = try_address(host, port, seconds)

    def name(position: int, host: str) -> None:
        names[position] = try_name(host)

    tries = [
        threading.Thread(target=address, args=(position, host, port))
        for position, (host, port) in enumerate(request["addresses"])
    ] + [
        threading.Thread(target=name, args=(position, host))
        for position, host in enumerate(request["names"])
    ]
    for each in tries:
        each.start()
    for each in tries:
        each.join()
    sys.stdout.write(json.dumps({"addresses": addresses, "names": names}) + "\n")
