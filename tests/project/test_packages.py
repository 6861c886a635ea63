"""The packages as they are published: each is built, installed where nothing else is, and used."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.services import missing

ROOT = Path(__file__).parents[2]
JS = ROOT / "js"
pytestmark = pytest.mark.long  # what a wheel holds is a test by day
KILOBYTES = {"deniable": 4000, "deniable-device": 150}
"""The most that a wheel may have."""
PAGES, CLIENT = 70.0, 44.0
"""Kilobytes by gzip at most: all that a page may load of the client, and the client without tickets."""
USE = """
import { Client } from "deniable";
const client = await Client.open(process.argv[2], { secret: new Uint8Array(32) });
console.log(Buffer.from((await client.report({ color: "red" })).bytes).toString("hex"));
"""
TYPED = """
import { Client, type Report } from "deniable";
import { exchange } from "deniable/tickets";
export const report = async (plan: string): Promise<Report> =>
  (await Client.open(plan, { fresh: true })).report({ color: "red" });
export const ticket = exchange;
// @ts-expect-error a plan is a text
export const wrong = Client.open(42);
"""
BUNDLE = {
    "esbuild": """
const { build } = await import(process.argv[2]);
const options = { bundle: true, minify: true, format: "esm", write: false };
const { outputFiles } = await build({ entryPoints: ["app.mjs"], ...options });
process.stdout.write(outputFiles[0].text);
""",
    "vite": """
const { build } = await import(process.argv[2]);
const options = { write: false, modulePreload: false, rollupOptions: { input: "app.mjs" } };
const { output } = await build({ configFile: false, logLevel: "error", build: options });
process.stdout.write(output[0].code);
""",
}
"""Writes the bundle of app.mjs, by the bundler whose module is the argument."""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command, and give what it prints."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel_of(folder: Path, target: Path) -> Path:
    """The wheel of a package; what built it looks at no index."""
    [path] = WheelBuilder(str(folder)).build(directory=str(target), versions=["standard"])
    return Path(path)


def installed(wheel: Path, target: Path) -> Path:
    """A fresh environment's packages, with this one alone."""
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=target)
    python = target / "env" / "bin" / "python"
    options = ("--no-index", "--no-deps", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=target)
    return next((target / "env" / "lib").glob("python*/site-packages"))


def check_wheel(wheel: Path, name: str) -> None:
    """A wheel has its license, its README as the description, types, and no more than it may weigh."""
    assert wheel.stat().st_size < 1000 * KILOBYTES[name], f"{wheel.stat().st_size} bytes"
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        [about] = [file for file in files if file.endswith(".dist-info/METADATA")]
        metadata = archive.read(about).decode()
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert f"{name.replace('-', '_')}/py.typed" in files
    head, _, text = metadata.partition("\n\n")
    assert f"\nName: {name}\n" in head
    assert "\nLicense-Expression: MIT" in head
    assert "\nDescription-Content-Type: text/markdown" in head
    assert len(text) > 500


def test_the_library_is_installed_with_its_vectors(tmp_path: Path) -> None:
    wheel = wheel_of(ROOT, tmp_path)
    check_wheel(wheel, "deniable")
    packages = installed(wheel, tmp_path)
    program = (
        "from deniable.conformance.cases import *; print(find_vectors(), len(read_cases(find_vectors())))"
    )
    folder, count = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(packages)).split()
    assert Path(folder) == packages / "deniable" / "vectors"
    assert int(count) > 4000


def test_the_device_is_installed_and_needs_nothing_else(tmp_path: Path) -> None:
    wheel = wheel_of(ROOT / "device", tmp_path)
    check_wheel(wheel, "deniable-device")
    installed(wheel, tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    program = "import deniable_device, sys; print(deniable_device.__file__)"
    assert str(tmp_path) in run(python, "-I", "-c", program, cwd=tmp_path)


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What npm pack makes of a copy of js/, built there."""
    if not (shutil.which("npm") and (JS / "node_modules").is_dir()):
        missing("npm or the packages of js/ are not installed", "make js/node_modules/ready installs them")
    folder = tmp_path_factory.mktemp("npm")
    copy = folder / "js"
    shutil.copytree(
        JS, copy, ignore=shutil.ignore_patterns("node_modules", "dist", "pages", "tests", "release")
    )
    (copy / "node_modules").symlink_to(JS / "node_modules")
    alike = "src/deniable/domain/imitation.json"  # the one file that both languages read
    (folder / alike).parent.mkdir(parents=True)
    shutil.copy(ROOT / alike, folder / alike)
    run("npm", "pack", "--offline", "--pack-destination", folder, cwd=copy)
    return next(folder.glob("*.tgz"))


def test_the_npm_package_is_installed_and_used(tarball: Path, tmp_path: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "package.json", "dist/notices.txt", "dist/index.d.ts"} <= names
    assert {name.split("/")[0] for name in names} == {"LICENSE", "README.md", "package.json", "dist"}
    assert tarball.stat().st_size < 300_000
    assert (JS / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    (tmp_path / "package.json").write_text('{"type":"module"}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", tarball, cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "node_modules").glob("[!.]*")) == ["deniable"]
    (tmp_path / "use.mjs").write_text(USE)
    import deniable as dn

    plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    report = run("node", "use.mjs", plan.to_json(), cwd=tmp_path).strip()
    assert report == dn.Client(plan, secret=bytes(32)).report({"color": "red"}).to_bytes().hex()
    (tmp_path / "typed.ts").write_text(TYPED)
    strict = ("--noEmit", "--strict", "--target", "es2022", "--types", "node")
    modules = ("--module", "esnext", "--moduleResolution", "bundler")
    roots = ("--typeRoots", JS / "node_modules" / "@types")
    run(JS / "node_modules" / ".bin" / "tsc", *strict, *modules, *roots, "typed.ts", cwd=tmp_path)


@pytest.mark.parametrize("bundler", ["esbuild", "vite"])
def test_what_an_app_does_not_use_is_not_in_its_bundle(bundler: str, tarball: Path, tmp_path: Path) -> None:
    """Tickets are a third of what a page may load; a client always reads plans with text."""
    with tarfile.open(tarball) as archive:
        archive.extractall(tmp_path / "node_modules", filter="data")
    (tmp_path / "node_modules" / "package").rename(tmp_path / "node_modules" / "deniable")

    def bundle(source: str) -> tuple[str, float]:
        (tmp_path / "app.mjs").write_text(source)
        (tmp_path / "bundle.mjs").write_text(BUNDLE[bundler])
        main = {"esbuild": "lib/main.js", "vite": "dist/node/index.js"}[bundler]
        text = run("node", "bundle.mjs", JS / "node_modules" / bundler / main, cwd=tmp_path)
        return text, len(gzip.compress(text.encode(), 9)) / 1000

    client, size = bundle('import { Client } from "deniable"; console.log(Client);')
    both, larger = bundle(
        'import { Client } from "deniable"; import { exchange } from "deniable/tickets"; '
        "console.log(Client, exchange);"
    )
    nothing, _ = bundle('import "deniable"; import "deniable/tickets";')
    assert "deniable ticket" in both
    assert "deniable ticket" not in client
    assert nothing.strip() == ""
    assert 30.0 < size < CLIENT
    assert size + 10.0 < larger < PAGES
    assert json.loads((tmp_path / "node_modules/deniable/package.json").read_text())["sideEffects"] is False
