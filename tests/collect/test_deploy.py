"""The files of `deploy/`: the proxies' are run by the real programs, the container's are read strictly."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from deniable.collect.limits import Limits
from deniable.store.store import open_store
from tests import services
from tests.cases import by_night
from tests.certificates import Authority
from tests.collector import BINARY, TOKEN, Running, collecting, small_plan, some_reports

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PLAN = small_plan()
MOST = Limits().batch_bytes
PROXIES = ["nginx", "caddy"]
SENDERS = 6
COUNTED, REPEATED = (201, "counted"), (200, "counted before")


@contextmanager
def proxied(program: str, folder: Path, *upstream: str, change: tuple[str, str] = ("", "")) -> Iterator[str]:
    """A program before collectors, with its file of `deploy/` and a certificate; its address."""
    port, chain, key = services.free_port(), folder / "chain.pem", folder / "key.pem"
    Authority().write(chain, key)
    if program == "nginx":
        text = replaced(
            (DEPLOY / "nginx.conf").read_text(),
            ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
            ("/etc/ssl/survey.pem", str(chain)),
            ("/etc/ssl/survey.key", str(key)),
            (
                "server 127.0.0.1:8000;",
                " ".join(f"server {url.removeprefix('http://')};" for url in upstream),
            ),
            ("error_log stderr", f"error_log {folder}/errors"),
            change,
        )
        with services.nginx(folder / "nginx", text, port):
            yield f"https://127.0.0.1:{port}"
    else:
        text = replaced(
            (DEPLOY / "Caddyfile").read_text(),
            ("\tservers {", "\tadmin off\n\tauto_https off\n\tservers {"),
            ("survey.example.org} {", f"survey.example.org}} {{\n\ttls {chain} {key}"),
            change,
        )
        variables = {
            "DENIABLE_HOST": f"https://127.0.0.1:{port}",
            "DENIABLE_COLLECTORS": " ".join(url.removeprefix("http://") for url in upstream),
        }
        with services.caddy(folder / "caddy", text, port, **variables):
            yield f"https://127.0.0.1:{port}"


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, f"the file has no {old!r} any more"
        text = text.replace(old, new) if old else text
    return text


def browser(folder: Path, address: str = "127.0.0.2") -> httpx.Client:
    """A client with an address of its own, whose connections stay open."""
    trusted = ssl.create_default_context(cafile=folder / "chain.pem")
    return httpx.Client(transport=httpx.HTTPTransport(verify=trusted, local_address=address), timeout=30)


class Site(NamedTuple):
    """A collector behind a proxy."""

    program: str
    url: str
    running: Running


@pytest.fixture(scope="module", params=PROXIES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp(request.param)
    options = ("--proxy", "127.0.0.1", "--rate", "2")  # with bursts of 20
    with collecting(folder, [PLAN], *options) as running, proxied(request.param, folder, running.url) as url:
        yield Site(request.param, url, running)
        assert "Traceback" not in running.errors()


def test_a_collector_behind_the_real_proxy(site: Site) -> None:
    """It takes a report, is ready, refuses what is too large, and knows each sender by the true address."""
    url, folder = site.url, site.running.folder
    with browser(folder) as client:
        [report] = some_reports(PLAN, 1)
        answer = client.post(f"{url}/reports", content=report.to_bytes(), headers=BINARY)
        assert (answer.status_code, answer.json()) == (201, {"outcome": "counted"})
        assert client.get(f"{url}/ready").json() == {"status": "ok"}
        assert client.get(f"{url}/").headers["content-security-policy"]
        large = client.post(f"{url}/reports/batch", content=bytes(MOST + 1), headers=BINARY)
        assert large.status_code == 413
        whole = client.post(f"{url}/reports/batch", content=bytes(MOST - 1), headers=BINARY)
        assert (whole.status_code, whole.json()["reason"]) == (413, "large"), "as the collector says"
        endless = client.post(f"{url}/reports/batch", content=iter([bytes(1 << 20)] * 5), headers=BINARY)
        assert endless.status_code in (413, 502), "what does not say how long it is"
        found = set()
        for number in range(40):  # somebody who claims to be many is one sender all the same
            claimed = {"X-Forwarded-For": f"203.0.113.{number}"}
            found.add(client.get(f"{url}/plans", headers=claimed).status_code)
        assert found == {200, 429}
    with browser(folder, "127.0.0.3") as other:
        assert other.get(f"{url}/plans").status_code == 200, "who comes from elsewhere is another sender"


def test_an_exchange_ends_its_connection_at_the_proxy(site: Site) -> None:
    """So that the report comes by another one; what else is asked may stay."""
    chain, here = site.running.folder / "chain.pem", "127.0.0.4"
    context = ssl.create_default_context(cafile=chain)
    address = ("127.0.0.1", int(site.url.rpartition(":")[2]))
    exchange = f"/plans/{PLAN.id}/signatures"
    for method, path, ends in (("GET", "/plans", False), ("POST", exchange, True)):
        with (
            socket.create_connection(address, timeout=10, source_address=(here, 0)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as raw,
        ):
            head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
            raw.sendall(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode())
            said = raw.recv(1 << 16).lower()
            assert (b"connection: close" in said) is ends, said
    if site.program == "caddy" and shutil.which("curl"):
        # two requests over HTTP/2: where the first ends its connection, a second one is made
        def connections(path: str) -> int:
            command = ["curl", "--http2", "-sv", "--cacert", str(chain), "--interface", here, "-d", ""]
            pair = [f"{site.url}{path}"] * 2
            ran = subprocess.run([*command, *pair], capture_output=True, text=True, check=True)
            assert "HTTP/2 " in ran.stderr
            return len(re.findall(r"^\* Connected to ", ran.stderr, re.MULTILINE))

        assert (connections(exchange), connections("/plans")) == (2, 1)


@pytest.mark.parametrize("planted", [False, True])
@by_night("program", PROXIES, "caddy")
def test_what_goes_wrong_is_logged_without_the_sender(program: str, planted: bool, tmp_path: Path) -> None:
    """The collector is down; with the programs' own settings, the address would be found."""
    line = " crit" if program == "nginx" else "exclude http.log.error"
    nobody = f"http://127.0.0.1:{services.free_port()}"
    change = (line if planted else "", "")
    with proxied(program, tmp_path, nobody, change=change) as url, browser(tmp_path) as client:
        assert client.get(f"{url}/plans").status_code in (502, 503)
    logs = [tmp_path / "errors", tmp_path / program / "log"]
    assert ("127.0.0.2" in "".join(log.read_text() for log in logs if log.exists())) is planted


def is_counted(answer: httpx.Response) -> bool:
    """Whether a report has arrived, and not to be sent again; anything else is an error."""
    if answer.status_code in (502, 503, 504):
        return False
    assert (answer.status_code, answer.json()["outcome"]) in (COUNTED, REPEATED), answer.text
    return True


@contextmanager
def composed_database() -> Iterator[str]:
    """A server with the settings and roles of the compose file, healthy as it says; its address."""
    service = composed()["services"]["database"]
    cluster = services.cluster()
    for setting in service["command"][1:]:
        name, value = setting.removeprefix("-c").split("=")
        cluster.sql(f"ALTER SYSTEM SET {name} = '{value}'")
    cluster.restart()
    host = {"PATH": os.environ["PATH"], "PGHOST": "127.0.0.1", "PGPORT": str(cluster.port)}
    roles = ["sh", str(DEPLOY / "roles.sh")]
    subprocess.run(roles, env=host | service["environment"], check=True, capture_output=True)
    subprocess.run(service["healthcheck"]["test"][1:], env=host, check=True)
    try:
        yield f"127.0.0.1:{cluster.port}"
    finally:
        cluster.sql("ALTER SYSTEM RESET ALL")
        cluster.restart()
        cluster.sql("DROP DATABASE deniable")
        cluster.sql("DROP ROLE deniable")


def is_healthy(running: Running) -> bool:
    """Whether the image takes a collector for healthy: its check is run, with the port that is used here."""
    [rest] = [
        rest for word, rest in instructions((DEPLOY / "Containerfile").read_text()) if word == "HEALTHCHECK"
    ]
    program, *arguments = json.loads(rest.partition(" CMD ")[2])
    port = running.url.rpartition(":")[2]
    command = [program, *(replaced(each, ("8000", port)) if "8000" in each else each for each in arguments)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("planted", [False, True])
def test_the_balancer_asks_another_collector(site: Site, planted: bool, tmp_path: Path) -> None:
    """One of two is down, and nobody notices; a balancer that asks no other one would be found."""
    nobody = f"http://127.0.0.1:{services.free_port()}"
    asks_others = "    proxy_next_upstream error timeout non_idempotent;"
    if site.program == "caddy":
        asks_others = (DEPLOY / "Caddyfile").read_text().partition(":8000} {")[2].partition("}")[0]
    change = (asks_others, "    proxy_next_upstream off;" if site.program == "nginx" else "\n")
    upstream = [nobody, site.running.url]
    with (
        proxied(site.program, tmp_path, *upstream, change=change if planted else ("", "")) as url,
        browser(tmp_path, "127.0.0.5") as client,
    ):
        reports = [report.to_bytes() for report in some_reports(PLAN, 8, 2)]
        answers = [client.post(f"{url}/reports", content=raw, headers=BINARY) for raw in reports]
    assert {answer.status_code for answer in answers} <= {200, 201, 502, 503}
    assert all(map(is_counted, answers)) is not planted


@pytest.mark.long
@pytest.mark.parametrize("program", PROXIES)
def test_collectors_restart_one_after_the_other_under_load(program: str, tmp_path: Path) -> None:
    """What the compose file starts: what was acknowledged is counted once, and nobody is refused."""
    ends = threading.Event()
    with ExitStack() as stack:
        database = stack.enter_context(composed_database())
        collectors = []
        for name in composed_collectors():
            service = composed()["services"][name]
            folder = tmp_path / name
            folder.mkdir()
            places = (("0.0.0.0", "127.0.0.1"), ("@database/", f"@{database}/"), ("10.214.0.2", "127.0.0.1"))
            command = replaced(" ".join(service["command"][2:]), *places).split()
            collectors.append(
                stack.enter_context(collecting(folder, [PLAN], *command, **service["environment"]))
            )
        urls = [running.url for running in collectors]
        url = stack.enter_context(proxied(program, tmp_path, *urls))
        client = stack.enter_context(browser(tmp_path))
        assert all(is_healthy(running) for running in collectors)

        def send(seed: int) -> int:
            """Report after report, each until it has arrived, as devices do."""
            arrived = 0
            for report in some_reports(PLAN, 10_000, seed):
                if ends.is_set():
                    break
                deadline = time.monotonic() + 30
                while not is_counted(
                    client.post(f"{url}/reports", content=report.to_bytes(), headers=BINARY)
                ):
                    assert time.monotonic() < deadline, "the proxy reaches no collector"
                    time.sleep(0.05)
                arrived += 1
            return arrived

        pool = stack.enter_context(ThreadPoolExecutor(SENDERS))
        stack.callback(ends.set)
        senders = [pool.submit(send, seed) for seed in range(1, SENDERS + 1)]
        for running in collectors:
            deadline = time.monotonic() + 60
            while not running.metrics()['deniable_reports_total{outcome="counted"}']:
                assert time.monotonic() < deadline, "the proxy does not send to each of them"
                time.sleep(0.05)
            assert running.stop() == 0
            assert not is_healthy(running)
            running.start()
        ends.set()
        arrived = sum(sender.result(timeout=60) for sender in senders)
        assert arrived > 10 * SENDERS
        with closing(open_store(f"postgresql://deniable@{database}/deniable")) as opened:
            assert opened.tallies(PLAN.id).n == arrived
            assert opened.check() == []


def test_the_documents_show_the_file_of_nginx() -> None:
    shown = (ROOT / "docs/operating.md").read_text().partition("```nginx\n")[2].partition("```")[0]
    assert (DEPLOY / "nginx.conf").read_text().partition("\n")[2] == shown


# The container.

KNOWN = {
    *("FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL"),
    *("ENTRYPOINT", "CMD"),
}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, in order; what is not one is an error."""
    whole = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", whole).splitlines()
    found = []
    for line in filter(str.strip, lines):
        word, _, rest = line.partition(" ")
        assert word in KNOWN, f"{word!r} is no instruction that is known here"
        assert rest.strip(), f"{word} says nothing"
        found.append((word, rest.strip()))
    return found


def check_container(text: str) -> None:
    """What a build would refuse, and what this image promises."""
    found = instructions(text)
    words = [word for word, _ in found]
    assert words[0] == "FROM"
    stages = [rest.split() for word, rest in found if word == "FROM"]
    for stage in stages:
        assert re.fullmatch(r"[a-z]+:[0-9.]+(-slim)?", stage[0]), "a short name, with a version"
        assert stage[1:] == [] or (stage[1] == "AS" and len(stage) == 3)
    names = {stage[2] for stage in stages if len(stage) == 3}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in found:
        if word == "COPY":
            given = shlex.split(rest)
            options = [one for one in given if one.startswith("--")]
            sources = [one for one in given if not one.startswith("--")][:-1]
            assert sources, rest
            for option in options:
                assert option.removeprefix("--from=") in names, option
            if not options:
                for source in sources:
                    assert (ROOT / source).exists(), f"{source} does not exist"
                    assert f"!{source}" in ignored, f"{source} is not sent to the build"
        if word in ("ENTRYPOINT", "CMD", "VOLUME"):
            listed = json.loads(rest)
            assert all(isinstance(one, str) for one in listed)
        if word == "HEALTHCHECK":
            assert "/ready" in json.loads(rest.partition(" CMD ")[2])[-1]
    last = len(words) - words[::-1].index("FROM")
    final = found[last:]
    assert [rest for word, rest in final if word == "USER"] == ["10001"], "not root"
    after = [word for word, _ in final[[word for word, _ in final].index("USER") :]]
    assert not {"RUN", "COPY"} & set(after)
    for needed in ("HEALTHCHECK", "ENTRYPOINT", "CMD"):
        assert sum(word == needed for word, _ in final) == 1, needed
    installs = re.findall(r"pip install [^&]*", " && ".join(rest for word, rest in found if word == "RUN"))
    assert installs
    is_known = [
        " --require-hashes -r hashes/" in one or " --no-deps --no-build-isolation . " in one
        for one in installs
    ]
    assert all(is_known), "only files with known hashes are installed"
    assert "a digest is of one day" in text, "why the image of Python has none"


def test_the_containerfile_can_be_built_or_at_least_read(tmp_path: Path) -> None:
    check_container((DEPLOY / "Containerfile").read_text())
    program = next((one for one in ("podman", "docker", "buildah") if shutil.which(one)), None)
    if program is None:
        return  # what is above is all that can be known here
    build = [program, "build", "-f", str(DEPLOY / "Containerfile"), "-t", "deniable-test", str(ROOT)]
    ran = subprocess.run(build, capture_output=True, text=True, check=False)
    if ran.returncode and re.search(r"registr|resolve|connect|network|permission|daemon", ran.stderr, re.I):
        pytest.skip("there is a builder, but it cannot fetch the image of Python")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("USER 10001\n", ""),
        ("COPY src ./src", "COPY sources ./src"),
        ("COPY --from=build", "COPY --from=builder"),
        ("--require-hashes -r hashes/demo.txt", "hatchling"),
        ("--no-deps --no-build-isolation .", "--no-deps ."),
        ("WORKDIR /build", "WORKDIRS /build"),
        ("python:3.12-slim", "registry.example/python:3.12-slim"),
        ("/ready", "/health"),
        ('["deniable"]', "['deniable']"),
    ],
)
def test_a_broken_containerfile_would_be_found(old: str, new: str) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    with pytest.raises((AssertionError, ValueError)):
        check_container(replaced(text, (old, new)))


VARIABLES = {
    "DENIABLE_HOST": "survey.example.org",
    "DENIABLE_TOKEN": TOKEN,
    "DENIABLE_DATABASE_PASSWORD": "it's secret",
    "DENIABLE_SUPERUSER_PASSWORD": "another secret",
}


def composed(text: str = "") -> Any:
    """The compose file with the variables of its .env in place."""
    yaml: Any = pytest.importorskip("yaml")
    text = text or (DEPLOY / "compose.yaml").read_text()
    for name, value in VARIABLES.items():
        text = re.sub(rf"\$\{{{name}:\?[^}}]*\}}", value, text)
    assert "${" not in text, "a variable that the head does not name, or whose lack stops nothing"
    return yaml.safe_load(text)


def composed_collectors() -> list[str]:
    """The names of the collectors of the compose file."""
    return [name for name in composed()["services"] if name.startswith("collector-")]


def check_compose(text: str) -> None:
    """What the services promise of each other: addresses, ports, files and order."""
    assert "a digest is of one day" in text, "why there is none"
    assert all(name in text.partition("name:")[0] for name in VARIABLES), "the head says what to write"
    read = composed(text)
    assert set(read) == {"name", "x-collector", "services", "networks", "volumes"}
    collectors = {name: service for name, service in read["services"].items() if name[-1].isdigit()}
    assert len(collectors) == 3
    assert set(read["services"]) == {*collectors, "balancer", "database"}
    balancer, database = read["services"]["balancer"], read["services"]["database"]
    [network] = read["networks"]["inside"]["ipam"]["config"]
    fixed = balancer["networks"]["inside"]["ipv4_address"]
    assert ip_address(fixed) in ip_network(network["subnet"])
    assert ip_address(fixed) not in ip_network(network["ip_range"]), "another service could get its address"
    [port] = [rest for word, rest in instructions((DEPLOY / "Containerfile").read_text()) if word == "EXPOSE"]
    for collector in collectors.values():
        assert collector == read["x-collector"]
        assert (DEPLOY / collector["build"]["context"]).resolve() == ROOT
        assert (ROOT / collector["build"]["dockerfile"]).is_file()
        assert "ports" not in collector, "others reach it by the balancer"
        assert collector["depends_on"]["database"]["condition"] == "service_healthy"
        assert {f"--proxy={fixed}", f"--url=https://{balancer['environment']['DENIABLE_HOST']}"} <= {
            *collector["command"]
        }
        assert collector["networks"] == ["inside"]
    upstream = [f"{name}:{port}" for name in collectors]
    assert balancer["environment"]["DENIABLE_COLLECTORS"].split() == upstream
    caddyfile = (DEPLOY / "Caddyfile").read_text()
    assert all(f"{{${name}:" in caddyfile for name in balancer["environment"])
    assert "443:443" in balancer["ports"]
    assert re.fullmatch(r"postgres:\d+", database["image"])
    assert "POSTGRES_USER" not in database["environment"], "the collectors' role is no superuser"
    assert "./roles.sh:/docker-entrypoint-initdb.d/roles.sh:ro" in database["volumes"]
    assert database["networks"] == ["inside"]
    assert "ports" not in database
    for mount in (*database["volumes"], *balancer["volumes"]):
        source = mount.partition(":")[0]
        assert (DEPLOY / source).is_file() if source.startswith(".") else source in read["volumes"]


def test_the_compose_file_starts_three_collectors_a_balancer_and_a_database() -> None:
    check_compose((DEPLOY / "compose.yaml").read_text())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--proxy=10.214.0.2", "--proxy=10.214.0.3"),
        ("ip_range: 10.214.0.128/25", "ip_range: 10.214.0.0/25"),
        ("collector-1:8000 collector-2:8000", "collector-1:8000"),
        ("collector-3:8000", "collector-3:8001"),
        ("DENIABLE_COLLECTORS: ", "COLLECTORS: "),
        ("  collector-3: *collector\n", ""),
        ("--url=https://${DENIABLE_HOST:?write it into .env}", "--url=https://localhost"),
        ("${DENIABLE_TOKEN:?write it into .env}", "${DENIABLE_TOKEN}"),
        ("./Caddyfile:", "./Caddy:"),
        ("  certificates:\n", ""),
        ("condition: service_healthy", "condition: service_started"),
    ],
)
def test_a_broken_compose_file_would_be_found(old: str, new: str) -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    with pytest.raises((AssertionError, KeyError)):
        check_compose(replaced(text, (old, new)))


@pytest.mark.long
def test_the_role_of_the_collector_is_no_superuser_and_can_sweep() -> None:
    """The script that the image of PostgreSQL would run, on a server of this machine."""
    psql = shutil.which("psql")
    if psql is None:
        services.missing("psql is not installed")
    cluster = services.cluster()
    names = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "COLLECTOR_PASSWORD": "it's secret"}
    environment = {"PATH": os.environ["PATH"], **names}
    subprocess.run(["sh", str(DEPLOY / "roles.sh")], env=environment, check=True, capture_output=True)
    assert cluster.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'deniable'") == [(False,)]
    store = open_store(f"postgresql://deniable@127.0.0.1:{cluster.port}/deniable")
    try:
        store.register(PLAN.document, False)
        assert store.sweep()
        exposures = " ".join(exposure.text for exposure in store._database.exposures())
        assert "GRANT" not in exposures, "it may do all that a sweep does"
    finally:
        store.close()
        cluster.sql("DROP DATABASE deniable")
        cluster.sql("DROP ROLE deniable")


def test_the_commands_of_the_container_are_those_of_the_collector() -> None:
    """Every option of the image and of the compose file is one of `deniable serve`."""
    from deniable.commands.serve import run_collector

    [image] = [rest for word, rest in instructions((DEPLOY / "Containerfile").read_text()) if word == "CMD"]
    for command in (json.loads(image), composed()["x-collector"]["command"]):
        assert command[0] == "serve"
        context = run_collector.make_context("serve", command[1:])
        assert context.params["host"] == "0.0.0.0"
        assert [str(plan) for plan in context.params["plans"]] == ["/plans/plan.json"]


def test_the_databases_settings_are_those_of_the_documents() -> None:
    shown = (ROOT / "docs/operating.md").read_text().partition("# postgresql.conf\n")[2].partition("```")[0]
    settings = {
        "-c" + "=".join(part.strip() for part in line.partition("#")[0].split("="))
        for line in shown.splitlines()
    }
    assert set(composed()["services"]["database"]["command"][1:]) == settings
