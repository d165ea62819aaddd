"""The workflows run what somebody has looked at, with no more rights than they need."""

import re
from pathlib import Path

import pytest
import yaml

WORKFLOWS = sorted((Path(__file__).parents[1] / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: ([\w/.-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+")
# What jobs may do beyond reading, by workflow and job.
RIGHTS = {
    ("codeql", "analyze"): {"security-events"},
    ("release", "publish"): {"id-token", "attestations"},
    ("scorecard", "analyze"): {"id-token", "security-events"},
}


def used():
    """Yield each line that uses an action; workflows of this repository are none."""
    for path in WORKFLOWS:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "uses:" in line and "uses: ./.github/" not in line:
                yield path.stem, line


@pytest.mark.parametrize(("workflow", "line"), used())
def test_actions_are_pinned_by_hash(workflow, line):
    assert PINNED.search(line)


def test_an_action_has_one_version():
    pins = {PINNED.search(line).group(1, 2) for _, line in used()}
    repositories = {("/".join(name.split("/")[:2]), pin) for name, pin in pins}
    assert len(repositories) == len({name for name, _ in repositories}) >= 8


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_read_alone_and_jobs_what_is_listed(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        granted = job.get("permissions", {})
        writable = {right for right, access in granted.items() if access != "read"}
        assert writable == RIGHTS.get((path.stem, name), set())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_workflow_knows_a_secret(path):
    assert "secrets." not in path.read_text(encoding="utf-8")
