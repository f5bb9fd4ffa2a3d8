"""Change the code in one place at a time, run the tests that should notice, and write down the changes that survive.

    python tools/mutate.py --mutants 100 --hours 2 --report mutants.jsonl

Each mutant is made in a temporary copy of the repository, never in the working tree. The tests must pass, and the
kernels be compiled, before the first one: `make test`. The same command again goes on where the report ends.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mutations import Mutation, choose, mutations_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src/dragoman")
ENGINE = SOURCE / "engines"
JIT = ENGINE / "numba/jit.py"
MEMORY = 16 << 30  # bytes of addresses: a mutant that asks for all there is fails alone

PROGRAM_TESTS = (
    "engines/test_programs.py engines/test_program_limits.py engines/test_paths.py engines/test_sealing.py "
    "engines/test_network_paths.py"
)


def _files(folder: str, *others: str) -> str:
    """The files of tests in a folder, without those in folders below it."""
    return " ".join(
        [*(f"{folder}/{file.name}" for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))), *others]
    )


# group: (files or folders, tests that should notice); the first entry that has a file says which tests
GROUPS: dict[str, list[tuple[str, str]]] = {
    "operations": [
        ("operations/attention.py", "operations/test_attention.py operations/test_contract.py operations"),
        ("operations/scores.py", "operations/test_scores.py operations/test_book_attention.py operations"),
        ("operations/recurrent", "operations/test_recurrent.py operations/test_recurrent_gates.py operations"),
        ("operations/word_vectors.py", "operations/test_word_vectors.py tasks/vectors"),
        ("operations/vector_steps.py", "operations/test_word_vectors.py engines/test_word_vectors.py tasks/vectors"),
        ("operations/dropout.py", "operations/test_dropout.py layers/test_dropout_in_layers.py operations"),
        ("layers/layer.py", "layers/test_structure.py layers/test_every_layer.py"),
        ("graph/kernel_comparison.py", "graph/test_operation.py"),
        ("graph/gradient_check.py", "graph/test_gradient_check.py layers/test_structure.py"),
        ("operations/pooling.py", "operations/test_pooling.py operations/test_contract.py"),
        ("operations/errors.py", "operations/test_errors.py operations/test_contract.py loss operations"),
        (
            "operations",
            "operations parity/test_operations.py layers analysis/test_audit.py analysis/test_closed_forms.py "
            "decoding notes lecture",
        ),
    ],
    "kernels": [
        ("engines/numba/kernels/vector_updates.py", "engines/test_engine_training.py"),
        ("engines/numba/ops/vector_updates.py", "engines/test_engine_training.py"),
        ("engines/numba/recurrent", "engines/test_recurrent.py"),
        ("engines/numba/ops/recurrent.py", "engines/test_recurrent.py"),
        ("engines/numba/gemm/recurrent_gemm.py", "engines/test_recurrent.py"),
        ("engines/numba/word_vectors", "engines/test_word_vectors.py"),
        ("engines/numba/ops/word_vectors.py", "engines/test_word_vectors.py"),
        ("engines/numba/kernels/attention/gathered.py", "engines/test_fused_search.py"),
        ("engines/numba/kernels/attention", "engines/test_large_scores.py engines/test_numba_operations.py"),
        ("engines/numba/kernels/cross_entropy.py", "engines/test_large_scores.py engines/test_numba_operations.py"),
        ("engines/numba/kernels/row_kernels.py", "engines/test_numba_operations.py"),
        ("engines/numba/kernels/activations.py", "engines/test_recurrent.py"),
        ("engines/numba/kernels/linear.py", "engines/test_numba_operations.py engines/test_gemm.py"),
        ("engines/numba/simd/elementwise.py", "engines/test_elementwise.py engines/test_numba_operations.py"),
        ("engines/numba/ops/attention.py", "engines/test_numba_operations.py engines/test_large_scores.py"),
        ("engines/numba/ops/dense.py", "engines/test_numba_operations.py engines/test_engine_training.py"),
        ("engines/transformer_reader.py", "engines/test_paths.py engines/test_fused_search.py"),
        ("engines/numba/gemm/microkernel.py", "engines/test_gemm.py engines/test_numba_operations.py"),
        (
            "engines/numba/gemm/packed_weights.py",
            "engines/test_gemm.py engines/test_recurrent.py engines/test_fused_search.py",
        ),
        ("engines/numba/gemm/gemm.py", "engines/test_gemm.py engines/test_numba_operations.py"),
    ],
    "programs": [
        (path, PROGRAM_TESTS)
        for path in (
            "engines/numba/programs",
            "engines/numba/ops/programs.py",
            "engines/comparison.py",
            "engines/programs.py",
            "engines/constants.py",
            "engines/reads.py",
            "engines/tracing.py",
            "graph/symbol.py",
        )
    ],
    "optimizers": [("optimization", "optimization training/test_training_loop.py notes/test_descent.py")],
    "splits": [("data/splits.py", "data/test_splits.py data/test_dataset.py cli/test_data_commands.py")],
    "search": [
        ("decoding", "decoding"),
        ("engines/numba/search", "engines/test_fused_search.py"),
        ("engines/numba/gemm/small_gemm.py", "engines/test_fused_search.py"),
        ("engines/numba/gemm/int16_gemm.py", "engines/test_fused_search.py"),
        ("engines/numba/ops/fused_search.py", "engines/test_fused_search.py"),
        ("engines/fused_search.py", "engines/test_fused_search.py engines/test_paths.py"),
    ],
    "checkpoints": [
        ("training/checkpoints.py", "training/test_checkpoints.py training/test_resume.py training/test_killed.py"),
        ("training/averaging.py", "training/test_averaging.py training/test_resume.py"),
        ("networks/storage.py", "networks/test_storage.py training/test_checkpoints.py"),
        ("networks/tensors.py", "networks/test_storage.py training/test_checkpoints.py training/test_damage.py"),
        ("training/resuming.py", "training/test_resume.py training/test_damage.py training/test_checkpoints.py"),
        ("training/state.py", "training/test_damage.py training/test_resume.py"),
    ],
    "texts": [
        ("networks/encoder.py", "networks/test_encoder.py"),
        ("networks/language_model.py", "networks/test_language_model.py"),
        ("data/labelled_texts.py", "data/test_labelled_texts.py tasks/classification"),
        ("data/tagged_words.py", "data/test_tagged_words.py tasks/tagging"),
        ("data/classes.py", "data/test_classes.py data/test_labelled_texts.py tasks/classification"),
        ("data/text_files.py", "data/test_token_stream.py"),
        ("data/token_stream.py", "data/test_token_stream.py tasks/language_model"),
        ("data/stream_preparation.py", "data/test_token_stream.py tasks/language_model"),
        ("data/windows.py", "data/test_token_stream.py tasks/language_model"),
        ("analysis/classes.py", "analysis/test_classes.py tasks/classification"),
        ("analysis/ngrams.py", "analysis/test_ngrams.py tasks/language_model"),
        ("analysis/entities.py", "analysis/test_entities.py tasks/tagging"),
    ],
    "text": [
        ("text/language_calibration.py", "text/test_language_id.py cli/test_languages.py"),
        (
            "text",
            "text tasks/test_protected_spans.py tasks/test_translator.py tasks/test_languages.py "
            "server/test_one_path.py server/test_detection.py "
            "cli/test_translate.py cli/test_translate_inputs.py cli/test_languages.py",
        ),
    ],
    "server": [
        ("server/v1", "server/v1 server/test_openapi.py server/test_fuzz.py"),
        ("server/libretranslate", "server/libretranslate server/test_openapi.py server/test_fuzz.py"),
        ("server/page", "server/page"),
        ("server/answers", "server/test_answers.py server/test_answers_predict.py server/v1 server/test_serve.py"),
        ("server", _files("server", "server/v1", "server/libretranslate", "cli/test_serve_options.py")),
    ],
    "tasks": [
        ("tasks/captioning", "tasks/captioning cli/test_captions.py"),
        ("tasks/classification", "tasks/classification tasks/image_classification cli/test_predict.py"),
        ("tasks/image_classification", "tasks/image_classification cli/test_images.py"),
        ("tasks/regression", "tasks/classification cli/test_predict.py tasks/test_training.py"),
        ("tasks/forecasting", "tasks/forecasting cli/test_forecast.py"),
        ("tasks/language_model", "tasks/language_model cli/test_generate.py"),
        ("tasks/tagging", "tasks/tagging cli/test_tagging.py"),
        ("tasks/vectors", "tasks/vectors cli/test_vectors.py"),
        (
            "tasks",
            _files(
                "tasks", "cli/test_train.py", "cli/test_evaluate.py", "cli/test_plot_documents.py", "cli/test_pack.py"
            ),
        ),
    ],
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100, help="how many at most, 200 or fewer (default 100)")
    parser.add_argument("--hours", type=float, default=2.0, help="stop after so long (default 2)")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for the tests of a mutant (default 300)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are chosen (default 0)")
    parser.add_argument("--group", choices=GROUPS, action="append", help="only this group; may be repeated")
    parser.add_argument("--only", type=int, nargs="+", metavar="ID", help="only these, for instance survivors, again")
    parser.add_argument("--list", action="store_true", help="show the mutants that would be run, and run none")
    parser.add_argument("--report", type=Path, default=Path("mutants.jsonl"), help="one line for each (mutants.jsonl)")
    given = parser.parse_args()
    if not 1 <= given.mutants <= 200:
        parser.error(f"--mutants is from 1 to 200, got {given.mutants}")
    return given


def candidates(groups: list[str]) -> tuple[dict[str, list[Mutation]], dict[Path, list[str]]]:
    """(mutations by group, tests by file)"""
    found: dict[str, list[Mutation]] = {}
    tests: dict[Path, list[str]] = {}
    for group in GROUPS:
        several: list[Mutation] = []
        for place, names in GROUPS[group]:
            full = ROOT / SOURCE / place
            for file in [full] if full.is_file() else sorted(full.rglob("*.py")):
                path = file.relative_to(ROOT)
                if path not in tests:
                    tests[path] = [f"tests/{name}" for name in names.split()]
                    several += mutations_of(path, file.read_text(encoding="utf-8")) if group in groups else []
        if group in groups:
            found[group] = several
    return found, tests


class Copy:
    """A copy of the repository in which one mutant at a time is made and taken back.

    Compiled modules come along; none is written, so none is of a mutant. Compiled kernels come along too. The engine
    keeps them until any of its sources changes; here only those are compiled again whose module imports the one that
    was changed, directly or through others.
    """

    def __init__(self, place: Path) -> None:
        self.root, self.kept = place / "tree", place / "kernels"
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".cache-home", ".hypothesis")
        shutil.copytree(ROOT, self.root, ignore=ignored)
        self.kept.mkdir()
        self.importers = _importers()
        self._keep_stamp()

    def _keep_stamp(self) -> None:
        code = "from dragoman.engines.numba.jit import STAMP; print(STAMP)"
        asked = [sys.executable, "-c", code]
        found = subprocess.run(asked, env=self.environment(ROOT), check=True, capture_output=True, text=True, cwd=ROOT)
        file = self.root / JIT
        source = file.read_text(encoding="utf-8")
        line = "STAMP = stamp_of(Path(__file__).parents[1])"
        if line not in source:
            raise SystemExit(f"{JIT} has no line '{line}': kernels of mutants would not be told apart")
        file.write_text(source.replace(line, f'STAMP = "{found.stdout.strip()}"'), encoding="utf-8")

    def environment(self, root: Path) -> dict[str, str]:
        """Nothing is read from, or written to, where other copies are."""
        place = str(self.kept.parent)
        places = {"HOME": place, "TMPDIR": place, "XDG_CACHE_HOME": place, "PYTHONPATH": str(root / "src")}
        return {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, mutation: Mutation | None, tests: list[str], timeout: float) -> tuple[str, str, float]:
        """(killed, survived or timeout; the test that noticed; seconds)"""
        kernels = self._set_kernels_aside(mutation)
        begun = time.monotonic()
        try:
            if mutation is not None:
                file = self.root / mutation.path
                original = file.read_text(encoding="utf-8")
                file.write_text(mutation.apply(original), encoding="utf-8")
            outcome, noticed = self._tests(tests, timeout)
        finally:
            if mutation is not None:
                file.write_text(original, encoding="utf-8")
            self._put_kernels_back(kernels)
        return outcome, noticed, time.monotonic() - begun

    def _tests(self, tests: list[str], timeout: float) -> tuple[str, str]:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment(self.root),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # tests start processes of their own
            process.communicate()
            return "timeout", ""
        if process.returncode == 0:
            return "survived", ""
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "killed", failed[0][:160] if failed else output.strip().splitlines()[-1][:160]

    def _set_kernels_aside(self, mutation: Mutation | None) -> list[Path]:
        """Those that may be made of the changed source; returns the modules they belong to."""
        if mutation is None or ENGINE not in mutation.path.parents:
            return []
        modules = sorted(self.importers[mutation.path])
        for number, module in enumerate(modules):
            (self.kept / str(number)).mkdir()
            for file in self._kernels(module):
                file.rename(self.kept / str(number) / file.name)
        return modules

    def _put_kernels_back(self, modules: list[Path]) -> None:
        for number, module in enumerate(modules):
            for file in self._kernels(module):
                file.unlink()
            for file in (self.kept / str(number)).iterdir():
                file.rename((self.root / module).parent / "__pycache__" / file.name)
            (self.kept / str(number)).rmdir()

    def _kernels(self, module: Path) -> list[Path]:
        return list((self.root / module).parent.glob(f"__pycache__/{module.stem}.*.nb[ic]"))


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _importers() -> dict[Path, set[Path]]:
    """For every module of the engine: itself and those that import it, directly or through others."""
    names = {}
    for file in (ROOT / ENGINE).rglob("*.py"):
        path = file.relative_to(ROOT)
        parts = path.with_suffix("").parts[1:]
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    direct: dict[Path, set[Path]] = {path: set() for path in names.values()}
    for path in names.values():
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    if name in names:
                        direct[names[name]].add(path)
    return {path: _reached(path, direct) for path in direct}


def _reached(path: Path, direct: dict[Path, set[Path]]) -> set[Path]:
    seen, todo = {path}, [path]
    while todo:
        new = direct[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def main() -> None:
    given = arguments()
    found, tests = candidates(given.group or list(GROUPS))
    chosen = choose(found, given.mutants, given.seed)
    print(f"{len(chosen)} of {sum(map(len, found.values()))} mutants, seed {given.seed}", flush=True)
    if given.list:
        for number, mutation in enumerate(chosen):
            before, after = mutation.shown((ROOT / mutation.path).read_text(encoding="utf-8"))
            print(f"{number}  {mutation.path}:{mutation.line}  {before}  ->  {after}")
        return
    done = {line["id"] for line in read(given.report)} if given.only is None else set()
    wanted = range(len(chosen)) if given.only is None else given.only
    end = time.monotonic() + 3600 * given.hours
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy = Copy(Path(place))
        for number in wanted:
            if number in done:
                continue
            if time.monotonic() > end:
                print("the time is over; the same command again goes on", flush=True)
                break
            mutation = chosen[number]
            outcome, noticed, seconds = copy.run(mutation, tests[mutation.path], given.timeout)
            write(given.report, number, mutation, outcome, noticed, seconds)
    summary(read(given.report))


def write(report: Path, number: int, mutation: Mutation, outcome: str, noticed: str, seconds: float) -> None:
    before, after = mutation.shown((ROOT / mutation.path).read_text(encoding="utf-8"))
    line = {
        "id": number,
        "outcome": outcome,
        "path": str(mutation.path),
        "line": mutation.line,
        "kind": mutation.kind,
        "before": before,
        "after": after,
        "noticed": noticed,
        "seconds": round(seconds),
    }
    with report.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{number:4} {outcome:9} {mutation.path}:{mutation.line}  {before}  ->  {after}", flush=True)


def read(report: Path) -> list[dict[str, Any]]:
    """The last line of each mutant counts."""
    if not report.exists():
        return []
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return list({line["id"]: line for line in lines}.values())


def summary(lines: list[dict[str, Any]]) -> None:
    counted = Counter(line["outcome"] for line in lines)
    print(f"{len(lines)} mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.items())))


if __name__ == "__main__":
    main()
