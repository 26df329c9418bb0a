"""A sandbox at Daytona as the rest of the service sees it."""

import asyncio
import base64
import itertools
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from assay_contracts.runs import NetworkMode, Package, SandboxProof
from assay_sandboxes.bubblewrap.host.layout import ENVIRONMENT, HOME
from assay_sandboxes.daytona.snapshots import Snapshots
from assay_sandboxes.file_problems import problem_of
from assay_sandboxes.installed_packages import in_order, parse_inventory
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import (
    TIMED_OUT,
    WORKSPACE,
    ExecResult,
    FileError,
    Limits,
    NotOffline,
    ObservedCall,
    SandboxUnavailable,
)
from assay_sandboxes.remote.call_log import Asked, calls_of, parse_log, parse_trace
from assay_sandboxes.remote.guest_archive import packed, skill_digests
from assay_sandboxes.remote.guest_client import ROOT, Place, Questions
from assay_sandboxes.remote.guest_programs import PATH_INSIDE, PROBE

_ANSWER_BYTES: Final = 8 * 1024**2
_INLINE_BYTES: Final = 256 * 1024
_INLINE_UPLOAD_BYTES: Final = 32 * 1024
_INSIDE_S: Final = 60.0
_PROBES: Final = 3
_PROBE_PAUSE_S: Final = 1.0
_INSIDE: Final = f"{ROOT}/programs/{PATH_INSIDE}"

_METHODS: Final = {
    "seccomp": "a system call filter inside the sandbox that reports every call that names a "
    "destination, and questions to name servers, before the kernel acts on it",
    "strace": "strace inside the sandbox, which the sandbox's user could have tampered with",
}
_NOT_OBSERVED: Final = "Not observed: only a blocked network is watched."


class DaytonaSandbox:
    """A sandbox at Daytona. Made and ended by the provider."""

    def __init__(
        self, questions: Questions, snapshots: Snapshots, limits: Limits, *, base: str | None
    ) -> None:
        self._questions = questions
        self._snapshots = snapshots
        self._limits = limits
        self._base = base
        self._id = str(questions.sandbox.name)
        self._numbers = itertools.count(1)
        self._asked: dict[int, Asked] = {}
        self._calls_before: list[ObservedCall] = []
        self._cancelling: set[asyncio.Task[None]] = set()
        self._network: NetworkMode = "open"
        self._watch: str | None = None
        self._proof = ""
        self._lost: str | None = None
        self._place: Place

    @property
    def id(self) -> str:
        return self._id

    async def start(self, skills: Path, network: NetworkMode, probe: Probe) -> None:
        """Make the sandbox ours and, for a blocked network, prove that it is.

        Raises:
            NotOffline: it is not.
            SandboxUnavailable: it is of no use, or nobody could tell what it tries to reach.
        """
        self._network = network
        self._place = await self._questions.survey()
        wanted = await asyncio.to_thread(skill_digests, skills)
        archive = await asyncio.to_thread(packed, skills, wanted, self._place.skills)
        await self._questions.prepare(archive, {"skills": wanted, **self._user()})
        if network == "blocked":
            self._proof = await self._prove_blocked(probe)

    def end(self) -> None:
        """Take no more orders; the provider destroys it."""
        self._lost = "the sandbox is closed"
        for task in self._cancelling:
            task.cancel()

    # -- commands -------------------------------------------------------------------------------

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        longest = self._limits.command_seconds
        started = time.monotonic()
        answer = await self._run(
            [self._place.shell, "-c", command],
            cwd=cwd,
            seconds=longest if timeout_s is None else min(timeout_s, longest),
            keep=self._limits.output_bytes,
            asked=Asked(command, cwd),
        )
        return ExecResult(
            stdout=base64.b64decode(answer["out"]).decode(errors="replace"),
            stderr=base64.b64decode(answer["err"]).decode(errors="replace"),
            exit_code=TIMED_OUT if answer["timed_out"] else answer["code"],
            timed_out=answer["timed_out"],
            truncated=answer["truncated"],
            seconds=time.monotonic() - started,
        )

    async def _run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = WORKSPACE,
        seconds: float = _INSIDE_S,
        keep: int = _ANSWER_BYTES,
        asked: Asked | None = None,
    ) -> dict[str, Any]:
        """Run a program; only what was `asked` for from outside is watched."""
        self._check()
        number = next(self._numbers)
        watch = self._watch if asked is not None else None
        if asked is not None:
            self._asked[number] = asked
        request = {
            "number": number,
            "argv": argv,
            "cwd": cwd,
            "seconds": seconds,
            "keep": keep,
            "watch": watch,
            "environment": self._environment(number),
            "limits": {
                "memory_bytes": self._limits.memory_bytes,
                "processes": self._limits.processes,
                "file_bytes": self._limits.file_bytes,
            },
            **self._user(),
        }
        try:
            return await self._questions.ask("run", request, seconds=seconds)
        except asyncio.CancelledError:
            self._kill(number)
            raise

    def _kill(self, number: int) -> None:
        async def kill() -> None:
            answer = await self._questions.ask("kill", {"number": number})
            if not answer["begun"]:
                self._asked.pop(number, None)

        task = asyncio.create_task(kill())
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def _environment(self, number: int) -> dict[str, str]:
        return {
            **ENVIRONMENT,
            "PATH": f"{HOME}/.local/bin:{self._place.path}",
            # A look-up is asked once and under one name, so that it is counted once.
            "RES_OPTIONS": "attempts:1 timeout:2",
            "SANDBOX_COMMAND": str(number),
        }

    def _user(self) -> dict[str, int]:
        return {"uid": self._place.uid, "gid": self._place.gid}

    def _check(self) -> None:
        if self._lost is not None:
            raise SandboxUnavailable(self._lost)

    # -- files ----------------------------------------------------------------------------------

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        self._check()
        if not files:
            return []
        body = b"".join(content for _, content in files)
        request: dict[str, object] = {
            "number": next(self._numbers),
            "files": [(path, len(content)) for path, content in files],
            "file_bytes": self._limits.file_bytes,
            "frame": None,
            **self._user(),
        }
        if len(body) <= _INLINE_UPLOAD_BYTES:
            request["body"] = base64.b64encode(body).decode()
        else:
            request["frame"] = await self._questions.send(body)
        answer = await self._questions.ask("put", request, seconds=_INSIDE_S)
        return [
            FileError(path, problem_of(number)) if number else None
            for (path, _), number in zip(files, answer["problems"], strict=True)
        ]

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        self._check()
        if not paths:
            return []
        frame = f"/tmp/assay-{secrets.token_hex(8)}"  # noqa: S108 - nobody can guess it
        request = {
            "number": next(self._numbers),
            "paths": list(paths),
            "file_bytes": self._limits.file_bytes,
            "frame": frame,
            "inline": _INLINE_BYTES,
            **self._user(),
        }
        answer = await self._questions.ask("get", request, seconds=_INSIDE_S)
        if "body" in answer:
            body = base64.b64decode(answer["body"])
        else:
            body = await self._questions.fetch(frame)
        found: list[bytes | FileError] = []
        position = 0
        for path, (number, size) in zip(paths, answer["found"], strict=True):
            content = body[position : position + size]
            position += size
            found.append(FileError(path, problem_of(number)) if number else content)
        return found

    # -- what there is to know ------------------------------------------------------------------

    async def packages(self) -> tuple[Package, ...]:
        answer = await self._run(
            [self._place.python, "-I", "-S", f"{_INSIDE}/package_inventory.py", "system"]
        )
        return in_order(parse_inventory(base64.b64decode(answer["out"])))

    async def network_calls(self) -> list[ObservedCall]:
        if self._watch is None:
            return []
        self._check()
        return [*self._calls_before, *await self._calls_inside()]

    async def _calls_inside(self) -> list[ObservedCall]:
        """Calls written down inside since the last clearing away.

        Raises:
            SandboxUnavailable: some may be missing.
        """
        if self._cancelling:
            await asyncio.wait(self._cancelling)
        answer = await self._questions.ask("calls", {"watch": self._watch}, seconds=_INSIDE_S)
        parse = parse_log if self._watch == "seccomp" else parse_trace
        written: Mapping[int, str] = dict(answer["calls"])
        missing = self._asked.keys() - written.keys()
        if missing:
            raise SandboxUnavailable(
                f"network calls were not measured: nothing is written down of {len(missing)} of "
                f"{len(self._asked)} commands"
            )
        calls = [
            call
            for number, asked in self._asked.items()
            for call in calls_of(parse(written[number]), asked, self._place.host)
        ]
        return sorted(calls, key=lambda call: call.at)

    async def snapshot(self, name: str) -> None:
        self._check()
        self._calls_before = await self.network_calls()
        self._asked.clear()
        await self._questions.ask("quiesce", {}, seconds=_INSIDE_S)
        await self._snapshots.take(self._questions.sandbox, name)

    def proof(self) -> SandboxProof:
        skills = (
            "Skills belong to root, which commands do not run as."
            if self._place.is_root
            else "Skills are kept from change by their rights alone: the snapshot gives us no root."
        )
        network = self._proof or "Open: it reaches what Daytona lets it reach."
        observation = f"By {_METHODS[self._watch]}." if self._watch else _NOT_OBSERVED
        return SandboxProof(
            kind="daytona",
            base=self._base or "base",
            network=self._network,
            proof=f"{network} {skills} Memory is bounded for each of its processes, disk by "
            "Daytona.",
            observation=observation,
        )

    # -- proving --------------------------------------------------------------------------------

    async def _prove_blocked(self, probe: Probe) -> str:
        for method in _METHODS:
            self._watch = method
            try:
                return await self._probed(probe)
            except NotOffline:
                raise
            except SandboxUnavailable as error:
                failure = error
            finally:
                self._asked.clear()
        raise SandboxUnavailable(
            f"network calls cannot be counted in this sandbox, so its run would prove nothing: "
            f"{failure}"
        )

    async def _probed(self, probe: Probe) -> str:
        program = (self._place.python, "-I", "-S", f"{ROOT}/programs/{PROBE}")
        for left in reversed(range(_PROBES)):
            self._asked.clear()
            answer = await self._run(
                [*program, json.dumps(probe.request())],
                asked=Asked("probe", WORKSPACE),
            )
            try:
                seen = json.loads(base64.b64decode(answer["out"]))
            except ValueError as error:
                said = base64.b64decode(answer["err"]).decode(errors="replace")[-300:]
                raise SandboxUnavailable(f"the probe did not run: {said}") from error
            try:
                told = probe.judge(seen, await self._calls_inside())
            except NotOffline:
                # The block may take hold a moment after the sandbox has started.
                if not left:
                    raise
                await asyncio.sleep(_PROBE_PAUSE_S)
            else:
                return f"Blocked by Daytona (network_block_all). From inside, {told}."
        raise AssertionError("unreachable")
