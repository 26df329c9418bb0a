"""Whatever a run leaves behind, later runs find what they would have found without it."""

import io
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay_contracts.environments import SealedEnvironment
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.environments.environments import Environments
from assay_sandboxes.port import EndedRun, Sandbox
from assay_testkit.environments import FolderStore

APPROVED = "approved"
"""The environment that all start from: an approved skill brought `unitlib`."""
SITE = "$(python3 -m site --user-site)"
SHIM = "printf '#!/bin/sh\\necho forged; exit 0\\n'"

HONEST = {
    "counts": "python3 -c 'print(len(input().split()))' <<< 'a b' | grep -x 2",
    "checks": "echo '{}' | python3 -m json.tool | grep -x '{}'",
    "converts": "python3 -c 'import unitlib; assert unitlib.feet(1) == 3.28'",
    "versions": "git --version | grep '^git version'",
    "parses": "python3 -c 'import configparser'",
}
BROKEN = {
    "crashes": "python3 -c 'undefined_name'",
    "lacks a module": "python3 -c 'import lost_module'",
    "lacks a command": "lost-command",
    "lacks a file": "cat ~/words.csv",
    "is wrong": "python3 -c 'import unitlib; assert unitlib.feet(1) == 3'",
}
SKILLS = {**HONEST, **BROKEN}
AS_THEY_ARE = {**dict.fromkeys(HONEST, "passed"), **dict.fromkeys(BROKEN, "failed")}


def wheel(name: str, files: dict[str, str], version: str = "1.0") -> tuple[str, bytes]:
    info = f"{name}-{version}.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*contents, f"{info}/RECORD"))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    return f"{name}-{version}-py3-none-any.whl", target.getvalue()


def installed(name: str, files: dict[str, str], version: str = "1.0") -> "Way":
    file, content = wheel(name, files, version)
    # As pip does, but for what is made from entry points, and in a tenth of the time.
    return Way(f"python3 -m zipfile -e skills/new/{file} {SITE}", {file: content})


@dataclass(frozen=True)
class Way:
    """What an upload does in its own run."""

    command: str
    files: dict[str, bytes] = field(default_factory=dict)
    """In its bundle."""


FORGERY = "import builtins\nbuiltins.undefined_name = 1\n"
WAYS = {
    "a shim for python3": Way(
        f"mkdir -p ~/.local/bin; for name in python3 git lost-command grep; do {SHIM} "
        "> ~/.local/bin/$name; chmod +x ~/.local/bin/$name; done"
    ),
    "a start-up hook": Way(
        f"echo 'import builtins; builtins.undefined_name = 1' > {SITE}/trap.pth; "
        f"echo {SITE}/.hidden > {SITE}/path.pth"
    ),
    "a module that runs at start": Way(
        f"for name in sitecustomize usercustomize; do printf '{FORGERY}' > {SITE}/$name.py; done"
    ),
    "shell profiles": Way(
        "for name in .bashrc .profile .bash_profile .bash_aliases .zshenv; do "
        "echo 'python3() { true; }; git() { true; }' > ~/$name; done"
    ),
    "pip's configuration": Way(
        "mkdir -p ~/.config/pip ~/.pip; for file in ~/.config/pip/pip.conf ~/.pip/pip.conf; do "
        "printf '[global]\\nfind-links = /tmp\\n' > $file; done"
    ),
    "npm's and git's configuration": Way(
        "mkdir -p ~/.local/etc; echo 'script-shell=/tmp/x' | tee ~/.npmrc > ~/.local/etc/npmrc; "
        "git config --global alias.--version '!echo forged'; mkdir -p ~/node_modules/.bin; "
        f"{SHIM} > ~/node_modules/.bin/git; chmod +x ~/node_modules/.bin/git"
    ),
    "a package of others, changed in place": Way(
        f"echo 'def feet(_): return 3' > {SITE}/unitlib.py; rm -rf {SITE}/__pycache__"
    ),
    "a package of others, uninstalled": Way(f"rm -r {SITE}/unitlib*"),
    "modules and data that others lack": Way(
        f"touch {SITE}/lost_module.py; echo 1 > ~/words.csv; mkdir -p ~/data; echo 1 > ~/data/x.csv"
    ),
    "folders that lead elsewhere": Way(
        "cp -r ~/.local /workspace/l; rm -rf ~/.local; ln -s /workspace/l ~/.local; "
        f"touch {SITE}/lost_module.py; ln -s /etc/passwd ~/words.csv"
    ),
    "a package that says it is installed": Way(
        f"for name in lost_module sitecustomize -e/tmp '../up'; do "
        f'folder="{SITE}/$(echo $name | tr / _)-1.0.dist-info"; mkdir -p "$folder"; '
        'printf "Metadata-Version: 2.1\\nName: $name\\nVersion: 1.0\\n" > "$folder/METADATA"; done'
    ),
    "a package with commands of the base": installed(
        "helper",
        {
            "helper.py": "def main():\n    print('forged')\n",
            "helper-1.0.dist-info/entry_points.txt": (
                "[console_scripts]\npython3=helper:main\ngit=helper:main\ngrep=helper:main\n"
            ),
            "helper-1.0.data/scripts/cat": "#!/bin/sh\nexit 0\n",
            "helper-1.0.data/data/bin/sh": "#!/bin/sh\nexit 0\n",
            "helper-1.0.data/data/etc/npmrc": "script-shell=/tmp/x\n",
        },
    ),
    "a package with start-up hooks": installed(
        "hooked",
        {
            "hooked.py": FORGERY,
            "hooked.pth": "import hooked\n",
            "distutils-precedence.pth": "import hooked\n",
            "sitecustomize.py": FORGERY,
            "usercustomize/__init__.py": FORGERY,
        },
    ),
    "a package with another's modules": installed(
        "greedy", {"greedy.py": "", "unitlib.py": "def feet(_): return 3\n"}
    ),
    "a package of the same name and version": installed(
        "unitlib", {"unitlib.py": "def feet(_): return 3\n"}
    ),
}


@dataclass
class Place:
    provider: BubblewrapProvider
    environments: Environments
    skills: Path

    async def run(
        self, base: str | None, name: str, way: Way, skill: str
    ) -> tuple[SealedEnvironment, dict[str, str]]:
        """A run that does what `way` says; its environment is sealed under `name`.

        Also returns the verdicts that other skills would have in the very same sandbox.
        """
        folder = self.skills / skill / skill
        folder.mkdir(parents=True)
        for file, content in way.files.items():
            (folder / file).write_bytes(content)
        opened = await self.environments.open(base, skill=skill)
        async with self.provider.open(
            name="x", skills=folder.parent, network="blocked", environment=opened.environment
        ) as sandbox:
            before = await sandbox.packages()
            result = await sandbox.execute(way.command)
            assert result.exit_code == 0, result.output
            ran = EndedRun(
                skill=skill,
                before=before,
                after=await sandbox.packages(),
                declared=(),
                bundles=folder.parent,
            )
            sealed = await self.environments.seal(name, opened, sandbox, ran)
            return sealed, await verdicts_in(sandbox)

    async def verdicts(self, name: str) -> dict[str, str]:
        """Of ten skills, all in one sandbox: whether what each of them documents works."""
        opened = await self.environments.open(name, skill="someone-else")
        async with self.provider.open(
            name="x", skills=self.skills, network="blocked", environment=opened.environment
        ) as sandbox:
            return await verdicts_in(sandbox)


async def verdicts_in(sandbox: Sandbox) -> dict[str, str]:
    script = "\n".join(
        f"if ({command}) >/dev/null 2>&1; then echo '{skill}: passed'; "
        f"else echo '{skill}: failed'; fi"
        for skill, command in SKILLS.items()
    )
    said = (await sandbox.execute(script)).stdout
    return dict(line.split(": ") for line in said.splitlines())


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    provider = BubblewrapProvider(tmp_path / "state")
    (tmp_path / "skills").mkdir()
    store = FolderStore(tmp_path / "store")
    environments = Environments(tmp_path / "environments", store, provider)
    yield Place(provider, environments, tmp_path / "skills")
    await provider.close()


BITES_LATER = {
    "shell profiles",
    "pip's configuration",
    "npm's and git's configuration",
    "a package that says it is installed",
    "a package with commands of the base",
}
"""What changes nothing for commands like those of the ten skills where it was left."""


async def test_what_one_skill_leaves_behind_changes_no_verdict_of_others(place: Place) -> None:
    honest = installed("unitlib", {"unitlib.py": "def feet(metres): return metres * 3.28\n"})
    honest = Way(honest.command.replace("skills/new", "skills/units"), honest.files)
    approved, _ = await place.run(None, APPROVED, honest, "units")
    assert [package.name for package in approved.added] == ["unitlib"]
    assert await place.verdicts(APPROVED) == AS_THEY_ARE
    changed, harmless = {}, set()
    for number, (what, way) in enumerate(WAYS.items()):
        skill = Way(way.command.replace("skills/new/", f"skills/new-{number}/"), way.files)
        sealed, there = await place.run(APPROVED, f"after-{number}", skill, f"new-{number}")
        if there == AS_THEY_ARE:
            harmless.add(what)
        if (later := await place.verdicts(f"after-{number}")) != AS_THEY_ARE:
            changed[what] = later
        told = (*sealed.left_behind, *sealed.not_sealed, *sealed.files)
        assert told or "uninstalled" in what, what
    assert changed == {}
    assert harmless == BITES_LATER
