"""Write a software bill of materials (CycloneDX 1.6) of discreet and what its extras bring, from an environment.

    python tools/sbom.py out/dist/discreet.cdx.json [extra ...]

Run it with the environment's own Python. The list is what is installed there and needed by discreet with these extras,
all that it declares unless some are named: names, versions, licences and who needs whom.
"""

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = "discreet"


def needed_by(found: Distribution, extras: set[str]) -> list[tuple[str, set[str]]]:
    """Return what a distribution needs, with the extras of each."""
    needs = []
    for line in found.requires or []:
        requirement, _, marker = line.partition(";")
        asked = re.findall(r"extra\s*==\s*['\"]([^'\"]+)['\"]", marker)
        if asked and not set(asked) & extras:
            continue
        name, _, inside = re.match(r"\s*([\w.-]+)\s*(\[([^\]]*)\])?", requirement).groups()
        needs.append((name, {one.strip() for one in (inside or "").split(",") if one.strip()}))
    return needs


def component(found: Distribution) -> dict[str, object]:
    """Return a distribution as a component."""
    name, version = found.metadata["Name"].lower().replace("_", "-"), found.version
    licence = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    reference = f"pkg:pypi/{name}@{version}"
    made = {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference}
    if licence and len(licence) < 80:
        made["licenses"] = [{"license": {"name": licence}}]
    return made


def bill(extras: set[str]) -> dict[str, object]:
    """Return the bill of materials."""
    components: dict[str, dict[str, object]] = {}
    links: dict[str, set[str]] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(ROOT, extras)]
    while waiting:
        name, asked = waiting.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another system, or an extra that is not installed
        made = component(found)
        reference = str(made["bom-ref"])
        components[reference] = made
        if (reference, frozenset(asked)) in seen:
            continue
        seen.add((reference, frozenset(asked)))
        for other, inside in needed_by(found, asked):
            waiting.append((other, inside))
            try:
                links.setdefault(reference, set()).add(str(component(distribution(other))["bom-ref"]))
            except PackageNotFoundError:
                continue
    main = next(made for made in components.values() if made["name"] == ROOT)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main | {"type": "application"}},
        "components": sorted((one for one in components.values() if one is not main), key=lambda one: str(one["name"])),
        "dependencies": [
            {"ref": reference, "dependsOn": sorted(links.get(reference, set()) - {reference})}
            for reference in sorted(components)
        ],
    }


def main() -> None:
    """Write the file that is named first."""
    target, *extras = sys.argv[1:]
    declared = set(distribution(ROOT).metadata.get_all("Provides-Extra") or [])
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    made = bill(set(extras) or declared)
    Path(target).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {len(made['components'])} components")


if __name__ == "__main__":
    main()
