"""A power cut in the middle of commits: QEMU is killed while a run is written to a disk, again and again, and what the disk
had not been told to keep is lost by chance; then the machine is booted once more, reads the run and ends it."""

import random
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cases import Case
from disturbances import power_job
from guest import Boot, Guests, ext4
from outcomes import Left, Outcome, nothing_lost

LINE = "@line "


def cut(guests: Guests, case: Case, cuts: int, keep: Callable[[Boot], None]) -> Outcome:
    """What came of it: every line that was on the console when the power was cut is in the file afterwards. Where a run ends
    before its next cut, what was cut before is judged; before the first, the case shows nothing."""
    outcome = Outcome()
    # Commits lie a third of a second apart; the moment is drawn, the same each time for a case.
    chance = random.Random(f"{case.machine.name} {case.probe.name}")
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        kept, disk, log = (Path(folder) / name for name in ("kept", "disk", "log"))
        ext4(kept, 24)
        number = 0
        while True:
            last = number == cuts
            lines = 0
            enough = chance.randint(1, 6)

            def told(line: str) -> bool:
                nonlocal lines
                lines += line.startswith(LINE)
                if last or lines < enough:
                    return False
                time.sleep(chance.uniform(0, 0.4))
                return True

            shutil.copyfile(kept, disk)
            with open(log, "wb") as empty:
                empty.truncate(512 << 20)
            boot = guests.boot(case.machine, power_job(case.machine, case.probe, number), 240, disk, log, told)
            keep(boot)
            now = [line.removeprefix(LINE) for line in boot.lines if line.startswith(LINE + "{")]
            if number == 0 and boot.ended_itself:
                outcome.too_slow = ENDED_WELL in ending(boot)
                if not outcome.too_slow:
                    outcome.wrong.append(f"the first boot, which was to be cut, {ending(boot) or 'measured nothing'}")
                return outcome
            if last or boot.ended_itself:
                outcome.wrong += ended(boot, said, now)
                outcome.seen = f"cut {number} times, {len(said)} lines before"
                return outcome
            said += now
            lose(kept, log, chance)
            number += 1


# A log of writes as dm-log-writes defines it: an entry of a sector, then its data; the first sector is the log's own. QEMU
# leaves the field for the length at 0: what was written is as long as its sectors, and only what was discarded has no data.
SECTOR = 512
FLUSH, DISCARD = 1, 4


def lose(kept: Path, log: Path, chance: random.Random) -> None:
    """Makes of a disk as it was before a boot what a power cut leaves: every write before the last flush, and of those after
    it each or not."""
    writes: list[tuple[int, bytes]] = []
    flushed = 0
    with open(log, "rb") as entries:
        entries.seek(SECTOR)
        while len(head := entries.read(SECTOR)) == SECTOR:
            sector, sectors, flags = struct.unpack_from("<3Q", head)
            if not (sectors or flags):
                break
            if flags & FLUSH:
                flushed = len(writes)
            if not flags & DISCARD:
                writes.append((sector * SECTOR, entries.read(sectors * SECTOR)))
    with open(kept, "r+b") as disk:
        for number, (at, data) in enumerate(writes):
            if number < flushed or chance.random() < 0.5:
                disk.seek(at)
                disk.write(data)


ENDED_WELL = " ended with 0"


def ending(boot: Boot) -> str:
    """How the command of a boot ended, as the machine said it."""
    return next((line for line in boot.lines if " ended with " in line), "")


def ended(boot: Boot, said: list[str], now: list[str]) -> list[str]:
    """What is wrong in the last boot, which nothing cut, with the lines that the boots before it said and its own: where no
    more was to be measured it says those of before again."""
    if not boot.ended_itself:
        return [f"the last boot did not end by itself: {boot.lines[-1] if boot.lines else 'no line'}"]
    wrong = []
    left = Left(boot.files, "power")
    if ENDED_WELL not in ending(boot):
        wrong.append(f"`--resume` {ending(boot) or 'did not end'}")
    if not said:
        wrong.append("nothing was said before the power was cut")
    wrong += nothing_lost(said, left.lines("kept"), "by the power cuts")
    wrong += nothing_lost(said + now, left.lines("kept-after"), "by resuming")
    document = left.document()
    if not document:
        wrong.append("the run cannot be exported")
    elif not document["run"]["complete"]:
        wrong.append("the run is not complete in the end")
    return wrong
