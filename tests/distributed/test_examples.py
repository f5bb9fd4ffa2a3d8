"""The files of examples/distributed: they are valid, have the flags that torchrun and dragoman know, and train."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.tasks.model import load_metadata
from tests.distributed.launch import LONGEST, ROOT
from tests.tasks.models import pairs_file

FOLDER = ROOT / "examples" / "distributed"
SCRIPTS = ["one_node.sh", "two_nodes.sh", "slurm.sbatch"]
TINY = ["--preset", "small", "--set", "network.depth=16", "--set", "network.heads=2", "--set", "stopping.steps=3"]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    """What kubernetes.yaml describes, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8"))}


def flags_of(*command: str) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": PATH})
    return set(re.findall(r"--[a-z][a-z-]+", re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)))


def commands() -> dict[str, list[str]]:
    """The words of the torchrun command of every file."""
    found = {}
    for name in SCRIPTS:
        text = (FOLDER / name).read_text(encoding="utf-8")
        (command,) = re.findall(r"exec (\S*torchrun (?:[^\n]*\\\n)*[^\n]*)", text)
        found[name] = shlex.split(command)
    text = (FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")
    job = next(one for one in yaml.safe_load_all(text) if one["kind"] == "Job")
    found["kubernetes.yaml"] = job["spec"]["template"]["spec"]["containers"][0]["command"]
    return found


COMMANDS = commands()


def test_every_file_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(COMMANDS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_valid(name: str) -> None:
    done = subprocess.run(["bash", "-n", FOLDER / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_are_known(name: str) -> None:
    """Those before `-m dragoman train` to torchrun, those after it to Dragoman."""
    words = [word.partition("=")[0] for word in COMMANDS[name]]
    assert Path(words[0]).name == "torchrun"
    at = words.index("-m")
    assert words[at : at + 3] == ["-m", "dragoman", "train"]
    launching, training = ({word for word in some if word.startswith("--")} for some in (words[:at], words[at:]))
    assert launching
    assert launching <= flags_of("torchrun", "--help")
    if training:
        assert training <= flags_of(sys.executable, "-m", "dragoman", "train", "--help")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "one_node.sh"])
def test_machines_meet_at_the_first(name: str) -> None:
    """--rdzv-backend static, which is the default, takes these four."""
    words = " ".join(COMMANDS[name])
    for flag in ("--nnodes", "--node-rank", "--master-addr", "--master-port", "--nproc-per-node"):
        assert re.search(rf"{flag}[ =]\S", words), flag
    assert "--max-restarts" not in words, "hangs with --node-rank"


def test_slurm_starts_one_torchrun_on_each_node() -> None:
    text = (FOLDER / "slurm.sbatch").read_text(encoding="utf-8")
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?$", text, re.MULTILINE))
    assert options["ntasks-per-node"] == "1"
    assert int(options["nodes"]) > 1
    assert "requeue" in options
    words = COMMANDS["slurm.sbatch"]
    assert words[words.index("--node-rank") + 1] == "$SLURM_NODEID"
    assert words[words.index("--nnodes") + 1] == "$SLURM_JOB_NUM_NODES"


def test_kubernetes_pods_find_the_first_and_are_not_root(objects: dict[str, Any]) -> None:
    service, job = objects["Service"], objects["Job"]
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command, name = container["command"], job["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None", "headless"
    assert service["spec"]["selector"] == {"job-name": name}
    assert pod["subdomain"] == service["metadata"]["name"]
    assert f"--master-addr={name}-0.{pod['subdomain']}" in command
    assert job["spec"]["completionMode"] == "Indexed"
    assert f"--nnodes={job['spec']['completions']}" in command
    assert job["spec"]["parallelism"] == job["spec"]["completions"], "all at the same time"
    assert "--node-rank=$(JOB_COMPLETION_INDEX)" in command
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"--threads={container['resources']['limits']['cpu']}" in command
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounted.values()) == {volume["name"] for volume in pod["volumes"]}
    for word in ("/data/pairs.tsv", "--out=/model/en-es"):
        assert word in command


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_one_node_trains(own_cache: None, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = subprocess.run(
        [FOLDER / "one_node.sh", pairs_file(), "--out", out, *TINY],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
        env={**os.environ, "PATH": PATH, "PROCESSES": "2"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on each of 2 ranks" in done.stdout
    assert load_metadata(out).training["steps"] == 3
