"""Processes killed at random while skills are validated: every one must end once, none be lost."""

import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from uuid import UUID

import httpx
import nats
from nats.aio.client import Client

from assay_cli.embedded.stack import Stack
from assay_contracts.topology import JETSTREAM_PREFIX
from assay_contracts.validations import ValidationCompleted
from assay_testkit.slow_skill import slow_skill
from bench.report import Bench

SEED = 1
SKILLS = 8
KILLING_S = 30.0
PATIENCE_S = 300.0


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-chaos-", ignore_cleanup_errors=True) as folder:
        async with Stack(Path(folder)) as stack:
            began = time.monotonic()
            dice = random.Random(SEED)  # noqa: S311  # chance that can be repeated is wanted
            headers = {"Authorization": f"Bearer {stack.admin_token}"}
            async with httpx.AsyncClient(base_url=stack.url, headers=headers, timeout=60) as http:
                skills, kills = await asyncio.gather(
                    upload_all(http, dice), kill_at_random(stack, dice)
                )
                verdicts = Counter(
                    await asyncio.gather(*(verdict_on(http, skill_id) for skill_id in skills))
                )
            said = Counter(await completions(stack))
            bench.show("processes killed", str(kills))
            bench.show("all had ended after", f"{time.monotonic() - began:.0f} s")
            bench.reach("validations that passed", verdicts["passed"], SKILLS, f"of {SKILLS}")
            once = sum(said[skill_id] == 1 for skill_id in skills)
            bench.reach("completions said exactly once", once, SKILLS, f"of {SKILLS}")
            left = await sandboxes_left(stack)
            bench.hold("sandboxes left behind", left, 0, "")


async def upload_all(http: httpx.AsyncClient, dice: random.Random) -> list[UUID]:
    async def upload(name: str) -> UUID:
        while True:
            try:
                answer = await http.post(
                    "/api/admin/skills/upload", files={"file": ("s.zip", slow_skill(name, 0.2))}
                )
            except httpx.TransportError:
                continue
            # The name is ours alone: if it is taken, an answer to us was lost on its way.
            if answer.status_code in (200, 409):
                body = answer.json()
                return UUID(body.get("skill_id") or body["details"]["skill_id"])
            await asyncio.sleep(0.2)

    skills = []
    for number in range(SKILLS):
        skills.append(await upload(f"chaos-{number}"))
        await asyncio.sleep(dice.uniform(0, KILLING_S / SKILLS))
    return skills


async def kill_at_random(stack: Stack, dice: random.Random) -> int:
    end, kills = time.monotonic() + KILLING_S, 0
    while time.monotonic() < end:
        await asyncio.sleep(dice.uniform(0.3, 2.0))
        process = dice.choice(sorted(stack.pids()))
        try:
            os.kill(stack.pid(process), signal.SIGKILL)
        except ProcessLookupError:
            continue
        kills += 1
    return kills


async def verdict_on(http: httpx.AsyncClient, skill_id: UUID) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                answer = await http.get(f"/api/admin/skills/{skill_id}/validation-status")
                if answer.status_code == 200 and answer.json()["step"] == "done":
                    return str(answer.json()["verdict"])
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)


async def completions(stack: Stack) -> list[UUID]:
    """The skill of every completion that the stream holds."""
    client: Client = await nats.connect(stack.bus_url("scorer"))
    try:
        js = client.jetstream(prefix=JETSTREAM_PREFIX)
        state = (await js.stream_info("FACTS")).state
        messages = [
            await js.get_msg("FACTS", n) for n in range(state.first_seq, state.last_seq + 1)
        ]
    finally:
        await client.close()
    return [
        ValidationCompleted.model_validate_json(message.data or b"").skill_id
        for message in messages
        if message.subject == ValidationCompleted.SUBJECT
    ]


async def sandboxes_left(stack: Stack) -> int:
    """After the runner's sweep, which comes every minute."""
    folder = stack.data.state("sandbox-runner") / "sandboxes"
    end = time.monotonic() + 90
    while folder.is_dir() and any(folder.iterdir()) and time.monotonic() < end:
        await asyncio.sleep(0.2)
    return len(list(folder.iterdir())) if folder.is_dir() else 0
