"""Prints what is installed as a CycloneDX bill of materials, with the hashes of a lock.

Usage: .venv/bin/python scripts/sbom.py LOCK_FILE

Reads the environment of the Python that runs it, so that what no lock holds, such as torch, is listed too.
Two environments with the same packages give the same bytes.
"""

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
Hashes = dict[tuple[str, str], list[str]]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes_of(lock: str) -> Hashes:
    """The SHA-256 of each file of a package that may be installed, by its name and version."""
    found: Hashes = {}
    files: list[str] = []
    for line in lock.splitlines():
        if pin := PIN.match(line):
            files = found.setdefault((normal(pin[1]), pin[2]), [])
        files += HASH.findall(line)
    return found


def component(package: Distribution, hashes: Hashes) -> dict[str, Any]:
    name, version = normal(package.metadata["Name"]), package.version
    purl = f"pkg:pypi/{name}@{version}"
    files = [
        {
            "type": "distribution",
            "url": purl,
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
        for digest in sorted(hashes.get((name, version), []))
    ]
    told = package.metadata.json
    licence = str(told.get("license_expression") or told.get("license") or "")
    said = licence.strip().splitlines()[0][:100] if licence.strip() else ""
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        **({"licenses": [{"license": {"name": said}}]} if said else {}),
        **({"externalReferences": files} if files else {}),
    }


def components(hashes: Hashes) -> Iterator[dict[str, Any]]:
    found = {normal(package.metadata["Name"]): package for package in distributions()}
    for _, package in sorted(found.items()):
        yield component(package, hashes)


def bill(lock: str) -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    listed = list(components(hashes_of(lock)))
    own = f"pkg:generic/{project['name']}@{project['version']}"
    told = json.dumps(listed)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, told)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": listed,
        "dependencies": [
            {"ref": own, "dependsOn": [each["bom-ref"] for each in listed]}
        ],
    }


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("Usage: sbom.py LOCK")
    print(
        json.dumps(
            bill(Path(arguments[0]).read_text(encoding="utf-8")),
            indent=1,
            ensure_ascii=False,
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
