"""What runs a collector elsewhere: image, compose file, unit, workflows, and the bill of materials, as far as can be
checked without Docker, systemd and GitHub."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_image_runs_without_root_and_checks_its_health():
    lines = text("Dockerfile").splitlines()
    last_stage = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER 10001" in last_stage
    assert not any(line.startswith(("ADD ", "RUN apt")) for line in lines)
    joined = "\n".join(last_stage)
    for word in ("HEALTHCHECK", "/health", 'RUN ["discreet", "warm-up"]', "NUMBA_CACHE_DIR=/var/cache/discreet"):
        assert word in joined
    assert joined.index("USER 10001") < joined.index('"warm-up"')  # the cache belongs to who uses it


def test_the_image_gets_all_that_the_wheel_needs_and_no_more():
    copied = {
        word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text("Dockerfile"), re.M) for word in line.split()
    }
    kept = {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "src", "clients"}
    assert kept == copied - {"clients"} | {"clients/javascript/src"}
    included = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert set(included) == {"clients/javascript/src"}


def test_the_compose_file_names_what_it_uses():
    found = yaml.safe_load(text("compose.yaml"))
    collector = found["services"]["collector"]
    assert collector["read_only"] is True
    assert collector["cap_drop"] == ["ALL"]
    assert set(collector["depends_on"]) <= set(found["services"])
    for service in found["services"].values():
        assert set(service.get("secrets", [])) <= set(found["secrets"])
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(found["volumes"])
    names = set(collector["environment"])
    known = text("src/discreet/service/configuration.py") + text("src/discreet/service/settings.py")
    for name in names - {"DISCREET_DATABASE_FILE"}:
        assert name.removeprefix("DISCREET_").lower() in known, name


def test_the_unit_is_whole():
    unit = text("deploy/discreet.service")
    sections = re.findall(r"^\[(\w+)\]$", unit, re.M)
    assert sections == ["Unit", "Service", "Install"]
    for line in ("DynamicUser=yes", "ProtectSystem=strict", "ExecStart=/opt/discreet/bin/discreet serve"):
        assert f"\n{line}\n" in unit
    for line in unit.splitlines():
        assert not line or line.startswith(("#", "[")) or "=" in line


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_ask_for_little_and_call_what_exists(path):
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    for job in found["jobs"].values():
        assert set(job.get("needs", "").split()) <= set(found["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            for line in step.get("run", "").splitlines():
                words = line.split()
                if words[0] == "make":
                    assert {word for word in words[1:] if "=" not in word} <= targets
                elif words[0].startswith("."):
                    assert (ROOT / words[0]).exists() or words[0].startswith(".venv")
    assert "secrets." not in path.read_text(encoding="utf-8")


def test_the_citation_has_the_version():
    found = yaml.safe_load(text("CITATION.cff"))
    assert found["version"] == discreet.__version__
    assert {"cff-version", "title", "message", "authors", "license"} <= set(found)


def test_the_addresses_of_the_project_are_the_same_everywhere():
    """There are none yet; whoever adds one adds it to both."""
    urls = tomllib.loads(text("pyproject.toml"))["project"].get("urls", {})
    cited = yaml.safe_load(text("CITATION.cff"))
    assert urls.get("Repository") == cited.get("repository-code")
    assert urls.get("Homepage") == cited.get("url")


def test_the_bill_of_materials_is_closed(tmp_path):
    target = tmp_path / "bill.json"
    subprocess.run([sys.executable, str(ROOT / "tools/sbom.py"), str(target)], check=True, capture_output=True)
    found = json.loads(target.read_text())
    assert found["bomFormat"] == "CycloneDX"
    assert found["metadata"]["component"]["name"] == "discreet"
    names = {one["name"] for one in found["components"]}
    assert names >= {"numpy", "msgspec", "cryptography", "typer", "rich", "fastapi", "scipy"}
    references = {one["bom-ref"] for one in found["components"]} | {found["metadata"]["component"]["bom-ref"]}
    for link in found["dependencies"]:
        assert {link["ref"], *link["dependsOn"]} <= references


def test_python_m_discreet_is_discreet():
    done = subprocess.run([sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"discreet {discreet.__version__}\n"
