"""A real browser that opens a page, runs a script in it, and tells what the script returned."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
NEEDED = "no Chromium is installed here, in which the page could be looked at"
TELLING = """<script>(async () => {
  let said;
  try { said = await (async () => { %s })(); } catch (error) { said = String(error); }
  const out = parent.document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(said);
  parent.document.body.append(out);
})()</script></body>"""


def look(page: str, script: str, folder: Path, width: int = 1280) -> Any:
    """What an async function body returns that is run in the page, in a frame so many pixels wide:
    no window is as narrow as a telephone."""
    assert BROWSER is not None
    inside = escape(page.replace("</body>", TELLING % script))
    frame = folder / "frame.html"
    frame.write_text(f'<iframe width="{width}" height="900" srcdoc="{inside}"></iframe>', "utf-8")
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            f"--user-data-dir={folder / 'profile'}",
            *("--window-size=1400,1000", "--dump-dom"),
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(unescape(found[1]))
