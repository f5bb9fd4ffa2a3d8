"""Every command and every program the documents show is run."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from PIL import Image

from dragoman.cli import main
from dragoman.data import builtin
from dragoman.data.scenes import draw, training_scenes
from dragoman.tasks import planning
from tests.cli.running import Done
from tests.data.readers.files import as_po, as_tmx, as_xliff
from tests.data.shard_files import write_parquet
from tests.data.test_doctor import SOUND
from tests.drawn_images import drawn
from tests.server.serving import served
from tests.tasks.forecasting.series import write_series

engine_state = sys.modules["dragoman.graph.operation"]  # `dragoman.graph.operation` itself is the decorator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


NAMES = (
    "data.md",
    "recurrent.md",
    "vectors.md",
    "language-models.md",
    "features.md",
    "classifying.md",
    "tagging.md",
    "images.md",
    "figures.md",
    "captions.md",
    "forecasting.md",
    "serving.md",
)
PAGES = [README, *((ROOT / "docs" / name).read_text(encoding="utf-8") for name in NAMES)]
COMMANDS = list(
    dict.fromkeys(line for page in PAGES for block in blocks("sh", page) for line in block.splitlines() if line)
)
PROGRAMS = [program for page in PAGES for program in blocks("python", page)]
SMALL = "--preset small --set network.depth=16"
TRAININGS = (
    f"pairs.tsv --out model --languages en,es {SMALL} --set network.perceptron_depth=16 --set network.heads=2",
    f"book.txt --task language-model --out writer {SMALL} --set network.perceptron_depth=16 --set network.heads=2",
    "reviews.csv --task classification --out critic --preset small",
    f"words.conll --task tagging --out tagger {SMALL} --set network.units=16",
    "digits --task image-classification --out reader --preset small",
    f"scenes --task captioning --out describer {SMALL}",
    f"photos --task captioning --out photographer {SMALL}",
    "series.csv --task forecasting --out forecaster --preset small",
)
OPINIONS = {"wonderful": "good", "terrible": "bad"}
TAGGED = "The\tDET\nplant\tNOUN\nis\tVERB\ngreen\tADJ\n.\tPUNCT\n\nI\tPRON\nmean\tVERB\nit\tPRON\n\n"
ABOUT = "The man and the woman see a king and a queen. A mother has two red dogs, a cat and a dog. I mean it.\n"


@contextmanager
def at(place: Path) -> Iterator[io.StringIO]:
    """Be in a directory with a cache of its own; what is printed there. The engine is restored."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.chdir(place)
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        for state in ("_engine", "_chosen"):
            patch.setattr(engine_state, state, getattr(engine_state, state))
        yield printed


def ended(arguments: list[str], place: Path, hidden: frozenset[str] = frozenset()) -> Done:
    """How a command ends; in this process, which saves the start of a hundred others.

    hidden  packages that cannot be imported meanwhile
    """
    told, code = io.StringIO(), None
    with at(place) as printed, redirect_stderr(told), pytest.MonkeyPatch.context() as patch:
        for module in {*hidden, *(name for name in sys.modules if name.partition(".")[0] in hidden)}:
            patch.setitem(sys.modules, module, None)
        patch.setattr(sys, "argv", ["dragoman", *arguments])
        try:
            main()
        except SystemExit as done:
            code = done.code
    return Done(int(code or 0), printed.getvalue(), told.getvalue())


def dragoman(arguments: list[str], place: Path) -> str:
    """What a command prints that must succeed."""
    done = ended(arguments, place)
    assert not done.code, done.err
    return done.out


EXTRAS = frozenset(
    {
        *("PIL", "ctranslate2", "fastapi", "fastapi_swagger", "fsspec", "lxml", "matplotlib", "multipart", "pyarrow"),
        *("python_multipart", "sklearn", "starlette", "tensorboardX", "torch", "translate", "uvicorn", "zstandard"),
    }
)
CORE_PYTHON = os.environ.get("CORE_PYTHON")  # of an environment where the package is installed without extras
HIDING = f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)})); from dragoman.cli import main; main()"


def works_without_extras(command: str, arguments: list[str], place: Path) -> bool:
    """Whether a command runs with the core alone; otherwise it names the extra that its document asks for."""
    if CORE_PYTHON or arguments[0] == "serve":  # here, the modules of the server may have imported its extras before
        start = [CORE_PYTHON, "-m", "dragoman"] if CORE_PYTHON else [sys.executable, "-c", HIDING]
        done = subprocess.run([*start, *arguments], cwd=place, capture_output=True, text=True, check=False)
        code, told = done.returncode, done.stderr
    else:
        code, told = (alone := ended(arguments, place, EXTRAS)).code, alone.err
    if not code:
        return True
    named = re.search(r"pip install '(dragoman\[\w+\])'", told)
    assert named, told
    assert code == 2
    assert "Traceback" not in told
    pages = [page for page in PAGES if command in page]
    assert all(named[1] in page for page in pages), f"{named[1]} is not named where `{command}` stands"
    return False


def write_photos(place: Path) -> None:
    """scene.png, and a folder of images with captions."""
    (place / "photos").mkdir()
    scenes = training_scenes(40, seed=9)
    for i, scene in enumerate(scenes):
        Image.fromarray(draw(scene)).save(place / "photos" / f"{i}.png")
    lines = "".join(f"{i}.png\t{scene.caption}\n" for i, scene in enumerate(scenes))
    (place / "photos" / "captions.tsv").write_text(lines, encoding="utf-8")
    shutil.copy(place / "photos" / "0.png", place / "scene.png")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files the documents speak of, and a model that was trained for a moment."""
    place = tmp_path_factory.mktemp("stage")
    for name in ("pairs.tsv", "clean.tsv", "test.tsv"):
        (place / name).write_text("".join(f"{s}\t{r}\n" for s, r in SOUND), encoding="utf-8")
    for name, make in {"memory.tmx": as_tmx, "older.tmx": as_tmx, "job.xlf": as_xliff, "messages.po": as_po}.items():
        (place / name).write_bytes(make(SOUND[:20]))
    write_parquet(place / "shards", SOUND)
    shutil.copy(ROOT / "examples" / "translation.toml", place)
    (place / "book.txt").write_text(f"Once upon a time. {ABOUT}" * 40, encoding="utf-8")
    write_series(place / "series.csv", count=90)
    (place / "words.conll").write_text(TAGGED * 40, encoding="utf-8")
    for i, (image, _) in enumerate(zip(*drawn(60), strict=True)):
        path = place / "digits" / str(i % 6) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    shutil.copy(place / "digits" / "3" / "9.png", place / "digit.png")
    reviews = [f"A {word} film number {i}.,{label}" for i in range(30) for word, label in OPINIONS.items()]
    (place / "reviews.csv").write_text("\n".join(["text,label", *reviews, ""]), encoding="utf-8")
    write_photos(place)
    (place / "lines.txt").write_text("We walk by the river.\nThe bank is closed.\n", encoding="utf-8")
    (place / "keys.txt").write_text("secret\n", encoding="utf-8")
    for name, text in {"text": ABOUT * 6, "english": SIDES[0], "spanish": SIDES[1]}.items():
        (place / f"{name}.txt").write_text(text, encoding="utf-8")
        few = ["--depth", "64", "--minimum-count", "1", "--epochs", "1", "--subsampling", "0"]
        out = "vectors.bin" if name == "text" else f"{name}.bin"
        dragoman(["vectors", "train", f"{name}.txt", "--out", out, *few], place)
    for arguments in (
        *(["train", *given.split(), *cut_short(given.split())] for given in TRAININGS),
        ["data", "split", "pairs.tsv", "--out", "parts"],
        ["data", "prepare", "shards", "--out", "prepared", "--workers", "1"],
    ):
        dragoman(arguments, place)
    return place


SIDES = ["".join(f"{pair[side]}\n" for pair in SOUND) for side in (0, 1)]
# what a reader would wait for, cut short
FEW = ["--set", "stopping.steps=2", "--set", "data.shares=[0.6,0.2,0.2]"]


def cut_short(arguments: list[str]) -> list[str]:
    """How a training is cut short; what comes in parts has its shares already."""
    if "scenes" in arguments:
        return [*FEW[:2], "--set", "data.scenes=60"]
    return FEW[:2] if {"parts", "prepared"} & {*arguments} else FEW


@pytest.mark.filterwarnings("ignore:.* much shorter than its source:dragoman.errors.DragomanWarning")  # after 2 steps
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.splitlines()[-1][:40])
def test_programs_run(program: str, stage: Path, tmp_path: Path) -> None:
    place = shutil.copytree(stage, tmp_path / "stage")
    (place / "program.py").write_text(program, encoding="utf-8")
    with at(place) as printed:
        runpy.run_path(str(place / "program.py"), run_name="__main__")
    assert printed.getvalue().strip(), "a program in the README shows something"
    if '"copy"' in program:
        assert "reached the goal" in printed.getvalue()
        assert "3 1 4 1 5" in printed.getvalue()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("dragoman serve")])
def test_servers_start_and_answer(command: str, stage: Path) -> None:
    """With the first of them, the requests that the documents show are made."""
    assert not works_without_extras(command, shlex.split(command)[1:], stage)
    arguments = [str(stage / word) if (stage / word).exists() else word for word in shlex.split(command)[2:]]
    with served(*arguments) as server:
        assert server.client.get("/health").json()["status"] == "ok"
        if command == "dragoman serve model":
            for request in (c for c in COMMANDS if c.startswith("curl")):
                asked = request.replace("http://localhost:5000", server.url).replace("curl", "curl --silent", 1)
                done = subprocess.run(shlex.split(asked), capture_output=True, text=True, cwd=stage, check=False)
                assert done.returncode == 0, done.stderr
                assert "error" not in json.loads(done.stdout), done.stdout


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c.startswith("dragoman") and not c.startswith("dragoman serve")]
)
def test_dragoman_commands_run(command: str, stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = shlex.split(command)[1:]
    place = shutil.copytree(stage, tmp_path / "stage")
    if arguments[0] == "check" and arguments[1:2] in ([], ["--html"]):  # tests/cli/test_cli.py checks all equations
        arguments.insert(1, "softmax")
    if arguments[0] == "plan":
        monkeypatch.setattr(planning.measure, "__defaults__", (0.1,))  # seconds for a preset
    if arguments[0] == "train" or arguments[:2] == ["data", "prepare"]:
        out = arguments[arguments.index("--out") + 1] if "--out" in arguments else "model"
        shutil.rmtree(place / out, ignore_errors=True)
    if "translation.toml" in arguments:
        few = [pair for i, pair in enumerate(builtin.phrases()) if i % 20 == 0 or pair[0] in builtin.HELD_OUT]
        monkeypatch.setattr(builtin, "phrases", lambda: few)
    if arguments[0] == "train":
        arguments += cut_short(arguments)
    if works_without_extras(command, arguments, place):
        return
    printed = dragoman(arguments, place)
    if "inspect" in arguments and "--preset" in arguments:
        assert "1,166,966" in printed


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_targets_exist(command: str) -> None:
    """`make test` cannot run itself; that the targets do what they say is continuous integration's part."""
    done = subprocess.run([*command.split(), "--dry-run"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_no_other_kind_of_command_hides_in_the_readme() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"make", "dragoman", "curl"}


@pytest.mark.parametrize(
    "document", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        name, _, heading = target.partition("#")
        page = document.parent / name if name else document
        assert re.match("https?:", target) or page.exists(), f"{document.name} links to {target}"
        assert not heading or heading in anchors(page), f"{document.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """What links name the headings of a page by, as hosts of repositories make it of them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
