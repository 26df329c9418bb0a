"""Why something declared could not be installed, told from what was observed first. Pure."""

import re
from collections.abc import Collection
from typing import Final

from assay_contracts.obstacles import LimitKind
from assay_contracts.runs import InstallFailureCause, NetworkProblem
from assay_sandbox_runner.domain.text import clip

_SHOWN: Final = 1500
_ERROR: Final = re.compile(r"^(?:ERROR: |error: |npm (?:ERR!|error) ).*$", re.MULTILINE)
_MISSING: Final = re.compile(
    r"No matching distribution found|\bE404\b|\bETARGET\b|\bEINVALIDPACKAGENAME\b"
    r"|Invalid requirement"
)
_CONFLICT: Final = re.compile(r"ResolutionImpossible|conflicting dependencies|\bERESOLVE\b")
_UNREACHED: Final = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError"
    r"|\bENOTFOUND\b|\bECONNREFUSED\b|\bEAI_AGAIN\b|\bETIMEDOUT\b|\bECONNRESET\b"
    r"|CERTIFICATE_VERIFY_FAILED|\bSELF_SIGNED_CERT_IN_CHAIN\b|\bDEPTH_ZERO_SELF_SIGNED_CERT\b"
    r"|\bUNABLE_TO_(?:VERIFY|GET)_\w+|\bCERT_\w+"
)
"""As package managers name it, for sandboxes that do not see where calls end."""


def cause_of_failure(
    output: str, *, limits: Collection[LimitKind], problems: Collection[NetworkProblem]
) -> InstallFailureCause:
    """Why an installation ended badly.

    Args:
        output: What the package manager printed.
        limits: Those of the sandbox that it ran into.
        problems: What became of its network calls that got nowhere.
    """
    if limits:
        return "limit"
    if problems or _UNREACHED.search(output):
        return "unavailable"
    if _CONFLICT.search(output):
        return "conflict"
    return "missing" if _MISSING.search(output) else "broken"


def explanation(output: str, exit_code: int) -> str:
    """The lines that tell why, or how it ended."""
    errors = "\n".join(dict.fromkeys(_ERROR.findall(output)))
    return clip(errors or output.strip() or f"exit code {exit_code}", _SHOWN).text
