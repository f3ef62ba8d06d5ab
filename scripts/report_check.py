#!/usr/bin/env python3
"""Opens a page of `membrane report` in headless Chromium, and says what is wrong with it.

    scripts/report_check.py report.html

Fails on a message in the console, a picture without size, an address outside of the page, a page
wider than a phone or the desktop window, and a table that a click on each head does not sort.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from setup import find_chromium

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0"]
# A phone cannot be asked for: a headless window has 500 pixels at least.
WIDTHS = [500, 1200]

# Added to a copy of the page: looks at it, and leaves what it found in the document.
PROBE = r"""
<script>
addEventListener("load", () => {
  const found = { pictures: 0, empty: [], unsorted: [], wide: 0 };
  for (const svg of document.querySelectorAll("svg")) {
    const { width, height } = svg.getBoundingClientRect();
    found.pictures++;
    const drawn = svg.querySelectorAll("path, polyline, circle, rect").length;
    if (!(width > 0 && height > 0 && drawn > 0)) found.empty.push(svg.querySelector("title").textContent);
  }
  const page = document.documentElement;
  found.wide = page.scrollWidth - page.clientWidth;
  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const values = () => [...table.tBodies[0].rows].map(row => row.cells[column])
        .map(cell => head.classList.contains("n") ? cell.dataset.v : cell.textContent)
        .filter(value => value !== undefined);
      const before = (a, b) => head.classList.contains("n") ? a - b : a.localeCompare(b, "en", { numeric: true });
      for (const turn of [1, -1]) {
        head.firstElementChild.click();
        const now = values();
        if (now.some((value, i) => i > 0 && turn * before(now[i - 1], value) > 0))
          found.unsorted.push(table.caption.textContent + ": " + head.textContent);
      }
    });
  }
  const result = document.createElement("script");
  result.type = "application/json";
  result.id = "probe";
  result.textContent = JSON.stringify(found).replaceAll("<", "\\u003c");
  document.body.append(result);
});
</script>
</body>"""


def look(chromium, page, width):
    """What the probe found, and the messages of the console."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        copy.write_text(PROBE.join(page.rsplit("</body>", 1)))
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={width},900"]
        run = subprocess.run(
            [*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, errors="replace", timeout=120
        )
    found = re.search(r'<script type="application/json" id="probe">(.*?)</script>', run.stdout, re.DOTALL)
    messages = [line for line in run.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(found[1]) if found else None, messages


def faults(chromium, page):
    """All that is wrong, and the number of pictures."""
    # Names of XML vocabularies are no addresses.
    outside = re.findall(r"""(?:src|href)\s*=\s*["']?(?!#|data:)[^"'\s>]+|url\([^)]*\)|@import""", page)
    wrong = [f"refers to something outside of the page: {text}" for text in outside]
    pictures = 0
    for width in WIDTHS:
        found, messages = look(chromium, page, width)
        wrong += [f"{width} pixels wide: console: {message}" for message in messages]
        if found is None:
            wrong.append(f"{width} pixels wide: the page did not load")
            continue
        pictures = found["pictures"]
        wrong += [f"{width} pixels wide: picture without content: {title}" for title in found["empty"]]
        wrong += [f"{width} pixels wide: not sorted: {column}" for column in found["unsorted"]]
        if found["wide"] > 0:
            wrong.append(f"{width} pixels wide: {found['wide']} pixels stick out")
    return wrong, pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("page", type=Path)
    args = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        sys.exit("error: no Chromium: install it (Debian: apt-get install chromium)")
    wrong, pictures = faults(chromium, args.page.read_text())
    for fault in wrong:
        print(f"{args.page.name}: {fault}")
    if wrong:
        sys.exit(1)
    print(f"{args.page.name}: {pictures} pictures, no message in the console")


if __name__ == "__main__":
    main()
