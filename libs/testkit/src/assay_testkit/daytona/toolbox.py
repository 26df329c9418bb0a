"""The daemon inside a stand-in's sandbox: runs commands and moves files for whoever connects.

A request is one line of JSON, with `size` bytes after it; so is the answer. Commands go to the
standard input of a shell, as they do at Daytona.
"""

import ctypes
import json
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO


def _execute(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    shell = subprocess.Popen(
        ["/bin/bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=request["cwd"] or "/",
    )
    try:
        output, _ = shell.communicate(request["command"].encode(), timeout=request["timeout"])
    except subprocess.TimeoutExpired:
        shell.kill()
        return {"timeout": True}, b""
    return {"code": shell.returncode}, output


def _write(request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        Path(request["path"]).parent.mkdir(parents=True, exist_ok=True)
        Path(request["path"]).write_bytes(body)
    except OSError as error:
        return {"error": str(error)}, b""
    return {}, b""


def _read(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        return {}, Path(request["path"]).read_bytes()
    except OSError as error:
        return {"error": str(error)}, b""


def _serve(stream: BinaryIO) -> None:
    with stream:
        request = json.loads(stream.readline())
        body = stream.read(request["size"])
        if request["do"] == "execute":
            answer, content = _execute(request)
        elif request["do"] == "write":
            answer, content = _write(request, body)
        else:
            answer, content = _read(request)
        try:
            stream.write(json.dumps({**answer, "size": len(content)}).encode() + b"\n" + content)
            stream.flush()
        except OSError:
            return


def _do_without_seccomp() -> None:
    """Have a listener already, after which the kernel gives no other; it is asked of nothing."""
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    allow = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(allow, len(allow))
    program = struct.pack("<H6xQ", 1, ctypes.addressof(code))
    libc.syscall(317, 1, 8, ctypes.create_string_buffer(program, len(program)))


def main() -> None:
    if "without-seccomp" in sys.argv[2:]:
        _do_without_seccomp()
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1] + ".new")
    server.listen(64)
    # Only now can it be found.
    Path(sys.argv[1] + ".new").rename(sys.argv[1])
    while True:
        connection, _ = server.accept()
        stream = connection.makefile("rwb")
        connection.close()
        threading.Thread(target=_serve, args=(stream,), daemon=True).start()


if __name__ == "__main__":
    main()
