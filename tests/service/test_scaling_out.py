"""Scaling out as docs/guide/operations.md has it: a database prepared, one learner, one quoter of lesser rights."""

from __future__ import annotations

import re

from tests.docs import sessions
from tests.service.conftest import as_quoter

OWNER, QUOTER = "postgresql://owner@db/shop", "postgresql://hushprice_quoter@db/shop"
BLOCK = re.compile(r"^<!-- session: postgres -->\n```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def test_the_documented_commands_start_a_quoter_and_a_learner(bare_uri, tmp_path):
    (text,) = BLOCK.findall((sessions.DOCS / "guide" / "operations.md").read_text())
    prepare, learner, quoter = text.splitlines()
    script = f"""set -euo pipefail
{prepare}
{learner} > learner.log 2>&1 &
trap 'kill $(jobs -p); wait' EXIT
{sessions.started(quoter).replace("trap", ": ")}
cat ready.json
"""
    script = script.replace(QUOTER, f"'{as_quoter(bare_uri)}'").replace(OWNER, f"'{bare_uri}'")
    done = sessions.run(script, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"ready":true' in done.stdout
    assert "quoters log in as hushprice_quoter" in done.stderr
    assert {"hushprice.keys.toml", "hushprice.signing.pem"} <= {path.name for path in tmp_path.iterdir()}
