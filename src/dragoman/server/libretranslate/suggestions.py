"""Better translations that people send in: one JSON object a line."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

from dragoman.server.errors import Unavailable

MOST = 100 * 2**20  # bytes of the file: strangers write it


class Suggestions:
    """Appends to a file, one writer at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = asyncio.Lock()

    async def add(self, q: str, s: str, source: str, target: str) -> None:
        time = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"time": time, "source": source, "target": target, "q": q, "s": s}, ensure_ascii=False)
        async with self._lock:
            await asyncio.to_thread(self._append, line)

    def _append(self, line: str) -> None:
        try:
            if self.path.exists() and self.path.stat().st_size > MOST:
                raise Unavailable("no more suggestions can be stored")
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            raise Unavailable("the suggestion cannot be stored", retry_after=60) from None
