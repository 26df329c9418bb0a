"""Sandboxes on one machine, by bubblewrap."""

from assay_sandbox_runner.adapters.bubblewrap.provider import BubblewrapProvider
from assay_sandbox_runner.adapters.probe import Probe

__all__ = ["BubblewrapProvider", "Probe"]
