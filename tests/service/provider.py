"""A small OpenID provider on a real socket: discovery, keys, a page that signs in at once, and tokens that it signs."""

import asyncio
import base64
import contextlib
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

CLIENT, SECRET = "collector", "a secret: with %, + and &"


class Provider:
    """Who signs in, and what is wrong with the token, is up to the test.

    Attributes
    ----------
    person : dict
        Claims about whoever signs in.
    changed : dict
        Claims that replace those of an honest token; None leaves one out.
    algorithm, header, signer : str, dict, key
        How tokens are signed.
    """

    def __init__(self) -> None:
        from joserfc import jwk

        self.key = self.signer = jwk.RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.person: dict[str, Any] = {"sub": "248289761001", "email": "Ann@Clinic.example", "email_verified": True}
        self.changed: dict[str, Any] = {}
        self.algorithm, self.header, self.published = "RS256", {"kid": "first"}, [self.key]
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[dict[str, str]] = []
        self.fetched = 0
        self.app = FastAPI()
        self._add_endpoints()
        config = uvicorn.Config(self.app, host="127.0.0.1", port=0, log_level="warning", ws="none")
        self.server = uvicorn.Server(config)
        self.socket = config.bind_socket()
        self.issuer = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve([self.socket])), daemon=True)
        self.thread.start()

    def _add_endpoints(self) -> None:
        app = self.app

        @app.get("/.well-known/openid-configuration")
        def about() -> dict[str, Any]:
            paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            return {"issuer": self.issuer} | {name: f"{self.issuer}/{path}" for name, path in paths.items()}

        @app.get("/keys")
        def keys() -> dict[str, Any]:
            self.fetched += 1
            return {"keys": [key.as_dict(private=False) for key in self.published]}

        @app.get("/authorize")
        def authorize(request: Request) -> Response:
            asked = dict(request.query_params)
            self.asked.append(asked)
            return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(self.grant(asked))}", 302)

        @app.post("/token")
        async def token(request: Request) -> Response:
            form = dict(parse_qsl((await request.body()).decode()))
            granted = self.codes.pop(form["code"], None)
            basic = base64.b64decode(request.headers.get("authorization", " ").split()[1]).decode()
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
            is_client = basic == "collector:a%20secret%3A%20with%20%25%2C%20%2B%20and%20%26"
            if not is_client or granted is None or granted["code_challenge"] != challenge.decode():
                return JSONResponse({"error": "invalid_grant"}, 400)
            if granted["redirect_uri"] != form["redirect_uri"] or form["grant_type"] != "authorization_code":
                return JSONResponse({"error": "invalid_grant"}, 400)
            return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": self.token(granted["nonce"])})

    def grant(self, asked: dict[str, str]) -> dict[str, str]:
        """Give a code to whoever asks, and send their state back."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def token(self, nonce: str) -> str:
        """Return a signed token."""
        from joserfc import jwt

        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce} | self.person
        claims = {name: value for name, value in (claims | self.changed).items() if value is not None}
        header = {"alg": self.algorithm} | self.header
        return str(jwt.encode(header, claims, self.signer, algorithms=[self.algorithm]))

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=20)
        self.socket.close()


@contextlib.contextmanager
def provider() -> Iterator[Provider]:
    """Run a provider."""
    found = Provider()
    try:
        yield found
    finally:
        found.stop()
