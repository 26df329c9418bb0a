import pytest

from assay_sandbox_runner.domain.install_commands import (
    changes_packages,
    does_the_same_in_every_folder,
)


@pytest.mark.parametrize(
    ("command", "changes", "everywhere"),
    [
        ("pip install pandas", True, True),
        ("python3 -m pip install 'pandas>=2' -q", True, True),
        ("pip install -r /workspace/skills/x/requirements.txt", True, True),
        ("pip install --no-index --find-links=/workspace/skills/x/wheels tool", True, True),
        ("pip install --no-index --find-links /workspace/skills/x/wheels tool", True, True),
        ("npm install -g left-pad", True, True),
        ("npm i --global @scope/thing@1.2.3", True, True),
        ("pip install -r requirements.txt", True, False),
        ("pip install --find-links wheels tool", True, False),
        ("pip install .", True, False),
        ("pip install ./pkg", True, False),
        ("pip install tool-1.0-py3-none-any.whl", True, False),
        ("pip install $NAME", True, False),
        ("pip install a && rm -rf b", True, False),
        ("cd x && pip install a", True, False),
        ("npm install", True, False),
        ("npm install left-pad", True, False),
        ("sudo apt-get -y install jq", True, False),
        ("uv pip install pandas", True, False),
        ("pip uninstall -y pandas", True, False),
        ("pip list", False, False),
        ("python3 scripts/pip_report.py", False, False),
        ("echo installed", False, False),
        ("npm run build", False, False),
    ],
)
def test_commands_that_change_what_is_installed_are_recognised(
    command: str, changes: bool, everywhere: bool
) -> None:
    assert changes_packages(command) == changes
    assert (changes_packages(command) and does_the_same_in_every_folder(command)) == everywhere
