"""Links resolve, named files exist, versions agree, and nothing gives away where the code was written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import hushprice

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
FILE = re.compile(r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|toml))?|[\w-]+\.py)`")


def repository_files() -> list[Path]:
    try:
        asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        paths = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):  # an archive without history
        skipped = {".venv", ".git", "build", "demo"}
        paths = [path for path in ROOT.rglob("*") if not skipped & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


FILES = repository_files()
PAGES = [path for path in FILES if path.suffix == ".md"]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_internal_links_resolve(page):
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_broken_by_the_end_of_a_line(page):
    assert not re.findall(r"\]\([^()\s]*\n[^()\s]*\)", CODE.sub("", page.read_text()))


def test_every_page_can_be_reached_from_the_readme():
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        for target in LINK.findall(page.read_text()):
            path = (page.parent / target.partition("#")[0]).resolve()
            waiting += sorted(path.glob("*.md")) if path.is_dir() else [path]
    assert {page.resolve() for page in PAGES} <= seen


@pytest.mark.parametrize(
    "page", ["docs/reference/paper_map.md", "docs/reference/architecture.md", "docs/reference/privacy.md"]
)
def test_named_files_exist(page):
    source = ROOT / "src" / "hushprice"
    homes = (source, source / "policies" / "newton", ROOT / "tests", ROOT, ROOT / "docs", ROOT / "src")
    named = FILE.findall((ROOT / page).read_text())
    assert named
    assert not [name for name in dict.fromkeys(named) if not any((home / name).exists() for home in homes)]


def test_every_point_of_the_attack_has_a_row_with_a_test_that_there_is():
    rows = re.findall(r"^\| (\d+) .*\| ([^|]*) \|$", (ROOT / "docs" / "lab" / "attacked.md").read_text(), flags=re.M)
    assert {int(point) for point, _ in rows} == set(range(1, 16))
    for _, held in rows:
        named = re.findall(r"`((?:\w+/)*\w+\.py)`", held)
        assert named
        homes = (ROOT / "tests", ROOT / "tests" / "service", ROOT / "benchmarks")
        assert not [name for name in named if not any((home / name).exists() for home in homes)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_longer_than_120_columns(page):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert not [line for line in prose.splitlines() if len(line) > 120]


def test_versions_agree():
    assert f"version: {hushprice.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{hushprice.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version = "{hushprice.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_each_version_lists_privacy_first():
    for version in (ROOT / "CHANGELOG.md").read_text().split("\n## [")[1:]:
        sections = re.findall(r"^### (.*)$", version, flags=re.MULTILINE)
        assert not sections or sections[0] == "Privacy"


def test_no_file_names_a_package_registry_or_a_home_folder():
    hosts = ["py" + "pi.org", "python" + "hosted", "anaconda" + ".org", "npm" + "js", "conda-" + "forge"]
    homes = r"(?<![\w.~])/(?:home|root|Users)/\w"
    here = [re.escape(str(ROOT)) + r"\b"] if len(ROOT.parts) > 2 else []
    pattern = re.compile("|".join([*map(re.escape, hosts), homes, *here]))
    found = {}
    for path in FILES:
        content = path.read_bytes()
        if b"\0" not in content and (match := pattern.search(content.decode(errors="replace"))):
            found[str(path.relative_to(ROOT))] = match[0]
    assert not found
