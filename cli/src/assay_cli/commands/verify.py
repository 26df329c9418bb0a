"""`assay verify`: whether this very content has a verdict that a deployment signed."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from assay_cli.bundle_digest import BundleAtHand, bundle_at_hand
from assay_cli.commands import single_command
from assay_cli.config_file import data_folder
from assay_cli.connection import connection
from assay_cli.embedded.data import DataFolder
from assay_cli.exit_codes import EXIT_OF, CommandError, Exit
from assay_cli.gateway_client import GatewayClient, with_client
from assay_cli.options import SkillSource, Token, Url
from assay_cli.packing import pack
from assay_cli.printing import show_fields
from assay_contracts.attestations import VerdictStatement
from assay_reporting.text import one_line
from assay_skillkit.attestation import NotVerified, verify_attestation

app = single_command()


@app.command()
def verify(
    path: SkillSource,
    attestation: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The signed verdict; Assay is asked for it by default."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            envvar="ASSAY_PUBLIC_KEY_FILE",
            help="Public key of the deployment, in PEM; that of the stack here by default.",
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Verify the signed verdict on a skill. The exit code is the verdict's; 1 if none holds."""
    bundle = _bundle(path)
    public_key = _read(key or DataFolder(data_folder(None)).public_key, "--key")
    if attestation is not None:
        envelope = _read(attestation, "--attestation")
    else:

        async def fetch(client: GatewayClient) -> bytes:
            return await client.report(await client.skill_id(bundle.skill_name), "attestation")

        envelope = with_client(connection(url, token), fetch)
    try:
        statement = verify_attestation(envelope, public_key=public_key, bundle_sha256=bundle.sha256)
    except NotVerified as error:
        raise CommandError(
            f"NOT VERIFIED: {error} Do not rely on this skill until it was validated as it is.",
            Exit.FAILED,
        ) from error
    _show(statement)
    return EXIT_OF[statement.predicate.verdict]


def _bundle(source: Path) -> BundleAtHand:
    with tempfile.TemporaryFile() as content:
        pack(source, content)
        bundle = bundle_at_hand(content)
    if bundle is None:
        raise CommandError(
            f"{source} is no skill that Assay would take: `assay lint` says why.", Exit.BAD_INPUT
        )
    return bundle


def _read(file: Path, option: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(
            f"{file} cannot be read: {error.strerror or error}. Name another with {option}.",
            Exit.BAD_INPUT,
        ) from error


def _show(statement: VerdictStatement) -> None:
    said = statement.predicate
    models = ", ".join(dict.fromkeys(f"{use.model} ({use.role})" for use in said.models))
    show_fields(
        (
            ("verified", f"{one_line(statement.bundle.name)}, revision {said.revision}"),
            ("verdict", said.verdict),
            ("reason", one_line(said.reason)),
            ("score", f"{said.scores.overall:g}" if said.scores else "none"),
            ("sha256", statement.bundle.digest.sha256),
            ("validation", f"{said.validation_id}, {said.completed_at:%Y-%m-%d %H:%M} UTC"),
            ("models", one_line(models) or "none"),
            ("environment", one_line(said.environment.runtime_version)),
        )
    )
