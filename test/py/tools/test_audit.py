"""tools/audit.py refuses what it should: a vulnerability that the index knows of, a licence that nobody agreed to."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("audit", Path(__file__).resolve().parents[3] / "tools" / "audit.py")
assert SPEC is not None
assert SPEC.loader is not None
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)


def answering(monkeypatch, output: object) -> None:
    text = output if isinstance(output, str) else json.dumps(output)
    done = subprocess.CompletedProcess([], 0, stdout=text, stderr="")
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: done)


def package(name: str, *ids: str) -> dict:
    return {"name": name, "version": "1", "vulns": [{"id": each, "fix_versions": ["2"]} for each in ids]}


@pytest.mark.parametrize(
    ("answer", "count", "said"),
    [
        ({"dependencies": [package("a"), package("b", "CVE-1", "CVE-2")]}, 2, "b 1: CVE-1, fixed in 2"),
        ({"dependencies": [package("a"), {"name": "b", "skip_reason": "not found"}]}, 0, "0 in 1 packages of 2"),
        ({"dependencies": [{"name": "b", "skip_reason": "not found"}]}, 0, "skipped"),
        ("", 0, "skipped, the package index does not answer"),
    ],
)
def test_vulnerabilities(monkeypatch, capsys, answer, count, said):
    answering(monkeypatch, answer)
    assert audit.vulnerabilities(audit.LOCK) == count
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("licence", "refused"), [("MIT", 0), ("GPL-3.0-only", 1), ("UNKNOWN", 1)])
def test_licences(monkeypatch, capsys, licence, refused):
    answering(monkeypatch, [{"Name": "a", "Version": "1", "License": licence}])
    assert audit.licences() == refused
    assert ("not agreed" in capsys.readouterr().out.splitlines()[0]) == bool(refused)


def test_everything_is_pinned_with_hashes():
    """Each requirement of the lock has a version and a hash."""
    entries = [each for each in audit.LOCK.read_text().replace("\\\n", "").splitlines() if each and each[0] != "#"]
    assert len(entries) > 40
    assert all("==" in each and "--hash=sha256:" in each for each in entries)
