"""A sandbox that somebody else runs, as whoever uses it sees it."""

import asyncio
import base64
import itertools
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from assay_contracts.runs import NetworkMode, Package, SandboxKind, SandboxProof
from assay_sandboxes.base_facts import parse_base
from assay_sandboxes.command_environment import ENVIRONMENT, HOME, search_path
from assay_sandboxes.file_problems import problem_of
from assay_sandboxes.guest.fast_files import TEMPORARY
from assay_sandboxes.home_files import parse_home_files
from assay_sandboxes.installed_packages import in_order, parse_inventory
from assay_sandboxes.network_probe import Probe, ProbeResult
from assay_sandboxes.port import (
    OPEN_NOT_OBSERVED,
    TIMED_OUT,
    WORKSPACE,
    Base,
    Environment,
    ExecResult,
    FileError,
    HomeFile,
    Limits,
    NotOffline,
    ObservedCall,
    SandboxUnavailable,
)
from assay_sandboxes.remote import guest_programs
from assay_sandboxes.remote.call_log import AskedCommand
from assay_sandboxes.remote.call_record import METHODS, CallRecord
from assay_sandboxes.remote.guest_answers import CommandAnswer
from assay_sandboxes.remote.guest_archive import pack_archive, skill_digests
from assay_sandboxes.remote.guest_client import GuestClient, unguessable_path
from assay_sandboxes.remote.guest_requests import PutRequest, WatchMethod
from assay_sandboxes.remote.layers import UNPACK, packed

_ANSWER_BYTES: Final = 8 * 1024**2
_INLINE_BYTES: Final = 256 * 1024
_INLINE_UPLOAD_BYTES: Final = 32 * 1024
_INSIDE_S: Final = 60.0
_LAY_IN_S: Final = 300.0
_PROBES: Final = 3
_PROBE_PAUSE_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteKind:
    """What tells the sandboxes of one service from those of others."""

    kind: SandboxKind
    service: str
    """What people call it."""
    blocked_by: str
    """The setting by which the service blocks a sandbox's network."""
    refused_ports: tuple[int, ...] = ()
    """Where the service's own daemon listens in every sandbox; watched commands cannot go there."""


class RemoteSandbox:
    """A sandbox at a remote service. Made and ended by the provider."""

    def __init__(
        self,
        identity: str,
        kind: RemoteKind,
        guest: GuestClient,
        limits: Limits,
        *,
        environment: Environment | None,
    ) -> None:
        self._id = identity
        self._kind = kind
        self._guest = guest
        self._limits = limits
        self._environment = environment
        self._numbers = itertools.count(1)
        self._record = CallRecord(guest)
        self._network: NetworkMode = "open"
        self._proof = f"Open: it reaches what {kind.service} lets it reach."
        self._lost: str | None = None

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
        facts = await self._guest.survey()
        wanted = await asyncio.to_thread(skill_digests, skills)
        archive = await asyncio.to_thread(pack_archive, skills, wanted, facts.skills)
        await self._guest.prepare(archive, wanted)
        if network == "blocked":
            self._proof = await self._prove_blocked(probe)

    def end(self) -> None:
        """Take no more orders; the provider destroys it."""
        self._lost = "the sandbox is closed"
        self._record.end()

    # -- commands -------------------------------------------------------------------------------

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        started = time.monotonic()
        answer = await self._run(
            [self._guest.facts.shell, "-c", command],
            cwd=cwd,
            seconds=self._limits.seconds_for(timeout_s),
            keep=self._limits.output_bytes,
            asked=AskedCommand(command, cwd),
        )
        return ExecResult(
            stdout=_text(answer.out),
            stderr=_text(answer.err),
            exit_code=TIMED_OUT if answer.timed_out else answer.code,
            timed_out=answer.timed_out,
            truncated=answer.truncated,
            seconds=time.monotonic() - started,
            limits_hit=("time",) if answer.timed_out else (),
        )

    async def _run(
        self,
        argv: list[str],
        *,
        cwd: str = WORKSPACE,
        seconds: float = _INSIDE_S,
        keep: int = _ANSWER_BYTES,
        asked: AskedCommand | None = None,
    ) -> CommandAnswer:
        """Run a program; only what was `asked` for from outside is watched."""
        self._check()
        number = next(self._numbers)
        if asked is not None:
            self._record.add(number, asked)
        facts = self._guest.facts
        try:
            return await self._guest.run(
                {
                    "number": number,
                    "argv": argv,
                    "cwd": cwd,
                    "seconds": seconds,
                    "keep": keep,
                    "watch": self._record.method if asked is not None else None,
                    "refused_ports": list(self._kind.refused_ports),
                    "environment": self._variables(number),
                    "limits": self._limits.of_each_command(),
                    "uid": facts.uid,
                    "gid": facts.gid,
                }
            )
        except asyncio.CancelledError:
            self._record.kill(number)
            raise

    def _variables(self, number: int) -> dict[str, str]:
        return {
            **ENVIRONMENT,
            "PATH": search_path(self._guest.facts.path),
            # A look-up is asked once and under one name, so that it is counted once.
            "RES_OPTIONS": "attempts:1 timeout:2",
            "SANDBOX_COMMAND": str(number),
        }

    def _check(self) -> None:
        if self._lost is not None:
            raise SandboxUnavailable(self._lost)

    # -- files ----------------------------------------------------------------------------------

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileError | None]:
        self._check()
        if not files:
            return []
        body = b"".join(content for _, content in files)
        request: PutRequest = {
            "number": next(self._numbers),
            "files": [(path, len(content)) for path, content in files],
            "file_bytes": self._limits.file_bytes,
            "frame": None,
            "uid": self._guest.facts.uid,
            "gid": self._guest.facts.gid,
        }
        if len(body) <= _INLINE_UPLOAD_BYTES:
            request["body"] = base64.b64encode(body).decode()
        else:
            request["frame"] = await self._guest.send(body)
        answer = await self._guest.put(request)
        return [
            FileError(path, problem_of(number)) if number else None
            for (path, _), number in zip(files, answer.problems, strict=True)
        ]

    async def download(self, paths: Sequence[str]) -> list[bytes | FileError]:
        self._check()
        if not paths:
            return []
        frame = unguessable_path()
        answer = await self._guest.get(
            {
                "number": next(self._numbers),
                "paths": list(paths),
                "file_bytes": self._limits.file_bytes,
                "frame": frame,
                "inline": _INLINE_BYTES,
                "uid": self._guest.facts.uid,
                "gid": self._guest.facts.gid,
            }
        )
        if answer.body is not None:
            body = base64.b64decode(answer.body)
        else:
            body = await self._guest.fetch(frame)
        found: list[bytes | FileError] = []
        position = 0
        for path, (number, size) in zip(paths, answer.found, strict=True):
            content = body[position : position + size]
            position += size
            found.append(FileError(path, problem_of(number)) if number else content)
        return found

    # -- what there is to know ------------------------------------------------------------------

    async def packages(self) -> tuple[Package, ...]:
        answer = await self._run(
            [self._guest.facts.python, "-I", "-S", guest_programs.INVENTORY, "system"]
        )
        return in_order(parse_inventory(base64.b64decode(answer.out)))

    async def network_calls(self) -> list[ObservedCall]:
        if self._record.method is not None:
            self._check()
        return await self._record.all_calls()

    async def home_files(self) -> tuple[HomeFile, ...]:
        self._check()
        answer = await self._run([self._guest.facts.python, "-I", "-S", guest_programs.HOME_FILES])
        return parse_home_files(base64.b64decode(answer.out))

    async def base(self) -> Base:
        """What it has beyond our own programs, as long as nothing was installed."""
        facts = self._guest.facts
        folders = [folder for folder in facts.path.split(":") if folder.startswith("/")]
        answer = await self._run([facts.python, "-I", guest_programs.BASE, *folders])
        return parse_base(
            base64.b64decode(answer.out),
            await self.packages(),
            kind=self._kind.kind,
            python=facts.python,
        )

    async def lay_in(self, layers: Sequence[Path]) -> None:
        """Have the contents of these folders in the home folder.

        Raises:
            SandboxUnavailable: that failed.
        """
        archive = f"{TEMPORARY}/layer-{secrets.token_hex(8)}"
        for part in (part for layer in layers for part in packed(layer)):
            (problem,) = await self.upload([(archive, part)])
            unpack = [self._guest.facts.python, "-I", "-c", UNPACK, archive, HOME]
            answer = await self._run(unpack, seconds=_LAY_IN_S)
            if problem is not None or answer.code != 0:
                said = problem.problem if problem else _text(answer.err)[-300:]
                raise SandboxUnavailable(f"the environment cannot be laid in: {said}")
            await self._run(["/bin/rm", "-f", archive])

    async def clear(self) -> None:
        """End all that runs in it and empty the workspace, so that it can be kept."""
        self._check()
        await self._record.put_aside()
        await self._guest.quiesce()

    def proof(self) -> SandboxProof:
        skills = (
            "Skills belong to root, which commands do not run as."
            if self._guest.facts.is_root
            else "Skills are kept from change by their rights alone: the snapshot gives us no root."
        )
        method = self._record.method
        return SandboxProof(
            kind=self._kind.kind,
            base=self._environment.name if self._environment else "base",
            environment=self._environment.digest if self._environment else None,
            network=self._network,
            proof=f"{self._proof} {skills} Memory is bounded for each of its processes, disk by "
            f"{self._kind.service}.",
            observation=f"By {METHODS[method]}." if method else OPEN_NOT_OBSERVED,
            watched=method is not None,
        )

    # -- proving --------------------------------------------------------------------------------

    async def _prove_blocked(self, probe: Probe) -> str:
        for method in METHODS:
            self._record.method = method
            try:
                return await self._probe_with(method, probe)
            except NotOffline:
                raise
            except SandboxUnavailable as error:
                failure = error
            finally:
                self._record.forget()
        raise SandboxUnavailable(
            f"network calls cannot be counted in this sandbox, so its run would prove nothing: "
            f"{failure}"
        )

    async def _probe_with(self, method: WatchMethod, probe: Probe) -> str:
        for left in reversed(range(_PROBES)):
            self._record.forget()
            result = await self._try_to_get_out(probe)
            try:
                calls = await self._record.calls_inside(method)
                seen = probe.judge(result, sum(call.attempts for call in calls))
            except NotOffline:
                # The block may take hold a moment after the sandbox has started.
                if not left:
                    raise
                await asyncio.sleep(_PROBE_PAUSE_S)
            else:
                return (
                    f"Blocked by {self._kind.service} ({self._kind.blocked_by}). "
                    f"From inside, {seen}."
                )
        raise AssertionError("unreachable")

    async def _try_to_get_out(self, probe: Probe) -> ProbeResult:
        tries = {"addresses": probe.addresses, "names": probe.names, "seconds": probe.seconds}
        answer = await self._run(
            [self._guest.facts.python, "-I", "-S", guest_programs.PROBE, json.dumps(tries)],
            asked=AskedCommand("probe", WORKSPACE),
        )
        try:
            return ProbeResult.model_validate_json(base64.b64decode(answer.out))
        except ValidationError as error:
            raise SandboxUnavailable(
                f"the probe did not run: {_text(answer.err)[-300:]}"
            ) from error


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode(errors="replace")
