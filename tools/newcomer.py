"""Do what somebody new does: build sdist and wheel, install each in a fresh environment, run what the pages say.

    python tools/newcomer.py [--only core|extras|sdist] [--folder out/newcomer]

- core: the wheel without extras. The first examples run, and a missing extra is asked for in one sentence.
- extras: the wheel with extras. Every command and code block of the README, the documentation and the tutorials that
  can run on one machine is run as printed, and every notebook; what is not run says why on its page. The steps of the
  Dockerfile are run as well: its installation, its warm-up, its command and its health check; then the commands of
  the page about the collector.
- sdist: the source archive, unpacked in an empty folder: `make install`, the README's three commands, `make demo` and
  `make docs`.

pip finds its packages where it is configured to; versions are those of constraints.txt.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = "dask,dataframes,excel,fast,plots,scipy,service,yaml"
"""All but Spark and Flower, which need Java and an environment of their own."""
FENCE = re.compile(r"(?:<!-- (not run: [^>]*) -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
NEEDS_MORE = {
    "pyspark": "Spark needs Java; `make test` runs it",
    "flwr": "Flower has an environment of its own; `make test-flower` runs it",
    "discreet_benchmarks": "needs a clone",
    "discreet_papers": "needs a clone",
}
VERBS_OF_A_CLONE = ("bench", "reproduce")
PEOPLE = "name,wage\n" + "".join(f"person {i},{20_000 + 37 * (i % 1000)}\n" for i in range(3000))


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a command in a folder; its output, or an error with all that it said."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=kept | {"PYTHONIOENCODING": "utf-8"} | environment
    )
    if done.returncode:
        raise SystemExit(f"\nFAILED: {shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def fresh(folder: Path, what: str, *more: str) -> Path:
    """Return the folder of programs of a new environment in which something is installed."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "-c", str(ROOT / "constraints.txt"), what, *more], ROOT)
    return programs


def build(folder: Path) -> tuple[Path, Path]:
    """Build sdist and wheel; return their paths."""
    shutil.rmtree(folder, ignore_errors=True)
    for target in ("sdist", "wheel"):
        run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)], ROOT)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def core(wheel: Path, folder: Path) -> None:
    """The wheel without extras."""
    programs = fresh(folder / "core", str(wheel))
    python, discreet = str(programs / "python"), str(programs / "discreet")
    work = folder / "work-core"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for page in (ROOT / "README.md", ROOT / "docs/index.md"):
        code = next(code for _, language, code in FENCE.findall(page.read_text("utf-8")) if language == "python")
        assert "±" in run([python, "-c", code], work), page
    for command in (
        ["--version"],
        ["mechanisms"],
        ["describe", "minimax", "--epsilon", "1", "--json"],
        ["advise", "mean", "--low", "0", "--high", "1", "--epsilon", "1", "--people", "1000", "--json"],
        ["new-mechanism", "mine"],
        ["warm-up", "--json"],
    ):
        run([discreet, *command], work)
    run([python, "-m", "discreet", "--version"], work)
    (work / "people.csv").write_text(PEOPLE, encoding="utf-8")
    asked = ["privatize", "people.csv", "--column", "wage", "--ask", "mean", "--low", "0", "--high", "90000"]
    done = subprocess.run(
        [discreet, *asked, "--epsilon", "1", "--out", "r.csv"], cwd=work, capture_output=True, text=True
    )
    assert (done.returncode, 'pip install "discreet[dataframes]"' in done.stderr) == (2, True), done.stderr


def extras(wheel: Path, folder: Path) -> None:
    """The wheel with extras: every page, every notebook, and what the image does."""
    programs = fresh(folder / "extras", f"{wheel}[{EXTRAS}]")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    written = ("papers", "results", "reference")
    for page in pages:
        if page.relative_to(ROOT).parts[1:2] and page.relative_to(ROOT).parts[1] in written:
            continue
        started = time.perf_counter()
        ran, left = replay(page, programs, folder / "work-extras" / page.stem)
        print(f"  {page.relative_to(ROOT)}: {ran} blocks, {time.perf_counter() - started:.0f} s", flush=True)
        for reason in left:
            print(f"    not run: {reason}", flush=True)
    for notebook in sorted((ROOT / "examples").glob("*.ipynb")):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        reason = next((why for word, why in NEEDS_MORE.items() if word in code), None)
        if reason is None:
            work = folder / "work-extras" / notebook.stem
            work.mkdir(parents=True, exist_ok=True)
            (work / "cells.py").write_text(code, encoding="utf-8")
            run([str(programs / "python"), "cells.py"], work, MPLBACKEND="agg")
        print(f"  {notebook.relative_to(ROOT)}: {'ran' if reason is None else f'not run: {reason}'}", flush=True)
    own_mechanism(programs, folder / "work-mechanism")
    image(programs, folder / "work-image")


def replay(page: Path, programs: Path, work: Path) -> tuple[int, list[str]]:
    """Run the blocks of a page in their order, in one folder; return how many ran, and why others did not."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "people.csv").write_text(PEOPLE, encoding="utf-8")
    steps: list[tuple[str, object]] = []
    left: list[str] = []
    for skipped, language, code in FENCE.findall(page.read_text("utf-8")):
        lacking = next((why for word, why in NEEDS_MORE.items() if word in code), None)
        if skipped == NEEDS_COLLECTOR:
            steps += [("python", WITH_COLLECTOR), ("python", code), ("python", "running.close()")]
        elif skipped or (language == "python" and lacking):
            left.append(skipped.removeprefix("not run: ") or str(lacking))
        elif language == "python":
            steps.append(("python", code))
        elif language == "bash" or (page.name == "README.md" and language == ""):
            steps += [("command", [str(programs / "discreet"), *words]) for words in commands(code, left)]
    (work / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
    (work / "page.py").write_text(PLAYER, encoding="utf-8")
    run([str(programs / "python"), "page.py"], work, MPLBACKEND="agg")
    return len(steps), list(dict.fromkeys(left))


NEEDS_COLLECTOR = "not run: needs a collector"
WITH_COLLECTOR = """
import contextlib
from discreet.service.embedded import Embedded

running = contextlib.ExitStack()
served = running.enter_context(Embedded())
collector = running.enter_context(dc.Collector(served.url, served.token))
ledger = dc.Ledger("ledger.jsonl", limit=10)
"""
"""What a block that says it needs a collector finds."""

PLAYER = """
import json, pathlib, subprocess

if __name__ == "__main__":  # some blocks start processes
    namespace = {"__name__": "page"}
    for kind, step in json.loads(pathlib.Path("steps.json").read_text("utf-8")):
        if kind == "python":
            exec(compile(step, "page", "exec"), namespace)
        else:
            subprocess.run(step, check=True)
"""
"""Runs the steps of a page: its Python in one namespace, its commands in between."""


def commands(code: str, left: list[str]) -> list[list[str]]:
    """Return the commands of a block that are discreet's; those that install or build are what this file does."""
    found = []
    for line in code.strip().splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a drawing
        if not words or words[0] not in ("discreet", ".venv/bin/discreet"):
            continue
        if words[1] in VERBS_OF_A_CLONE:
            left.append(f"discreet {words[1]} needs a clone")
            continue
        found.append(words[1:])
    return found


def own_mechanism(programs: Path, work: Path) -> None:
    """A package of one's own, as `discreet new-mechanism` makes it: installed, it is found by its entry point."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    run([str(programs / "discreet"), "new-mechanism", "mine"], work)
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "-e", "discreet-mine"], work)
    assert "exact ε" in run([str(programs / "discreet"), "describe", "mine", "--epsilon", "1"], work)
    print("  discreet new-mechanism: installed, found, described", flush=True)


def image(programs: Path, work: Path) -> None:
    """What the Dockerfile does after its installation: warm up with a cache of its own, serve, answer the check."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "cache").mkdir(parents=True)
    place = {"NUMBA_CACHE_DIR": str(work / "cache")}
    run([str(programs / "discreet"), "warm-up"], work, **place)
    assert any((work / "cache").rglob("*.nbc")), "warm-up compiled nothing into NUMBA_CACHE_DIR"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"DISCREET_DATABASE": str(work / "collector.db"), "DISCREET_PORT": str(port)}
    serving = subprocess.Popen(
        [str(programs / "discreet"), "serve"], cwd=work, env=os.environ | place | settings, stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(240):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=4) as answer:
                    assert json.load(answer)["status"] == "ok"
                    break
            except OSError:
                assert serving.poll() is None, "the collector stopped"
                time.sleep(0.5)
        else:
            raise SystemExit("FAILED: the collector did not answer its health check")
        made = run([str(programs / "discreet"), "serve", "--new-token", "Ann", "--json"], work, **place, **settings)
        campaign(
            programs, work, DISCREET_URL=f"http://127.0.0.1:{port}", DISCREET_TOKEN=json.loads(made)["token"], **place
        )
    finally:
        serving.terminate()
        serving.wait(timeout=60)
    print("  the steps of the Dockerfile: installed, warmed up, served, healthy", flush=True)


def campaign(programs: Path, work: Path, **environment: str) -> None:
    """The commands of the page about the collector, with the plan that it shows, and an answer by the link."""
    page = (ROOT / "docs/service.md").read_text("utf-8")
    (work / "plan.json").write_text(re.search(r"`(\{\"question\": .*?\}\s*)`", page)[1], encoding="utf-8")
    discreet = str(programs / "discreet")
    (start,) = [line for line in page.splitlines() if line.startswith("discreet campaign start")]
    shown = run([discreet, *shlex.split(start)[1:]], work, **environment, COLUMNS="200")
    link = re.search(r"http://127\.0\.0\.1:\d+/c/\S+#round=\S+", shown)[0]
    run([discreet, "campaign", "answer", link, "42", "--ledger", "mine.jsonl", "--limit", "2"], work, **environment)
    assert "Commuting" in run([discreet, "campaign", "list"], work, **environment)
    print("  docs/service.md: a campaign started, its link answered, listed", flush=True)


def sdist(archive: Path, folder: Path) -> None:
    """The source archive in an empty folder: what the README says to do in a clone."""
    work = folder / "work-sdist"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with tarfile.open(archive) as file:
        file.extractall(work, filter="data")
    (clone,) = work.iterdir()
    (clone / "people.csv").write_text(PEOPLE, encoding="utf-8")
    run(["make", "install", f"PYTHON={sys.executable}"], clone)
    block = next(
        code for _, _, code in FENCE.findall((clone / "README.md").read_text("utf-8")) if "make install" in code
    )
    for line in block.strip().splitlines():
        words = shlex.split(line, comments=True)
        if words[0] != "make":
            run(words, clone)
    assert "randomised answers" in run(["make", "demo"], clone)
    assert (clone / "out/demo/report.html").exists() or list(clone.rglob("report.html")), "the demo wrote no report"
    run(["make", "docs"], clone)
    assert (clone / "out/site/index.html").exists()


def main() -> None:
    """Run what is asked for, and say how long it took."""
    reader = argparse.ArgumentParser(description="Do what somebody new does, in fresh environments.")
    reader.add_argument("--only", choices=("core", "extras", "sdist"), action="append")
    reader.add_argument("--folder", type=Path, default=ROOT / "out" / "newcomer")
    given = reader.parse_args()
    folder = given.folder.resolve()
    archive, wheel = build(folder / "dist")
    for name, step in {
        "core": lambda: core(wheel, folder),
        "extras": lambda: extras(wheel, folder),
        "sdist": lambda: sdist(archive, folder),
    }.items():
        if given.only and name not in given.only:
            continue
        started = time.perf_counter()
        print(f"{name} …", flush=True)
        step()
        print(f"{name}: passed, {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
