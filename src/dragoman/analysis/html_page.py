"""The frame of HTML pages: their style, and a content security policy that loads nothing and runs one script."""

from __future__ import annotations

import base64
import hashlib
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5b6475; --line: #d9dde5; --paper: #ffffff; --good: #12703f;
  --bad: #b3261e; --fixed: #8a5a00; --shade: #f4f6f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaf0; --soft: #a2abbd; --line: #343b4a; --paper: #161a22;
  --good: #6fd39d; --bad: #ff8a80; --fixed: #f0c36d; --shade: #1e2430; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 64rem; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { margin-bottom: 0; line-height: 1.2; } p.lead { color: var(--soft); margin-top: .3rem; max-width: 60rem; }
h2 { margin-top: 2.5rem; line-height: 1.25; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .85rem; }
th, td { padding: .55rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
a { color: inherit; }
"""


def html_page(title: str, style: str, body: str, script: str = "") -> str:
    """Make a page. The policy allows its script by hash only, so that no text on the page can run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    policy = (
        f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>",
            body,
            f"<script>{script}</script></body></html>\n" if script else "</body></html>\n",
        )
    )
