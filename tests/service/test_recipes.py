"""What operators copy: proxies, alerts and the Grafana dashboard speak of what the collector really has."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from tests.service.running import one_hot_plan, running
from tests.service.test_exposed import eventually
from tests.service.test_pages import get

from discreet.errors import DiscreetError
from discreet.service import Settings, Store
from discreet.service.campaigns import Campaigns
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


@pytest.fixture(params=["", "/survey"], ids=["root", "subpath"])
def proxied(request, tmp_path) -> Iterator[tuple[str, Campaigns]]:
    """The recipes as they are, but for the port, the certificate and the place of the logs."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("nginx is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(str(tmp_path / "c.db"), behind_proxy=1, root_path=request.param) as site:
        if request.param:
            server = f"server {{ listen 127.0.0.1:{port}; {(DEPLOY / 'nginx-subpath.conf').read_text()} }}"
        else:
            text = (DEPLOY / "nginx.conf").read_text()
            text = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", text, flags=re.S)
            text = re.sub(r"    ssl_\w+.*\n", "", text)
            text = text.replace("/var/log/nginx/collector-error.log", str(tmp_path / "error.log"))
            server = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
        server = server.replace("127.0.0.1:8000", f"127.0.0.1:{site.port}")
        places = "".join(
            f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config = tmp_path / "nginx.conf"
        config.write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/main.log; events {{}}\n"
            f"http {{ access_log off; {places}\n{server}\n}}"
        )
        tested = subprocess.run([program, "-t", "-c", config, "-p", tmp_path], capture_output=True, text=True)
        assert tested.returncode == 0, tested.stderr
        process = subprocess.Popen([program, "-c", config, "-p", tmp_path], stderr=subprocess.DEVNULL)
        try:
            made = site.collector().create(one_hot_plan(4), "Proxied", minimum=1)

            def is_up() -> bool:
                with socket.socket() as one:
                    return one.connect_ex(("127.0.0.1", port)) == 0

            eventually(is_up)
            yield f"http://127.0.0.1:{port}{request.param}", made
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_the_answer_page_is_the_released_one_behind_nginx(proxied):
    url, campaign = proxied
    found = verify_page(url + campaign.progress()["link"])
    assert {one.verdict for one in found} == {MATCH}


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
