"""Reads through the whole stack beside a bare route with the same payload; many listeners."""

import asyncio
import tempfile
from pathlib import Path

import httpx

from assay_cli.embedded.stack import Stack
from bench.bare import bare_app, held, quantile
from bench.bench_ingest import UPLOAD, at_once, small_skill
from bench.load import Load, load
from bench.report import Bench

SKILLS = 25
CLIENTS = 50
ROUNDS = 5
ROUND_S = 2.0
WARM_UP_S = 1.0
LISTENERS = 500
PATIENCE_S = 120
SKILLS_PATH = "/api/admin/skills"
BARE = """
import json
from pathlib import Path

from fastapi import FastAPI

app = FastAPI()


def answer_with(payload):
    async def route() -> dict:
        return payload

    return route


for name in ("list", "detail", "status"):
    app.get(f"/{name}")(answer_with(json.loads(Path(f"{name}.json").read_text())))
"""


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with (
            Stack(folder / "data") as stack,
            httpx.AsyncClient(
                base_url=stack.url,
                headers={"Authorization": f"Bearer {stack.admin_token}"},
                timeout=PATIENCE_S,
            ) as http,
        ):
            # Nothing moves on while it is read: what is measured is the reading.
            with held(stack.pid("judge"), stack.pid("sandbox-runner")):
                await at_once(http, UPLOAD, [small_skill(f"read-{n}") for n in range(SKILLS)])
                listed = (await http.get(SKILLS_PATH)).raise_for_status().json()
                ids = [skill["skill_id"] for skill in listed["skills"]]
                await reads(bench, stack, http, folder, ids)
                await listeners(bench, stack, http, ids[0])


# -- reads -----------------------------------------------------------------------------------------


async def reads(
    bench: Bench, stack: Stack, http: httpx.AsyncClient, folder: Path, ids: list[str]
) -> None:
    paths = {
        "list": SKILLS_PATH,
        "detail": f"{SKILLS_PATH}/{ids[0]}",
        "status": f"{SKILLS_PATH}/{ids[0]}/validation-status",
    }
    for name, path in paths.items():
        payload = (await http.get(path)).raise_for_status()
        (folder / f"{name}.json").write_bytes(payload.content)
    async with bare_app(BARE, folder) as bare_url:
        for name, path in paths.items():
            ratio = await beside(bench, stack, bare_url, name, [path])
            bench.reach(f"{name}, share of the bare route's requests a second", ratio, 0.35, "x")
        each = [f"{SKILLS_PATH}/{skill_id}" for skill_id in ids]
        ratio = await beside(bench, stack, bare_url, "detail", each)
        bench.show(f"the same, over {len(each)} skills in turn", f"{ratio:.2f} x")


async def beside(bench: Bench, stack: Stack, bare_url: str, name: str, paths: list[str]) -> float:
    """The share of the bare route's requests a second that ours reaches."""
    bare, ours = Load(), Load()
    targets = ((bare, bare_url, [f"/{name}"]), (ours, stack.url, paths))
    for number in range(ROUNDS + 1):
        # In turns, so that what else this machine does is done to both.
        for seen, url, asked in targets:
            seconds = ROUND_S if number else WARM_UP_S
            answered = await load(
                url, asked, clients=CLIENTS, seconds=seconds, token=stack.admin_token
            )
            if number:
                seen.add(answered)
    for who, seen in (("bare route", bare), ("assay", ours)):
        p99 = 1e3 * quantile(seen.times_s, 0.99)
        figure = f"{seen.per_second:.0f} a second, p99 {p99:.0f} ms"
        bench.show(f"{name}, {CLIENTS} clients, {who}", figure)
    return ours.per_second / bare.per_second


# -- listeners -------------------------------------------------------------------------------------


async def listeners(bench: Bench, stack: Stack, http: httpx.AsyncClient, skill_id: str) -> None:
    """All of them hear the first status and, when the validation is cancelled, the last."""
    began = asyncio.Semaphore(0)
    async with asyncio.timeout(PATIENCE_S):
        following = [
            asyncio.create_task(_heard_the_end(stack, skill_id, began)) for _ in range(LISTENERS)
        ]
        for _ in following:
            await began.acquire()
        memory = _resident_mb(stack.pid("gateway"))
        (await http.post(f"{SKILLS_PATH}/{skill_id}/cancel")).raise_for_status()
        ended = sum(await asyncio.gather(*following))
    most = max(memory, _resident_mb(stack.pid("gateway")))
    bench.reach(f"of {LISTENERS} listeners heard the end", ended, LISTENERS, "listeners")
    bench.hold(f"gateway's memory with {LISTENERS} listeners", most, 200, "MB")


async def _heard_the_end(stack: Stack, skill_id: str, began: asyncio.Semaphore) -> bool:
    host, _, port = stack.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"GET {SKILLS_PATH}/{skill_id}/events HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {stack.admin_token}\r\nConnection: close\r\n\r\n".encode()
    )
    try:
        await reader.readuntil(b"event: status")
        began.release()
        return b'"validation_stage":"inconclusive"' in await reader.read()
    finally:
        writer.close()


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} has no memory")
