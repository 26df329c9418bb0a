"""The stand-in itself: Daytona's REST interface, its events and its toolbox, on loopback."""

import asyncio
import json
import random
import secrets
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import socketio  # type: ignore[import-untyped]  # it has none
from aiohttp import BodyPartReader, MultipartWriter, web

from assay_testkit.daytona.resources import (
    Faults,
    HeldSandbox,
    KeptSnapshot,
    errors,
    lost,
    problem,
    snapshot_as_json,
)
from assay_testkit.daytona.sandboxes import LocalMachine, MachineFiles

KEY: Final = "a-key-for-tests"
CANARY: Final = "canary.example"
"""A name that only a sandbox whose block was ignored can look up."""


class DaytonaDouble:
    """Everything that an account has."""

    def __init__(self, folder: Path, *, seed: int = 1) -> None:
        self.faults = Faults()
        self.lacks: set[str] = set()
        """Of `seccomp` and `strace`, what new sandboxes are to be without."""
        self.sandboxes: dict[str, HeldSandbox] = {}
        self.snapshots: dict[str, KeptSnapshot] = {}
        self.counts: Counter[str] = Counter()
        self.uploaded: list[int] = []
        """Sizes of what was uploaded."""
        self.most_at_once = 0
        self.url = ""
        self._folder = folder
        self._random = random.Random(seed)  # noqa: S311 - the same faults each time
        self._events = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["DaytonaDouble"]:
        """Serve on a free port of the loopback until left; then nothing is left running."""
        app = web.Application(client_max_size=1 << 30, middlewares=[errors])
        app.add_routes(self._routes())
        self._events.attach(app, socketio_path="/api/socket.io")
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        listening = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, listening).start()
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield self
        finally:
            for task in self._tasks:
                task.cancel()
            for held in list(self.sandboxes.values()):
                await held.machine.stop()
            for kept in self.snapshots.values():
                kept.files.remove()
            await runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"{self.url}/api"

    def _routes(self) -> list[web.RouteDef]:
        toolbox = "/toolbox/{id}"
        return [
            web.post("/api/sandbox", self._create),
            web.get("/api/sandbox", self._list),
            web.get("/api/sandbox/{id}", self._get),
            web.delete("/api/sandbox/{id}", self._delete),
            web.post("/api/sandbox/{id}/snapshot", self._take_snapshot),
            web.get("/api/snapshots", self._list_snapshots),
            web.get("/api/snapshots/{id}", self._get_snapshot),
            web.delete("/api/snapshots/{id}", self._delete_snapshot),
            web.post("/api/snapshots/{id}/activate", self._activate),
            web.post(f"{toolbox}/process/execute", self._execute),
            web.post(f"{toolbox}/files/bulk-upload", self._upload),
            web.post(f"{toolbox}/files/bulk-download", self._download),
        ]

    def _happens(self, likelihood: float) -> bool:
        return self._random.random() < likelihood

    def _later(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- sandboxes ------------------------------------------------------------------------------

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            raise problem(401, "Unauthorized")
        self.counts["create"] += 1
        params = await request.json()
        faults = self.faults
        if self._happens(faults.create_rate_limited):
            wait = {"Retry-After-Sandbox-Create": "0.05"}
            raise problem(429, "Rate limit exceeded", headers=wait)
        if self._happens(faults.create_over_quota):
            raise problem(400, "Total CPU limit exceeded. Maximum allowed: 10.")
        if self._happens(faults.create_fails):
            raise problem(500, "Internal server error")
        if any(held.name == params["name"] for held in self.sandboxes.values()):
            raise problem(409, f"Sandbox with name {params['name']} already exists")
        if self._happens(faults.create_late):
            self._later(self._make_late(params))
            raise lost(request)
        held = await self._make(params)
        if self._happens(faults.create_answer_lost):
            raise lost(request)
        return web.json_response(self._as_json(held))

    async def _make_late(self, params: dict[str, Any]) -> None:
        await asyncio.sleep(0.05)
        await self._make(params)

    async def _make(self, params: dict[str, Any]) -> HeldSandbox:
        source = None
        if params.get("snapshot"):
            source = next(
                (kept for kept in self.snapshots.values() if kept.name == params["snapshot"]), None
            )
            if source is None or source.state != "active":
                raise problem(400, f"Snapshot {params['snapshot']} not found or inactive")
        identity = secrets.token_hex(8)
        files = MachineFiles(self._folder / identity)
        await asyncio.to_thread(files.make, source.files if source else None)
        blocked = bool(params.get("networkBlockAll"))
        cut_off = blocked and not self._happens(self.faults.block_ignored)
        held = HeldSandbox(
            id=identity,
            name=params["name"],
            labels=params.get("labels") or {},
            blocked=blocked,
            snapshot=params.get("snapshot"),
            machine=LocalMachine(
                files,
                cut_off=cut_off,
                known_hosts="" if cut_off else f"127.0.0.1 {CANARY}\n",
                lacks=frozenset(self.lacks),
            ),
            params=params,
        )
        self.sandboxes[identity] = held
        self.most_at_once = max(self.most_at_once, len(self.sandboxes))
        self._later(self._start(held))
        return held

    async def _start(self, held: HeldSandbox) -> None:
        if self._happens(self.faults.start_fails):
            await self._change_state(held, "error")
            return
        await held.machine.start()
        await self._change_state(held, "started")

    async def _change_state(self, held: HeldSandbox, state: str) -> None:
        old, held.state = held.state, state
        body = {"sandbox": self._as_json(held), "oldState": old, "newState": state}
        await self._events.emit("sandbox.state.updated", body)

    def _find(self, request: web.Request) -> HeldSandbox:
        wanted = request.match_info["id"]
        for held in self.sandboxes.values():
            if wanted in (held.id, held.name):
                return held
        raise problem(404, f"Sandbox with ID or name {wanted} not found")

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._as_json(self._find(request)))

    async def _list(self, request: web.Request) -> web.Response:
        wanted = json.loads(request.query.get("labels", "{}"))
        items = [
            self._as_json(held)
            for held in self.sandboxes.values()
            if wanted.items() <= held.labels.items()
        ]
        return web.json_response({"items": items, "nextCursor": None, "total": len(items)})

    async def _delete(self, request: web.Request) -> web.Response:
        held = self._find(request)
        self.counts["delete"] += 1
        if self._happens(self.faults.delete_fails):
            raise problem(500, "Internal server error")
        changing = held.state in ("creating", "snapshotting", "destroying")
        if changing or self._happens(self.faults.delete_conflicts):
            raise problem(409, "Sandbox state change in progress")
        held.state = "destroying"
        self._later(self._destroy(held))
        return web.json_response(self._as_json(held))

    async def _destroy(self, held: HeldSandbox) -> None:
        await held.machine.stop()
        del self.sandboxes[held.id]
        await self._change_state(held, "destroyed")

    def _as_json(self, held: HeldSandbox) -> dict[str, Any]:
        return {
            "id": held.id,
            "organizationId": "tests",
            "name": held.name,
            "snapshot": held.snapshot,
            "user": "daytona",
            "env": {},
            "labels": held.labels,
            "public": False,
            "networkBlockAll": held.blocked,
            "kvm": False,
            "target": held.params.get("target") or "local",
            "cpu": 1,
            "gpu": 0,
            "memory": 1,
            "disk": 3,
            "state": held.state,
            "createdAt": held.created_at,
            "toolboxProxyUrl": f"{self.url}/toolbox",
        }

    # -- snapshots ------------------------------------------------------------------------------

    async def _take_snapshot(self, request: web.Request) -> web.Response:
        held = self._find(request)
        name = (await request.json())["name"]
        if any(kept.name == name for kept in self.snapshots.values()):
            raise problem(409, f"Snapshot with name {name} already exists")
        if held.state != "started":
            raise problem(409, "Sandbox state change in progress")
        kept = KeptSnapshot(
            secrets.token_hex(8), name, MachineFiles(self._folder / secrets.token_hex(8)), held.id
        )
        self.snapshots[kept.id] = kept
        held.state = "snapshotting"
        self._later(self._copy(held, kept))
        if self._happens(self.faults.snapshot_answer_lost):
            raise lost(request)
        return web.json_response(self._as_json(held))

    async def _copy(self, held: HeldSandbox, kept: KeptSnapshot) -> None:
        await asyncio.to_thread(kept.files.make, held.machine.files)
        if self._happens(self.faults.snapshot_fails):
            kept.state = "error"
        elif not self._happens(self.faults.snapshot_never_active):
            kept.state = "active"
        await self._change_state(held, "started")

    def _find_snapshot(self, request: web.Request) -> KeptSnapshot:
        wanted = request.match_info["id"]
        for kept in self.snapshots.values():
            if wanted in (kept.id, kept.name):
                return kept
        raise problem(404, f"Snapshot {wanted} not found")

    async def _get_snapshot(self, request: web.Request) -> web.Response:
        return web.json_response(snapshot_as_json(self._find_snapshot(request)))

    async def _list_snapshots(self, request: web.Request) -> web.Response:
        page, limit = int(request.query.get("page", 1)), int(request.query.get("limit", 100))
        everything = [snapshot_as_json(kept) for kept in self.snapshots.values()]
        items = everything[(page - 1) * limit : page * limit]
        pages = -(-len(everything) // limit)
        return web.json_response(
            {"items": items, "total": len(everything), "page": page, "totalPages": pages}
        )

    async def _delete_snapshot(self, request: web.Request) -> web.Response:
        kept = self._find_snapshot(request)
        if self._happens(self.faults.delete_fails):
            raise problem(500, "Internal server error")
        del self.snapshots[kept.id]
        await asyncio.to_thread(kept.files.remove)
        return web.Response()

    async def _activate(self, request: web.Request) -> web.Response:
        kept = self._find_snapshot(request)
        kept.state = "active"
        return web.json_response(snapshot_as_json(kept))

    # -- toolbox --------------------------------------------------------------------------------

    async def _execute(self, request: web.Request) -> web.Response:
        held = self._started(request)
        self.counts["execute"] += 1
        if self._happens(self.faults.exec_fails):
            raise problem(502, "Bad gateway")
        asked = await request.json()
        answer, output = await held.machine.ask(
            {
                "do": "execute",
                "command": asked["command"],
                "cwd": asked.get("cwd"),
                "timeout": asked.get("timeout"),
            }
        )
        if self._happens(self.faults.exec_answer_lost):
            raise lost(request)
        if "timeout" in answer:
            raise problem(408, "command execution timeout")
        said = output.decode(errors="replace")
        return web.json_response({"exitCode": answer["code"], "result": said})

    async def _upload(self, request: web.Request) -> web.Response:
        held = self._started(request)
        self.counts["upload"] += 1
        errors: list[str] = []
        path = ""
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            content = bytes(await part.read())
            if part.name and part.name.endswith(".path"):
                path = content.decode()
                continue
            self.uploaded.append(len(content))
            answer, _ = await held.machine.ask({"do": "write", "path": path}, content)
            errors += [answer["error"]] if "error" in answer else []
        if errors:
            return web.json_response({"errors": errors}, status=400)
        return web.Response()

    async def _download(self, request: web.Request) -> web.Response:
        held = self._started(request)
        self.counts["download"] += 1
        parts = MultipartWriter("form-data")
        for path in (await request.json())["paths"]:
            answer, content = await held.machine.ask({"do": "read", "path": path})
            name = "error" if "error" in answer else "file"
            part = parts.append(answer["error"].encode() if "error" in answer else content)
            part.set_content_disposition("form-data", quote_fields=False, name=name, filename=path)
        return web.Response(body=parts)

    def _started(self, request: web.Request) -> HeldSandbox:
        held = self._find(request)
        if held.state not in ("started", "snapshotting"):
            raise problem(400, "bad request: no IP address found. Is the Sandbox started?")
        return held
