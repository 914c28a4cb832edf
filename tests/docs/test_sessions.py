"""What the pages tell people to type works, from top to bottom, against a real service."""

from __future__ import annotations

import re
import stat

from tests.docs import sessions

KEY = re.compile(r'^(?:admin|shop|auditor) = "(.*)"', flags=re.MULTILINE)


def readme() -> str:
    """The README's few lines for shops, for the same service."""
    lines = sessions.script((sessions.DOCS.parent / "README.md").read_text())
    return f'export HUSHPRICE_URL=http://127.0.0.1:8787 HUSHPRICE_KEY="$SHOP"\n{lines}\necho the README is right'


def operations() -> str:
    """What operators type while it runs."""
    return sessions.script((sessions.DOCS / "guide" / "operations.md").read_text())


def test_the_guides_for_shops_and_operators_work_as_typed(tmp_path):
    guide = sessions.script((sessions.DOCS / "guide" / "service.md").read_text())
    done = sessions.run(f"{guide}\n{readme()}\n{operations()}", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (offered,) = re.findall(r"offer (\d+\.99|16\.00) EUR", done.stdout)
    # Nothing is known yet: around 16, a tenth of the ceiling to either side, and then to the nearest .99.
    assert 11.99 <= float(offered) <= 19.99
    assert '"status":"recorded"' in done.stdout.replace(": ", ":")
    assert "the README is right" in done.stdout
    assert '"forgotten":true' in done.stdout.replace(": ", ":")
    assert (tmp_path / "hushprice.db.keys.toml").stat().st_mode & 0o077 == 0
    keys = KEY.findall((tmp_path / "hushprice.db.keys.toml").read_text())
    assert len(keys) == 3
    log = (tmp_path / "service.log").read_text()
    assert not [key for key in keys if key in log]
    assert "hp_shop_" in done.stdout
    assert "shop\tweb-shop" in done.stdout
    copied = tmp_path / "backup.db"
    assert copied.stat().st_size > 0
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600
    assert (tmp_path / "secrets" / "hushprice.db.keys.toml").exists()


def test_devices_and_two_aggregators_work_as_typed(tmp_path):
    done = sessions.run(sessions.script((sessions.DOCS / "guide" / "trust.md").read_text()), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    offers = re.findall(r"offer (\d+\.\d+) EUR", done.stdout)
    assert len(offers) == 2
    assert all(20.0 <= float(offer) <= 30.0 for offer in offers)
    assert done.stdout.count("Outcome(status='recorded', repeat=False)") == 2
    promise = re.search(r'"promise":{(.*?)}', done.stdout)
    assert promise is not None
    written = (tmp_path / "promises.toml").read_text()
    assert [line.replace(" = ", ":") for line in written.splitlines()[1:]] == promise[1].replace('"', "").split(",")


def test_a_log_becomes_a_running_product_as_typed(tmp_path):
    done = sessions.run(sessions.script((sessions.DOCS / "guide" / "warm_start.md").read_text()), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The model fits" in done.stdout
    assert "The log can answer" in done.stdout
    assert "claimed, with the fit: {'epsilon': 2.0," in done.stdout
    (offered,) = re.findall(r"offer (\d+\.\d+) EUR", done.stdout)
    assert 20.0 <= float(offered) <= 30.0


def test_every_command_of_the_guide_is_part_of_the_session_but_the_installation():
    page = (sessions.DOCS / "guide" / "service.md").read_text()
    left_over = sessions.FENCE.findall(sessions.BLOCK.sub("", page))
    assert len(left_over) == 1
    assert 'pip install ".[service]"' in page
