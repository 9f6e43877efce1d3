#!/usr/bin/env python3
"""Checks what `cargo package --workspace` and `dist/build` left: names, checksums, licences, symbols and profile. Part of the
deep check `packages`.
"""

import gzip
import hashlib
import re
import subprocess
import tarfile
import tomllib
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "target/dist"
LICENCES = {"LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES"}
VERSION = re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[0]
GENERATOR = re.findall(r"^hatchling==(.*)", (ROOT / "dist/requirements.txt").read_text(), re.M)[0]


LICENCE = re.findall(r"^License-Expression: .*", (ROOT / "THIRD-PARTY-NOTICES").read_text(), re.M)[0]
# How glibc names itself in a binary that it is linked into.
GLIBC = re.compile(rb"GNU C Library \((.+?)\) \w+ release")


def check_notices(notices: str, binary: bytes, path: Path) -> None:
    builds = sorted({build.decode() for build in GLIBC.findall(binary)})
    assert len(builds) == 1 and f"({builds[0]}); its source is at https://" in notices, f"{path.name}: glibc {builds} is not in the notices"


def crate() -> None:
    name = f"coretalk-{VERSION}"
    with tarfile.open(ROOT / f"target/package/{name}.crate") as tar:
        manifest = tar.extractfile(f"{name}/Cargo.toml")
        assert manifest is not None
        release = tomllib.loads(manifest.read().decode())["profile"]["release"]
    # Without it `cargo install` makes other machine code of timed loops. cargo leaves out that nothing is stripped, the default.
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    assert {"strip": "none", **release} == ours and ours["lto"] == "thin", f"{name}.crate has the profile {release}"


def tarball(path: Path) -> None:
    name = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as tar:
        held = {member.removeprefix(f"{name}/") for member in tar.getnames()}
        binary = tar.extractfile(f"{name}/coretalk")
        assert binary is not None
        content = binary.read()
        notices = tar.extractfile(f"{name}/THIRD-PARTY-NOTICES")
        assert notices is not None
        check_notices(notices.read().decode(), content, path)
    assert LICENCES | {"README.md", "coretalk.1", "completions/_coretalk"} <= held, held
    assert not any(member.endswith(".debug") for member in held), held
    # What a debugger looks for: the name of the file with the symbols, padded to four bytes, and its checksum.
    at = content.index(f"{name}.debug\0".encode())
    at += (len(name) + len(".debug\0") + 3) // 4 * 4
    symbols = gzip.decompress((DIST / f"{name}.debug.gz").read_bytes())
    assert int.from_bytes(content[at : at + 4], "little") == zlib.crc32(symbols), f"{name}.debug.gz has other symbols"


def wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        info = f"coretalk_bench-{VERSION}.dist-info"
        held = {name.removeprefix(f"{info}/licenses/") for name in archive.namelist() if name.startswith(f"{info}/licenses/")}
        assert held == LICENCES, held
        assert f"Generator: hatchling {GENERATOR}" in archive.read(f"{info}/WHEEL").decode(), "another hatchling made it"
        stated = archive.read(f"{info}/METADATA").decode().partition("\n\n")[0].splitlines()
        assert LICENCE in stated, stated
        notices = archive.read(f"{info}/licenses/THIRD-PARTY-NOTICES").decode()
        check_notices(notices, archive.read(f"coretalk_bench-{VERSION}.data/scripts/coretalk"), path)


def deb(path: Path) -> None:
    listed = subprocess.run(["dpkg-deb", "--contents", path], check=True, capture_output=True, text=True).stdout
    for name in ("copyright", "THIRD-PARTY-NOTICES.gz"):
        assert f"./usr/share/doc/coretalk/{name}" in listed, f"{path.name} lacks {name}"


def main() -> None:
    crate()
    sums = dict(line.split()[::-1] for line in (DIST / "SHA256SUMS").read_text().splitlines())
    there = {path.name: path for path in DIST.iterdir() if path.name != "SHA256SUMS"}
    assert sums.keys() == there.keys(), sums.keys() ^ there.keys()
    for name, path in there.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[name], f"{name} has another checksum"
    for end, check in ((".tar.gz", tarball), (".whl", wheel), (".deb", deb)):
        paths = [path for name, path in there.items() if name.endswith(end)]
        assert paths, f"nothing ends with {end}"
        for path in paths:
            check(path)
            print(f"{path.name}: as released")


main()
