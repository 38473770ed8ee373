"""Signing in through a provider: who was invited gets in with their role, and no false token, code or tab does."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.service.browsing import act, complaints, confirm, is_shown, press, text, until
from tests.service.provider import CLIENT, SECRET, Provider, provider
from tests.service.running import Running, one_hot_plan, running

from discreet.device.client import CollectorError
from discreet.errors import DiscreetError, MissingExtra
from discreet.service import Settings
from discreet.service.oidc import Provider as Remote

pytestmark = [pytest.mark.needs("joserfc"), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def identity(monkeypatch) -> Iterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with provider() as found:
        yield found


def settings_for(identity: Provider, url: str) -> dict[str, Any]:
    return {
        "oidc_issuer": identity.issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET,
        "oidc_name": "the clinic", "public_url": url,
    }  # fmt: skip


@pytest.fixture
def clinic(identity, database) -> Iterator[Running]:
    with running(database, **settings_for(identity, "http://127.0.0.1:1")) as found:
        yield found


class Tab:
    """What a browser's tab does, without a browser."""

    def __init__(self, site: Running, identity: Provider) -> None:
        self.site, self.identity = site, identity
        self.nonce, self.verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        about = httpx.get(f"{site.url}/api/signin", trust_env=False).json()
        digest = hashlib.sha256(self.verifier.encode()).digest()
        self.code = identity.grant(
            {
                "state": "s", "nonce": self.nonce, "redirect_uri": about["redirect_uri"],
                "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            }
        )["code"]  # fmt: skip

    def finish(self, **changed: str) -> httpx.Response:
        given = {"code": self.code, "nonce": self.nonce, "verifier": self.verifier} | changed
        return httpx.post(f"{self.site.url}/api/signin", json=given, trust_env=False)


def get(site: Running, path: str, token: str) -> httpx.Response:
    return httpx.get(f"{site.url}{path}", headers={"authorization": f"Bearer {token}"}, trust_env=False)


def test_who_was_invited_signs_in_with_their_role(clinic, identity):
    store, today = clinic.store, clinic.settings.today()
    assert Tab(clinic, identity).finish().status_code == 403  # nobody is let in by signing in alone
    assert store.accounts() == []
    account = store.new_account("Ann", " ann@clinic.example", today, role="editor")
    done = Tab(clinic, identity).finish()
    assert (done.status_code, done.json()["name"], done.json()["role"]) == (200, "Ann", "editor")
    token = done.json()["token"]
    assert get(clinic, "/api/me", token).json() == {"name": "Ann", "role": "editor", "campaign": None}
    assert get(clinic, "/api/tokens", token).status_code == 403
    assert [row["name"] for row in store.tokens()] == ["tests"]  # theirs are not listed, and are no owner's
    assert [one["action"] for one in store.audit()] == ["signed in"]
    # The subject counts from now on, whatever becomes of the address.
    identity.person = identity.person | {"email": "ann.new@clinic.example", "email_verified": False}
    assert Tab(clinic, identity).finish().json()["name"] == "Ann"
    identity.person = {"sub": "another", "email": "ann@clinic.example", "email_verified": True}
    assert Tab(clinic, identity).finish().status_code == 403
    # Signing out ends the token, and deleting the account all of them.
    second = Tab(clinic, identity)
    identity.person = {"sub": "248289761001"}
    kept = second.finish().json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    assert httpx.post(f"{clinic.url}/api/signout", headers=headers, trust_env=False).status_code == 200
    assert get(clinic, "/api/me", token).status_code == 401
    assert get(clinic, "/api/me", kept).status_code == 200
    store.drop_account(account)
    assert get(clinic, "/api/me", kept).status_code == 401
    assert get(clinic, "/api/me", clinic.token).status_code == 200


def test_a_subject_that_looks_like_an_address_is_none(clinic, identity):
    """Some providers let people choose their subject, so it vouches for no address."""
    clinic.store.new_account("Ann", "ann@clinic.example", clinic.settings.today())
    for email in ({}, {"email": "ann@clinic.example", "email_verified": False}):
        identity.person = {"sub": "ann@clinic.example"} | email
        assert Tab(clinic, identity).finish().status_code == 403
    identity.person = {"sub": "ann@clinic.example", "email": "ann@clinic.example", "email_verified": True}
    assert Tab(clinic, identity).finish().json()["name"] == "Ann"


def test_an_account_is_made_by_an_owner_and_once(clinic):
    admin, path = clinic.collector(), "/api/accounts"
    made = admin.post(path, {"name": "Ann", "invited": "Ann@Clinic.example", "role": "editor"})["id"]
    with pytest.raises(CollectorError, match="invited before"):
        admin.post(path, {"name": "Ann again", "invited": "ann@clinic.example "})
    with pytest.raises(CollectorError, match="not blank"):
        admin.post(path, {"name": "Nobody", "invited": " "})
    assert [one["has_signed_in"] for one in admin.get(path)["accounts"]] == [False]
    for wrong in ("none", "%00", "a%00b", "%F0%9F%98%80"):
        with pytest.raises(CollectorError) as refused:
            admin.request("DELETE", f"{path}/{wrong}")
        assert refused.value.status in (400, 404, 422)
    admin.request("DELETE", f"{path}/{made}")
    assert admin.get(path)["accounts"] == []


def test_a_token_from_a_provider_ends_with_the_next_day(identity, database):
    import datetime

    day = datetime.date(2027, 1, 1)
    with running(database, today=lambda *_: day, **settings_for(identity, "http://127.0.0.1:1")) as site:
        site.store.new_account("Ann", "248289761001", day, role="owner")
        token = Tab(site, identity).finish().json()["token"]
        for days, status in ((1, 200), (1, 401)):
            day += datetime.timedelta(days=days)
            assert get(site, "/api/me", token).status_code == status


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"iss": "https://evil.example"}, "wrong issuer"),
        ({"aud": "another client"}, "wrong audience"),
        ({"aud": ["collector", "another"]}, "wrong authorised party"),
        ({"azp": "another"}, "wrong authorised party"),
        ({"exp": 1_600_000_000}, "wrong age"),
        ({"exp": None}, "wrong age"),
        ({"iat": 1_600_000_000}, "wrong age"),
        ({"iat": 9_999_999_999}, "wrong age"),
        ({"nonce": "of another tab"}, "wrong nonce"),
        ({"nonce": None}, "wrong nonce"),
        ({"sub": None}, "wrong subject"),
        ({"sub": ""}, "wrong subject"),
    ],
    ids=str,
)
def test_a_false_token_signs_nobody_in(clinic, identity, changed, said):
    clinic.store.new_account("Ann", "ann@clinic.example", clinic.settings.today(), role="owner")
    identity.changed = changed
    refused = Tab(clinic, identity).finish()
    assert (refused.status_code, said in refused.json()["error"]) == (401, True)
    identity.changed = {}
    assert Tab(clinic, identity).finish().status_code == 200


@pytest.mark.parametrize("email_verified", [False, "true", None])
def test_an_address_that_was_not_verified_is_nobodys(clinic, identity, email_verified):
    clinic.store.new_account("Ann", "ann@clinic.example", clinic.settings.today(), role="owner")
    identity.changed = {"email_verified": email_verified}
    assert Tab(clinic, identity).finish().status_code == 403


def test_only_the_providers_own_keys_sign(clinic, identity):
    from joserfc import jwk

    clinic.store.new_account("Ann", "ann@clinic.example", clinic.settings.today(), role="owner")
    strange = jwk.RSAKey.generate_key(2048)
    identity.signer = strange
    assert "not signed by its keys" in Tab(clinic, identity).finish().json()["error"]
    # A symmetric signature with what everybody can fetch, and none at all.
    public = json.dumps(identity.key.as_dict(private=False)).encode()
    identity.signer, identity.algorithm = jwk.OctKey.import_key(public), "HS256"
    assert Tab(clinic, identity).finish().status_code == 401
    head, body = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in (
        {"alg": "none"}, {"iss": identity.issuer, "aud": CLIENT, "sub": "248289761001"}))  # fmt: skip
    identity.token = lambda nonce: f"{head}.{body}."
    assert Tab(clinic, identity).finish().status_code == 401
    del identity.token
    # A new key is fetched, but not by everybody who sends nonsense.
    identity.signer, identity.algorithm, identity.header = strange, "RS256", {"kid": "second"}
    identity.published = [identity.key, jwk.RSAKey.import_key(strange.as_dict(private=True) | {"kid": "second"})]
    before = identity.fetched
    for _ in range(5):
        assert Tab(clinic, identity).finish().status_code == 401
    assert identity.fetched == before
    known = clinic.service.provider
    known._keys = (known._keys[0] - 31, known._keys[1])  # half a minute later
    assert Tab(clinic, identity).finish().status_code == 200


def test_a_code_belongs_to_its_tab_and_works_once(clinic, identity):
    clinic.store.new_account("Ann", "ann@clinic.example", clinic.settings.today(), role="owner")
    victim, thief = Tab(clinic, identity), Tab(clinic, identity)
    assert thief.finish(code=victim.code).status_code == 401  # stolen, but its verifier was not
    honest = Tab(clinic, identity)
    assert honest.finish(nonce=thief.nonce).status_code == 401
    again = Tab(clinic, identity)
    assert [again.finish().status_code, again.finish().status_code] == [200, 401]


def test_without_a_provider_there_is_no_such_way_in(collector):
    assert httpx.get(f"{collector.url}/api/signin", trust_env=False).status_code == 404
    given = {"code": "x", "nonce": "n" * 22, "verifier": "v" * 43}
    assert httpx.post(f"{collector.url}/api/signin", json=given, trust_env=False).status_code == 404
    assert "Sign in with" not in httpx.get(f"{collector.url}/", trust_env=False).text


def test_a_provider_that_does_not_answer_is_a_503(tmp_path, identity):
    with running(str(tmp_path / "c.db"), **settings_for(identity, "http://127.0.0.1:1")) as site:
        identity.stop()
        refused = httpx.get(f"{site.url}/api/signin", trust_env=False)
        assert (refused.status_code, "cannot be reached" in refused.json()["error"]) == (503, True)
        assert get(site, "/api/me", site.token).status_code == 200


def test_attempts_are_limited(tmp_path, identity):
    with running(
        str(tmp_path / "c.db"), requests_per_second=1e-9, burst=100, **settings_for(identity, "http://127.0.0.1:1")
    ) as site:
        given = {"code": "x", "nonce": "n" * 22, "verifier": "v" * 43}
        codes = [httpx.post(f"{site.url}/api/signin", json=given, trust_env=False).status_code for _ in range(6)]
        assert codes == [401] * 4 + [429] * 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"oidc_issuer": "http://id.example"}, "oidc_issuer must be an https:// address"),
        ({"public_url": "http://collector.example"}, "public_url must be an https:// address"),
        ({"public_url": ""}, "public_url must be an https:// address"),
        ({"public_url": "https://collector.example/"}, "must not end with a slash"),
        ({"oidc_client_id": ""}, "oidc_client_id must be"),
    ],
)
def test_settings_that_cannot_work_are_refused(changed, said):
    good = {"oidc_issuer": "https://id.example", "oidc_client_id": "c", "public_url": "https://collector.example"}
    assert "hidden" not in repr(Settings(**good, oidc_client_secret="hidden"))
    with pytest.raises(DiscreetError, match=said):
        Settings(**(good | changed))


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("discreet.extras.has", lambda name: not name.startswith("joserfc"))
    good = {"oidc_issuer": "https://id.example", "oidc_client_id": "c", "public_url": "https://collector.example"}
    with pytest.raises(MissingExtra, match=r"discreet\[oidc\]"):
        Remote(Settings(**good))


def test_an_administrator_signs_in_with_a_browser(tmp_path, identity, browser):
    with running(str(tmp_path / "c.db"), **settings_for(identity, "http://127.0.0.1:1")) as site:
        site.service.provider.redirect_uri = f"{site.url}/signin"  # the port is known only now
        campaign = site.collector().create(one_hot_plan(4), "Clinic", minimum=1)
        browser.get(f"{site.url}/people#token={site.token}")
        act(browser, "account")
        confirm(browser, dialog_field="Ann", dialog_invited="ann@clinic.example", dialog_role="editor")
        until(browser, lambda b: "not yet" in text(b, "accounts"))
        browser.execute_script("sessionStorage.clear()")
        browser.get(f"{site.url}/campaigns/{campaign.id}")
        until(browser, is_shown("signin"))
        complaints(browser)  # 401 without a token
        assert text(browser, "provider") == "Sign in with the clinic"
        press(browser, "provider")
        until(browser, lambda b: text(b, "count") == "0")
        assert browser.current_url == f"{site.url}/campaigns/{campaign.id}"  # where they were
        (asked,) = identity.asked
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
        assert "Link to the results" in text(browser, "live")
        assert complaints(browser) == []
        token = browser.execute_script("return sessionStorage.getItem('discreet token')")
        until(browser, is_shown("signout"))
        press(browser, "signout")
        until(browser, is_shown("signin"))
        assert get(site, "/api/me", token).status_code == 401
        # Somebody else's code, in a tab that did not ask for it.
        strange = Tab(site, identity)
        browser.get(f"{site.url}/signin?code={strange.code}&state=s")
        until(browser, lambda b: "did not begin to sign in" in text(b, "signin-status"))
        assert browser.execute_script("return sessionStorage.getItem('discreet token')") is None
        assert strange.code in identity.codes
        browser.get(f"{site.url}/signin?error=access_denied&state=x")
        until(browser, lambda b: "did not begin" in text(b, "signin-status"))
