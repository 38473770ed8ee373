"""OpenID Connect: the provider at which administrators sign in, if the collector's settings name one.

The authorisation code flow with PKCE. A tab draws state, nonce and verifier, and keeps them; it is sent to the provider
and comes back with a code. The collector exchanges the code, with the verifier and its own secret, for a token that the
provider has signed, and checks it: signature (by keys that the provider publishes), issuer, audience, age and nonce. So
neither a stolen code nor one that somebody else put into the tab signs anybody in. Meanwhile the collector keeps
nothing.
"""

import hmac
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from discreet.extras import require
from discreet.service.accounts import Identity
from discreet.service.errors import Refused, Unauthorized
from discreet.service.settings import Settings

_log = logging.getLogger("discreet.service")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key that only the provider has."""
SCOPE = "openid email profile"
_SECONDS = 5.0
_MOST_BYTES = 1 << 20
_KEPT_SECONDS = 3600.0
_AGAIN_SECONDS = 30.0
"""How soon keys are fetched again because a token names one that is not known."""
_CLOCKS_DIFFER = 60.0
_OLDEST_SECONDS = 600.0


class Provider:
    """An OpenID provider.

    Parameters
    ----------
    settings : Settings
        With ``oidc_issuer``, ``oidc_client_id`` and ``public_url``.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.issuer, self.client_id = settings.oidc_issuer, settings.oidc_client_id
        self.redirect_uri = f"{settings.public_url}/signin"
        self._secret, self._clock = settings.oidc_client_secret, clock
        purpose = "Signing in through a provider"
        self._httpx = require("httpx", "oidc", purpose)
        self._jwt, self._jwk = (require(f"joserfc.{name}", "oidc", purpose) for name in ("jwt", "jwk"))
        self._errors = require("joserfc.errors", "oidc", purpose)
        self._lock = threading.Lock()
        self._about: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, Any] | None = None

    def about(self) -> dict[str, Any]:
        """Return what the provider says about itself; it is fetched once an hour."""
        with self._lock:
            if self._about is None or self._clock() - self._about[0] > _KEPT_SECONDS:
                found = self._fetch("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer:
                    raise _unusable("it calls itself another issuer than the settings do")
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    if not is_safe(found.get(name)):
                        raise _unusable(f"its {name} must be an https address")
                self._about = (self._clock(), found)
            return self._about[1]

    def identity(self, code: str, verifier: str, nonce: str) -> Identity:
        """Return whom the provider vouches for with a code that it gave to a tab."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri,
            "client_id": self.client_id, "code_verifier": verifier,
        }  # fmt: skip
        about, basic = self.about(), None
        if self._secret:
            # RFC 6749 asks for the header; some providers know the form only, and say so.
            if about.get("token_endpoint_auth_methods_supported") == ["client_secret_post"]:
                form["client_secret"] = self._secret
            else:
                basic = self._httpx.BasicAuth(_quoted(self.client_id), _quoted(self._secret))
        token = self._fetch("POST", about["token_endpoint"], form, basic).get("id_token")
        if not isinstance(token, str):
            raise Unauthorized("the provider sent no id_token; sign in again")
        return self._checked(self._claims(token), nonce)

    def _claims(self, token: str) -> Mapping[str, Any]:
        """Return what a token says, if one of the provider's keys has signed it."""
        for is_last in (False, True):
            try:
                return dict(self._jwt.decode(token, self._key_set(), algorithms=list(ALGORITHMS)).claims)
            except (self._errors.JoseError, ValueError, TypeError, KeyError) as error:
                # The provider may have begun to use a new key since its keys were fetched.
                if is_last or not self._forget_keys():
                    _log.warning("a token of the provider was refused: %s", type(error).__name__)
                    raise Unauthorized("the provider's token is not signed by its keys; sign in again") from None
        raise AssertionError

    def _checked(self, claims: Mapping[str, Any], nonce: str) -> Identity:
        now, audience = self._clock(), claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        issued, expires, subject = _seconds(claims.get("iat")), _seconds(claims.get("exp")), claims.get("sub")
        wrong = {
            "issuer": claims.get("iss") != self.issuer,
            "audience": self.client_id not in audiences,
            "authorised party": claims.get("azp", self.client_id if len(audiences) == 1 else None) != self.client_id,
            "age": expires < now - _CLOCKS_DIFFER or not now - _OLDEST_SECONDS < issued < now + _CLOCKS_DIFFER,
            "nonce": not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()),
            "subject": not (isinstance(subject, str) and 0 < len(subject) <= 255 and subject.isprintable()),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise Unauthorized(f"the provider's token has the wrong {name}; sign in again")
        email = claims.get("email")
        is_verified = claims.get("email_verified") is True and isinstance(email, str) and "@" in email
        return Identity(str(subject), email if is_verified else None)

    def _key_set(self) -> Any:
        uri = self.about()["jwks_uri"]
        with self._lock:
            if self._keys is None or self._clock() - self._keys[0] > _KEPT_SECONDS:
                found = self._fetch("GET", uri)
                usable = [one for one in found.get("keys", []) if isinstance(one, dict) and one.get("kty") != "oct"]
                self._keys = (self._clock(), self._jwk.KeySet.import_key_set({"keys": usable}))
            return self._keys[1]

    def _forget_keys(self) -> bool:
        """Whether keys may be fetched again: not more often than every half minute."""
        with self._lock:
            if self._keys is None or self._clock() - self._keys[0] < _AGAIN_SECONDS:
                return False
            self._keys = None
            return True

    def _fetch(self, method: str, url: str, form: dict[str, str] | None = None, basic: Any = None) -> dict[str, Any]:
        """Return a JSON object of the provider; it may take five seconds and be a megabyte long."""
        httpx = self._httpx
        try:
            with (
                httpx.Client(timeout=_SECONDS, follow_redirects=False) as client,
                client.stream(method, url, data=form, auth=basic, headers={"accept": "application/json"}) as response,
            ):
                body, until = b"", time.monotonic() + 2 * _SECONDS
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES or time.monotonic() > until:
                        raise _unusable("its answer is too long")
        except httpx.HTTPError as error:
            raise _unusable(f"it cannot be reached ({type(error).__name__})") from None
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if form is not None and response.status_code in (400, 401) and isinstance(found, dict):
            _log.warning("the provider refused a code: %s", str(found.get("error"))[:100])
            raise Unauthorized("the provider did not accept this attempt; sign in again")
        if response.status_code != 200 or not isinstance(found, dict):
            raise _unusable(f"it answered with status {response.status_code}")
        return found


def is_safe(url: object) -> bool:
    """Whether an address is https, or on this machine.

    Examples
    --------
    >>> is_safe("https://id.example/authorize"), is_safe("http://127.0.0.1:9000/"), is_safe("http://id.example/")
    (True, True, False)
    """
    if not isinstance(url, str):
        return False
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
    )


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _unusable(reason: str) -> Refused:
    _log.warning("the provider cannot be used: %s", reason)
    return Refused(503, f"the provider cannot be used now: {reason}")
