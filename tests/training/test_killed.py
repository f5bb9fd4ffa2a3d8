"""Real processes, really killed: what they leave is whole, and the end is the same bit by bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dragoman.training import Stopping
from dragoman.training.interrupts import Interrupts
from tests.training.small_trainings import CASES, Left, environment, intact, left_in
from tests.waiting import LONGEST

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

CASE = "accumulated, averaged, evaluated every 2"
NEVER = 10_000  # steps: more than are ever waited for
SCRIPT = f'''
import signal
import sys
import time
from pathlib import Path

from dragoman.training import Stopping, Callback
from dragoman.training.interrupts import Interrupts
from tests.training.small_trainings import CASES

interrupts = Interrupts()


class Tell(Callback):
    def step(self, step, loss, training):
        print(step, flush=True)
        if "stubborn" in sys.argv:  # a step that takes very long
            while interrupts.signal is None:
                time.sleep(0.002)
            print("told", flush=True)
            time.sleep(600)


training = CASES["{CASE}"].build(
    Path(sys.argv[1]), stopping=Stopping(int(sys.argv[2])), save_every=-1.0, watch=Tell(), interrupted=interrupts.reason
)
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
with interrupts.listening():
    outcome = training.run()
assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
print(outcome.reason)
sys.exit(0 if outcome.finished else 3)
'''


class Process:
    """A training in a process of its own"""

    def __init__(self, tmp_path: Path, place: Path, steps: int, *words: str) -> None:
        script = tmp_path / "script.py"
        script.write_text(SCRIPT, encoding="utf-8")
        place.mkdir(exist_ok=True)
        command = [sys.executable, str(script), str(place), str(steps), *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path
        )

    def wait_for_lines(self, count: int) -> bool:
        """False when it ended before it had said so many"""
        assert self.process.stdout is not None
        return all(self.process.stdout.readline() for _ in range(count))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """(return code, what else it said, its errors)"""
        try:
            out, errors = self.process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, out, errors


def uninterrupted(place: Path, steps: int) -> Left:
    """What a training leaves that nobody stops"""
    place.mkdir()
    CASES[CASE].build(place, stopping=Stopping(steps)).run()
    return left_in(place)


def test_killed_again_and_again_it_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    rng, place, reached = np.random.default_rng(0), tmp_path / "training", 0
    for _ in range(14):
        process = Process(tmp_path, place, NEVER)
        assert process.wait_for_lines(int(rng.integers(1, 5)))
        time.sleep(rng.uniform(0.0, 0.03))  # anywhere in a step or in what is written after it
        process.signal(signal.SIGKILL)
        code, _, errors = process.end()
        assert (code, errors) == (-signal.SIGKILL, "")
        step = intact(place)
        assert step >= reached
        reached = step
    assert reached > 0
    code, said, errors = Process(tmp_path, place, reached + 5).end()
    assert (code, errors) == (0, "")
    assert said.splitlines() == [*map(str, range(reached + 1, reached + 6)), f"finished {reached + 5} steps"]
    assert left_in(place).differences(uninterrupted(tmp_path / "whole", reached + 5)) == []
    assert [path.name for path in (place / "checkpoints").iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_finishes_its_step_saves_and_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    place = tmp_path / "training"
    process = Process(tmp_path, place, NEVER)
    assert process.wait_for_lines(7)
    process.signal(number)
    code, said, errors = process.end()
    *steps, reason = said.splitlines()
    reached = int(steps[-1]) if steps else 7
    assert (code, errors, reason) == (3, "", f"interrupted ({number.name})")
    assert intact(place) == reached
    code, said, errors = Process(tmp_path, place, reached + 5).end()
    assert (code, errors) == (0, "")
    assert said.splitlines() == [*map(str, range(reached + 1, reached + 6)), f"finished {reached + 5} steps"]
    assert left_in(place).differences(uninterrupted(tmp_path / "whole", reached + 5)) == []


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_told_twice_it_stops_at_once(tmp_path: Path, second: signal.Signals) -> None:
    place = tmp_path / "training"
    process = Process(tmp_path, place, NEVER, "stubborn")
    assert process.wait_for_lines(1)
    process.signal(signal.SIGINT)
    assert process.wait_for_lines(1)  # it heard, and goes on with its long step
    assert process.process.poll() is None
    process.signal(second)
    code, said, errors = process.end()
    assert code != 0
    assert said == ""
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert intact(place) == 0


# Killed before each thing it does to a file

EVERY = '''
import os
import signal
import sys
from pathlib import Path

from dragoman.training import Validation, Stopping, checkpoints
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import POINTS, Case, intact, judged_points, left_in

checkpoints._to_disk = lambda path: None  # the plug stays in
root = Path(sys.argv[1])
values = [1, 3, 2]


def train(place):
    """Three rounds: better, better, worse; a checkpoint after every step"""

    def scores(network):
        return {"quality": values[training.progress.evaluations]}

    validation = Validation(judged_points, best_by="quality", scores=scores, every=2)
    training = Case(lambda: Perceptrons(3, 2), POINTS).build(
        place, keep=1, stopping=Stopping(5), validation=validation, averaging=0.5, save_every=-1.0
    )
    return training.run()


def killed_before(count, place):
    """Train in a fork that dies before it touches files for the n-th time; True when it came to its end"""
    child = os.fork()
    if child == 0:
        touched = 0

        def hook(event, given):
            nonlocal touched
            if event not in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.scandir", "os.listdir"):
                return
            if event == "open" and str(place) not in str(given[0]):
                return
            touched += 1
            if touched == count:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        train(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, status
    return True


def fresh(name):
    (root / name).mkdir()
    return root / name


whole = fresh("whole")
train(whole)
count, wrong = 0, []
while True:
    count += 1
    place = fresh(str(count))
    if killed_before(count, place):
        break
    try:
        intact(place)
        train(place)
        differences = left_in(place).differences(left_in(whole))
        left = [path.name for path in (place / "checkpoints").iterdir() if path.name.startswith(".")]
        if differences or left:
            wrong.append((count, differences, left))
    except Exception as error:
        wrong.append((count, repr(error)))
print(count - 1, wrong)
'''


def test_killed_before_anything_it_does_to_a_file(tmp_path: Path) -> None:
    script, place = tmp_path / "script.py", tmp_path / "places"
    script.write_text(EVERY, encoding="utf-8")
    place.mkdir()
    finished = subprocess.run(
        [sys.executable, str(script), str(place)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    kills, wrong = finished.stdout.split(" ", 1)
    assert wrong.strip() == "[]"
    assert int(kills) > 60


# Signals elsewhere


def test_only_the_main_thread_hears_signals() -> None:
    interrupts, seen = Interrupts(), []

    def listen() -> None:
        before = signal.getsignal(signal.SIGTERM)
        with interrupts.listening():
            seen.append(signal.getsignal(signal.SIGTERM) is before)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [True]
    assert interrupts.reason() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_remembered_the_second_raises(number: signal.Signals) -> None:
    interrupts = Interrupts()
    interrupts._remember(number, None)
    assert interrupts.reason() == f"interrupted ({number.name})"
    with pytest.raises(KeyboardInterrupt):
        interrupts._remember(signal.SIGTERM, None)
    assert interrupts.signal == number
