"""Sandboxes on one machine, by bubblewrap."""

from assay_sandbox_runner.adapters.bubblewrap.probe import Probe
from assay_sandbox_runner.adapters.bubblewrap.provider import BubblewrapProvider

__all__ = ["BubblewrapProvider", "Probe"]
