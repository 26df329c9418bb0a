"""The two sandboxes of a skill's validation as deepagents backends, kept until they are destroyed.

For whoever drives deep agents by hand. The service itself opens a sandbox for each run.
"""

from contextlib import AsyncExitStack
from pathlib import Path

from assay_contracts.runs import NetworkMode
from assay_sandbox_runner.adapters.deepagents_backend import SandboxBackend
from assay_sandbox_runner.adapters.shared_installations import SharedInstallations
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandboxes.port import WORKSPACE, SandboxProvider


class ValidationBackends:
    """One online and one offline backend for each skill, made when first asked for."""

    def __init__(self, provider: SandboxProvider, skills: Path) -> None:
        """`skills` is a folder with one folder for each skill that the agents are to find."""
        self._provider = provider
        self._skills = skills
        self._stacks: dict[str, AsyncExitStack] = {}
        self._backends: dict[tuple[str, NetworkMode], SandboxBackend] = {}

    async def get_validation_backend(self, skill_id: str) -> SandboxBackend:
        """The sandbox with a network.

        Raises:
            SandboxUnavailable: it cannot be had.
        """
        return await self._get(skill_id, "open")

    async def get_offline_backend(self, skill_id: str) -> SandboxBackend:
        """The sandbox without one: at Daytona, made with `network_block_all=True`, and proven.

        Raises:
            NotOffline: it is not proven to have no network.
            SandboxUnavailable: it cannot be had.
        """
        return await self._get(skill_id, "blocked")

    async def destroy_validation_backends(self, skill_id: str) -> None:
        """Destroy both, as far as they were made; a skill that has none is fine."""
        for key in [key for key in self._backends if key[0] == skill_id]:
            del self._backends[key]
        stack = self._stacks.pop(skill_id, None)
        if stack is not None:
            await stack.aclose()

    async def _get(self, skill_id: str, network: NetworkMode) -> SandboxBackend:
        found = self._backends.get((skill_id, network))
        if found is not None:
            return found
        stack = self._stacks.setdefault(skill_id, AsyncExitStack())
        sandbox = await stack.enter_async_context(
            self._provider.open(
                name=f"{'validation' if network == 'open' else 'offline'}-{skill_id}",
                skills=self._skills,
                network=network,
            )
        )
        backend = SandboxBackend(
            sandbox, folder=WORKSPACE, stopwatch=Stopwatch(), installations=SharedInstallations()
        )
        self._backends[skill_id, network] = backend
        return backend
