"""The documentation is true: links lead somewhere, code runs, numbers and pages are what the library says."""

import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from discreet.mechanisms.registry import entries
from site_tools import commands, notebooks, pages, pictures, trust, watching

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WRITTEN = ("papers", "results", "reference")  # by `discreet reproduce`, by mkdocstrings
OWN_TESTS = ("scale.md", "report-files.md", "benchmarks.md", "federated.md")  # run where what they need is
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if path.relative_to(DOCS).parts[0] not in WRITTEN and path.name not in OWN_TESTS
]
WITH_SPARK = [path for path in PAGES if "pyspark" in path.read_text(encoding="utf-8")]
FENCE = re.compile(r"(?:<!-- (not run: [^>]*) -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@pytest.mark.parametrize("path", [path for path in PAGES if path not in WITH_SPARK], ids=lambda path: path.stem)
def test_code_runs(path, tmp_path, monkeypatch):
    run(path, tmp_path, monkeypatch)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("path", WITH_SPARK, ids=lambda path: path.stem)
def test_code_with_spark_runs(path, tmp_path, monkeypatch, spark):
    run(path, tmp_path, monkeypatch)


def run(path, tmp_path, monkeypatch):
    """A page's Python runs in one namespace, its commands in the same folder; what cannot run says why."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for skipped, language, code in FENCE.findall(path.read_text(encoding="utf-8")):
        assert language, f"{path.name}: a block without a language is neither code nor text: {code[:60]}"
        if skipped:
            assert len(skipped) > len("not run: because")
        elif language == "python":
            exec(compile(code, path.name, "exec"), namespace)
        elif language == "bash":
            for line in code.strip().splitlines():
                command = shlex.split(line, comments=True)
                assert command[0] == "discreet"
                environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
                done = subprocess.run(
                    [sys.executable, "-m", "discreet.cli", *command[1:]],
                    capture_output=True,
                    text=True,
                    env=environment,
                )
                assert done.returncode == 0, done.stderr
        else:
            assert language in ("text", "json"), f"{path.name}: {language} is not run; call it text"


def anchors(path):
    found = set()
    for line in re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\s-]", "", line.lstrip("#").replace("`", "").strip().lower())
            found.add(re.sub(r"[\s-]+", "-", words))
    return found


@pytest.mark.parametrize(
    "path",
    [*sorted(DOCS.rglob("*.md")), *(ROOT / n for n in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_somewhere(path):
    generated = {DOCS / "mechanisms" / "index.md", *(DOCS / "mechanisms" / f"{name}.md" for name in entries())}
    written = ("contributing", "security", "changelog", "commands", "code-of-conduct")
    written += tuple(f"notebooks/{name}" for name in notebooks.names())
    generated |= {DOCS / f"{name}.md" for name in written}
    for link in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            assert link.startswith(("https://", "mailto:")), link
            continue
        target, _, anchor = link.partition("#")
        found = path if not target else Path(os.path.normpath(path.parent / target))
        assert found.exists() or found in generated, f"{path.name} leads to {link}"
        if anchor and found.suffix == ".md" and found.exists() and "." not in anchor:
            assert anchor in anchors(found), f"{path.name} leads to {link}"


# -- what the registry writes -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["duchi", "subset-selection", "discrete-square-wave", "adaptive-additive"])
def test_a_mechanism_has_a_page_with_everything(name):
    entry = entries()[name]
    page = pages.mechanism_page(entry)
    m = pages.build(entry)
    for heading in ("When to use it", "Certificate", "How it works", "The channel", "Example"):
        assert f"\n## {heading}\n" in page
    assert f"{m.certificate.epsilon:.12f}" in page
    assert "<svg" in page
    assert "\n    " in page  # its formula, as code
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, name, "exec"), {})


def test_every_mechanism_is_in_the_index_and_the_navigation():
    index, listed = pages.index_page(), str(pages.navigation())
    for name, entry in entries().items():
        assert f"({name}.md)" in index
        assert f"mechanisms/{name}.md" in listed
        assert pages.source_of(entry)
        assert pages.advice_of(pages.split_docstring(entry)[1]) or name in pages.USE
    for _, file in pages.PAPERS.values():
        assert (DOCS / "papers" / file).exists()


def test_the_page_of_commands_has_every_verb_and_option():
    page = commands.command_page()
    for verb in ("demo", "privatize", "estimate", "campaign start", "advise"):
        assert f"# discreet {verb}\n" in page
    for option in ("`--thousands`", "`--from`", "`--force`"):
        assert option in page
    assert "--users" not in page  # hidden


def test_the_worse_of_two_is_not_called_the_least():
    rows = list(pages.standing(entries()["laplace"]))
    assert rows[-1].startswith("| 4 |")
    assert "minimax" in rows[-1]


# -- numbers ----------------------------------------------------------------------------------------------


def text(name):
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("name", "start", "drawn"), [("how-it-works.md", "how", pictures), ("trust.md", "trust", trust)]
)
def test_the_pictures_say_what_is_computed(name, start, drawn):
    page = text(name)
    for what, number in drawn.facts().items():
        assert number in page, (what, number)
    for picture in drawn.PICTURES:
        assert (DOCS / "images" / f"{start}-{picture}.png").stat().st_size < 150_000
        assert f"images/{start}-{picture}.png" in page


def test_pictures_can_be_drawn_again(tmp_path):
    assert pictures.draw("belief", tmp_path).read_bytes()[:4] == b"\x89PNG"
    assert pictures.draw("heap", tmp_path, "trust", trust.PICTURES).read_bytes()[:4] == b"\x89PNG"


def test_the_table_of_epsilons_is_computed():
    wanted = []
    for epsilon in (0.1, 0.5, 1, 2, 4):
        variance = dc.mechanism("minimax", epsilon).worst_case_variance
        people = float(f"{variance * (1.959964 / 0.02) ** 2:.4g}")  # canonical: the interval is 2 wide
        sure = 100 * pictures.most_sure(epsilon)
        shown = f"{people:,.0f}".replace(",", " ")
        wanted.append(f"| {epsilon:g} | × {math.exp(epsilon):.2f} | {sure:.1f} % | {shown} |\n")
    assert "".join(wanted) in (DOCS / "concepts.md").read_text(encoding="utf-8")


def test_the_threat_model_is_computed():
    page = text("threat-model.md")
    for epsilon in (0.5, 1, 2, 4):
        factors = [
            dc.mechanism("duchi", epsilon).influence,
            dc.mechanism("piecewise", epsilon).influence,
            dc.mechanism("randomized-response", epsilon, size=16).influence,
            dc.mechanism("randomized-response", epsilon, size=1024).influence,
            dc.mechanism("optimized-unary", epsilon, size=16).influence,
        ]
        row = next(
            line for line in (DOCS / "threat-model.md").read_text().splitlines() if line.startswith(f"| {epsilon:g} | ")
        )
        shown = [float(cell) for cell in row.strip("| ").split(" | ")[1:]]
        assert all(math.isclose(a, b, rel_tol=0.02) for a, b in zip(shown, factors, strict=True)), (shown, factors)
    right = pictures.most_sure(1.0)

    def majority(count):
        return sum(
            math.comb(count, k) * right**k * (1 - right) ** (count - k) for k in range(count // 2 + 1, count + 1)
        )

    assert f"{100 * right:.0f} %" in page
    assert f"{100 * majority(25):.1f} %" in page
    assert round(1e7 * (1 - majority(101))) == 4
    assert "four cases in ten million" in page


def test_the_readme_is_computed():
    page = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    papers = [e for e in entries().values() if e.question == "mean" and not e.needs and e.name != "minimax"]
    for epsilon in (1, 5):
        least = min(e.build(epsilon).worst_case_variance for e in papers)
        gain = 1 - dc.mechanism("minimax", epsilon).worst_case_variance / least
        assert f"{100 * gain:.0f} %" in page.partition("`minimax` is ours")[2][:90]
    variance = dc.mechanism("minimax", 1).worst_case_variance
    assert "about 2 per person" in page
    assert round(math.sqrt(variance), 1) == 2.0
    assert "ten thousand people" in page
    assert 9000 < variance / 0.02**2 < 11_000


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the site needs the extra docs: 'make docs' installs it")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    for name in ("index", "how-it-works", "mechanisms/minimax", "reference/plans", "contributing"):
        page = (tmp_path / "site" / f"{name}.html").read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://', page), name  # offline


def test_the_api_page_lists_every_exported_name():
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert {name for name in dc.__all__ if f"`{name}`" not in page} == set()


def test_every_exported_name_is_documented():
    """mkdocstrings writes what the reference pages name; `checks`, `metrics` and `plots` are modules."""
    named = set(re.findall(r"^::: ([\w.]+)$", "".join(p.read_text() for p in (DOCS / "reference").glob("*.md")), re.M))
    ends = {name.rpartition(".")[2] for name in named}
    errors = {name for name in dc.__all__ if name.endswith("Error") or name == "MissingExtra"}
    assert set(dc.__all__) - ends - errors - {"checks"} == set()


# -- the architecture -------------------------------------------------------------------------------------

ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")


def test_every_path_of_the_architecture_exists():
    paths = re.findall(r"`((?:src|tests|docs|papers|benchmarks|clients)/[\w./-]*)`", ARCHITECTURE)
    assert len(paths) > 40
    for path in {*paths, "pyproject.toml", "README.md"}:
        assert (ROOT / path).exists(), path
        assert (ROOT / path).is_dir() == path.endswith("/"), path


def test_the_architecture_lists_every_room_from_high_to_low():
    table = ARCHITECTURE.partition("## Rooms")[2].partition("Outside the package")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = [name.rstrip("/").removesuffix(".py") for row in rows for name in re.findall(r"`([\w./]+)`", row)]
    package = ROOT / "src" / "discreet"
    there = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert set(listed) == there - {"__init__", "__main__"}
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contract if one["id"] == "layers")
    ranks = {name.strip("() "): rank for rank, layer in enumerate(layers) for name in layer.split("|")}
    assert set(ranks) - {"__main__"} == set(listed)
    assert [ranks[name] for name in listed] == sorted(ranks[name] for name in listed)


def test_the_picture_of_a_watched_campaign_shows_what_it_says():
    found = watching.looks()
    one, all_looks = (found[kind] for kind in ("fixed", "watched"))
    missed = (one[:, 0] > found["truth"]) | (one[:, 1] < found["truth"])
    assert found["n"][missed][[0, -1]].tolist() == [700, 3100]
    assert ((all_looks[:, 0] <= found["truth"]) & (found["truth"] <= all_looks[:, 1])).all()
    assert "images/watched-campaign.png" in (DOCS / "service.md").read_text(encoding="utf-8")
