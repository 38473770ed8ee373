"""`make bench`: every benchmark in turn, each in a process of its own; what they print goes to out/bench as well.

python -m benchmarks [--quick] [name ...]
"""

import argparse
import subprocess
import sys
from pathlib import Path

PARTS = {
    "samplers": ["--quick"],
    "frequency": ["--quick"],
    "distribution": ["--quick"],
    "lp": [],
    "files": ["--rows", "1000000"],
    "service": ["--quick"],
    "means_accuracy": ["--quick"],
}
"""The benchmarks and what makes each of them quick."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*", choices=[*PARTS, []], help="only these")
    options = parser.parse_args()
    out = Path("out") / "bench"
    out.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in options.names or PARTS:
        print(f"\n== {name}", flush=True)
        arguments = PARTS[name] if options.quick else []
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *arguments], stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout)
        (out / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
        if done.returncode:
            failed.append(name)
    print(f"Written to {out}." + (f" FAILED: {', '.join(failed)}." if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
