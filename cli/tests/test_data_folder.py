"""One stack for each data folder, and secrets that last as long as the folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay_cli.embedded.data import DataFolder, DataInUse
from assay_contracts.topology import BUS_USERS


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    program = (
        "import sys; from pathlib import Path; from assay_cli.embedded.data import DataFolder\n"
        "with DataFolder(Path(sys.argv[1])).held(): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DataInUse, match=f"process {holder.pid}.*--data"), folder.held():
            pass
        holder.kill()
    with folder.held():
        assert (folder.root / "lock").read_text().strip() == str(os.getpid())


def test_secrets_are_private_and_stay(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    first = folder.secrets()
    assert DataFolder(tmp_path).secrets() == first
    assert folder.secrets_file.stat().st_mode & 0o777 == 0o600
    assert set(first.bus_passwords) == set(BUS_USERS)


def test_a_bus_user_that_is_new_gets_a_password_and_the_others_keep_theirs(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    before = folder.secrets()
    kept = json.loads(folder.secrets_file.read_text())
    del kept["bus_passwords"]["observer"]
    folder.secrets_file.write_text(json.dumps(kept))
    after = folder.secrets()
    assert after.admin_token == before.admin_token
    assert after.bus_passwords["scorer"] == before.bus_passwords["scorer"]
    assert after.bus_passwords["observer"] != before.bus_passwords["observer"]
