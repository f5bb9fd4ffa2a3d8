"""Write the corpus to the file that the package ships."""

from __future__ import annotations

from tools.phrases.corpus import phrases
from tools.phrases.shipped import FILE, packed

if __name__ == "__main__":
    pairs = phrases()
    FILE.write_bytes(packed(pairs))
    print(f"{FILE}: {len(pairs):,} pairs, {FILE.stat().st_size:,} bytes")
