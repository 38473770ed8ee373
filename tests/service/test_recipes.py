"""What operators copy: proxies, alerts and the Grafana dashboard speak of what the collector really has."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.running import one_hot_plan, running
from tests.service.test_exposed import eventually
from tests.service.test_pages import get

from discreet.device.client import Campaign
from discreet.errors import DiscreetError
from discreet.service import Settings, Store
from discreet.service.metrics import _ABOUT
from discreet.service.verify import MATCH, verify_page

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KNOWN = {*_ABOUT, *(f"{name}_{part}" for name in _ABOUT for part in ("bucket", "sum", "count"))}


@pytest.mark.parametrize("name", ["alerts.yml", "grafana.json"])
def test_alerts_and_dashboard_use_counters_that_exist(name):
    text = (DEPLOY / name).read_text(encoding="utf-8")
    used = set(re.findall(r"\bdiscreet_\w+", text))
    assert used
    assert used <= KNOWN
    kinds = set(re.findall(r'kind!?=\\?"(\w+)', text))
    assert kinds <= {"page", "file", "ask", "upload", "api", "monitor"}


def test_the_dashboard_is_a_dashboard():
    found = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"]) >= 8
    assert all(target["expr"] for panel in found["panels"] for target in panel["targets"])


@pytest.mark.needs("yaml")
def test_every_alert_says_what_it_means():
    yaml = pytest.importorskip("yaml")
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["summary"].endswith((".", "reports."))
        assert rule["labels"]["severity"] in ("page", "ticket")
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert all(rule["alert"] in text for rule in group["rules"])


def test_the_runbook_lists_every_setting():
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for one in fields(Settings):
        if one.name not in ("today", "metrics_folder"):
            assert f"`{one.name}`" in text, one.name


# -- below a path -----------------------------------------------------------------------------------------


def test_pages_below_a_path_link_below_it(tmp_path):
    with running(str(tmp_path / "c.db"), root_path="/survey") as site:
        made = site.collector().create(one_hot_plan(4), "Below", minimum=1)
        for path in ("/", "/new", "/people", f"/campaigns/{made.id}"):
            text = get(site, path)[2]
            assert '<html data-root="/survey"' in text
            assert not re.search(r'(?:href|src)="/(?!survey/)', text)
        panel = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
        assert not re.search(r'(?:href|src)="/(?!survey/)', panel)
    for wrong in ("survey", "/survey/", '/"', "//x/"):
        with pytest.raises(DiscreetError, match="root_path must be a path"):
            Settings(root_path=wrong)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def nginx(program: str, folder: Path, root: str, port: int, upstream: int) -> list[str]:
    """Return how to run the recipe as it is, but for the ports, the certificate and the place of the logs."""
    if root:
        server = f"server {{ listen 127.0.0.1:{port}; {(DEPLOY / 'nginx-subpath.conf').read_text()} }}"
    else:
        text = (DEPLOY / "nginx.conf").read_text()
        text = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", text, flags=re.S)
        text = re.sub(r"    ssl_\w+.*\n", "", text)
        text = text.replace("/var/log/nginx/collector-error.log", str(folder / "error.log"))
        server = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    server = server.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/main.log; events {{}}\n"
        f"http {{ access_log off; {places}\n{server}\n}}"
    )
    tested = subprocess.run([program, "-t", "-c", config, "-p", folder], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    return [program, "-c", str(config), "-p", str(folder)]


def caddy(program: str, folder: Path, root: str, port: int, upstream: int) -> list[str]:
    """The same for Caddy: without TLS, for which it would ask an authority for a certificate."""
    text = (DEPLOY / ("Caddyfile.subpath" if root else "Caddyfile")).read_text()
    text = re.sub(r"^\w+\.example \{", f"http://127.0.0.1:{port} {{", text, count=1, flags=re.M)
    config = folder / "Caddyfile"
    options = "{\n\tadmin off\n\tauto_https off\n}\n"
    config.write_text(options + text.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}"))
    return [program, "run", "--config", str(config), "--adapter", "caddyfile"]


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request) -> tuple[Any, str]:
    """A proxy and its program."""
    program = shutil.which(request.param)
    if program is None:
        sentence = f"{request.param} is not installed; 'make system' installs Debian's package"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return {"nginx": nginx, "caddy": caddy}[request.param], program


@pytest.fixture(params=["", "/survey"], ids=["root", "subpath"])
def proxied(request, proxy, tmp_path) -> Iterator[tuple[str, Campaign]]:
    """A collector behind a proxy, as its recipe says."""
    make, program = proxy
    port = free_port()
    limits = {"behind_proxy": 1, "root_path": request.param, "requests_per_second": 1e-9, "burst": 20.0}
    with running(str(tmp_path / "c.db"), **limits) as site:
        made = site.collector().create(one_hot_plan(4), "Proxied", minimum=1)
        command = make(program, tmp_path, request.param, port, site.port)
        homes = {name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        with open(tmp_path / "proxy.log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | homes)
        try:

            def is_up() -> bool:
                with socket.socket() as one:
                    return one.connect_ex(("127.0.0.1", port)) == 0

            eventually(is_up)
            yield f"http://127.0.0.1:{port}{request.param}", made
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_the_answer_page_is_the_released_one_behind_a_proxy(proxied):
    url, campaign = proxied
    found = verify_page(url + campaign.progress()["link"])
    assert {one.verdict for one in found} == {MATCH}


def test_a_proxy_shows_no_counters_and_nobody_can_lie_about_their_address(proxied):
    url, campaign = proxied
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{url}/health").status_code == 200
        assert client.get(f"{url}/metrics").status_code == 403
        path, codes = f"{url}/api/campaigns/{campaign.id}/ids", []
        for i in range(60):
            headers = {"x-forwarded-for": f"192.0.2.{i}, 198.51.100.{i}", "forwarded": f"for=192.0.2.{i}"}
            codes.append(client.post(path, json={"count": 1}, headers=headers).status_code)
        assert set(codes[:30]) == {200}
        assert set(codes[-15:]) == {429}  # whatever they say, all of them come from one address


# -- retention --------------------------------------------------------------------------------------------


def test_a_finished_campaign_is_deleted_after_its_time(database):
    import datetime

    day = datetime.date(2027, 1, 1)
    with running(database, retention_days=30, today=lambda *_: day, tick_seconds=3600.0) as collector:
        admin = collector.collector()
        done = admin.create(one_hot_plan(4), "Done", minimum=1, admission="open")
        still = admin.create(one_hot_plan(4), "Open", minimum=1, admission="open")
        for one in (done, still):
            one.submit([1, 2, 3])
        done.close_round()
        day += datetime.timedelta(days=30)
        collector.service.campaigns.tick()
        assert len(admin.campaigns()) == 2
        day += datetime.timedelta(days=1)
        collector.service.campaigns.tick()
        assert [one["id"] for one in admin.campaigns()] == [still.id]
    with Store(database) as store:
        assert store.campaign(bytes.fromhex(done.id)) is None
