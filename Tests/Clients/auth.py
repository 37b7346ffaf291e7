"""Auth: signing up, in and out, refreshing, the user, errors."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlparse
from uuid import UUID

import jwt
from supabase_auth.errors import AuthApiError, AuthInvalidJwtError, AuthWeakPasswordError

from .calls import call, equal, raises

VERSION = {"X-Supabase-Api-Version": "2024-01-01"}
PASSWORD = "correct horse"


def claims_of(token):
    """What a token says, unchecked."""
    return jwt.decode(token, options={"verify_signature": False})


def clock(seconds):
    """The server's clock set forward."""
    return {"kind": "clockSkew", "seconds": seconds}


# Signing up and in


@call("auth.sign_in_anonymously()")
def anonymous(project):
    answer = project.client().auth.sign_in_anonymously()
    session, user = answer.session, answer.user
    assert user.is_anonymous and UUID(user.id)
    equal((user.aud, user.role, user.email, user.phone), ("authenticated", "authenticated", "", ""))
    equal((user.app_metadata, user.user_metadata, user.identities), ({}, {}, []))
    equal((session.token_type, session.expires_in), ("bearer", 3600))
    claims = claims_of(session.access_token)
    equal((claims["sub"], claims["aud"], claims["role"]), (user.id, "authenticated", "authenticated"))
    equal((claims["exp"] - claims["iat"], claims["exp"]), (3600, session.expires_at))
    assert claims["is_anonymous"] and UUID(claims["session_id"])
    equal([one["method"] for one in claims["amr"]], ["anonymous"])


@call("auth.sign_in_anonymously({'options': {'data': …}})")
def anonymous_with_data(project):
    user = project.client().auth.sign_in_anonymously({"options": {"data": {"nick": "z"}}}).user
    equal(user.user_metadata, {"nick": "z"})


@call("auth.sign_in_anonymously() with the key of the older form, a token")
def legacy_key(project):
    anon = jwt.encode({"role": "anon"}, "another secret that is long enough for it", algorithm="HS256")
    with raises(AuthApiError, status=401, message="Invalid API key"):
        project.client(anon).auth.sign_in_anonymously()


@call("auth.get_user()")
def get_user(project):
    client = project.anonymous()
    user = client.auth.get_user().user
    equal(user.id, client.auth.get_session().user.id)
    assert user.is_anonymous


@call("auth.update_user({email, password, data}): anonymous becomes permanent")
def becomes_permanent(project):
    client, email = project.anonymous(), project.new_email()
    before = client.auth.get_user().user
    user = client.auth.update_user({"email": email, "password": PASSWORD, "data": {"nick": "z"}}).user
    equal((user.id, user.email, user.is_anonymous, user.user_metadata), (before.id, email, False, {"nick": "z"}))
    # The token says what was true when it was made.
    assert claims_of(client.auth.get_session().access_token)["is_anonymous"]
    refreshed = client.auth.refresh_session().session
    assert not claims_of(refreshed.access_token)["is_anonymous"]
    equal(project.client().auth.sign_in_with_password({"email": email, "password": PASSWORD}).user.id, before.id)


@call("auth.refresh_session()")
def refresh(project):
    client = project.anonymous()
    first = client.auth.get_session()
    second = client.auth.refresh_session().session
    assert second.refresh_token != first.refresh_token
    equal(second.user.id, first.user.id)
    equal(claims_of(second.access_token)["session_id"], claims_of(first.access_token)["session_id"])
    equal(claims_of(second.access_token)["amr"], claims_of(first.access_token)["amr"])


@call("auth.sign_out({'scope': 'local'})")
def sign_out_local(project):
    client = project.anonymous()
    token = client.auth.get_session().access_token
    client.auth.sign_out({"scope": "local"})
    assert client.auth.get_session() is None
    with raises(AuthApiError, status=403, code="session_not_found"):
        project.client().auth.get_user(token)


@call("auth.sign_up({email, password, data})")
def sign_up(project):
    client, email = project.client(), project.new_email()
    answer = client.auth.sign_up({"email": email, "password": PASSWORD, "options": {"data": {"nick": "z"}}})
    user = answer.user
    assert answer.session and not user.is_anonymous and user.email_confirmed_at and user.confirmed_at
    equal((user.email, user.user_metadata), (email, {"nick": "z"}))
    equal(user.app_metadata, {"provider": "email", "providers": ["email"]})
    [identity] = user.identities
    equal((identity.id, identity.user_id, identity.provider), (user.id, user.id, "email"))
    assert identity.identity_id != user.id
    equal((identity.identity_data["email"], identity.identity_data["sub"]), (email, user.id))


@call("auth.sign_up(…) where emails must be confirmed", "--auth", "confirmEmails")
def sign_up_unconfirmed(project):
    client, email = project.client(), project.new_email()
    answer = client.auth.sign_up({"email": email, "password": PASSWORD})
    assert answer.session is None and answer.user.email_confirmed_at is None and answer.user.confirmation_sent_at
    equal(answer.user.email, email)
    with raises(AuthApiError, status=400, code="email_not_confirmed"):
        client.auth.sign_in_with_password({"email": email, "password": PASSWORD})
    client.auth.resend({"type": "signup", "email": email})
    with raises(AuthApiError, status=403, code="otp_expired"):
        client.auth.verify_otp({"type": "signup", "email": email, "token": "000000x"})
    session = client.auth.verify_otp({"type": "signup", "email": email, "token": project.code(email)}).session
    equal((session.user.id, bool(session.user.email_confirmed_at)), (answer.user.id, True))
    project.client().auth.sign_in_with_password({"email": email, "password": PASSWORD})


@call("auth.sign_in_with_password(…)")
def sign_in(project):
    email = project.new_email()
    user = project.signed_up(email).auth.get_user().user
    answer = project.client().auth.sign_in_with_password({"email": email.upper(), "password": PASSWORD})
    equal(answer.user.id, user.id)
    equal([one["method"] for one in claims_of(answer.session.access_token)["amr"]], ["password"])


@call("auth.sign_in_with_password(…), wrong, in today's shape of an error")
def wrong_password(project):
    email = project.new_email()
    project.signed_up(email)
    for address in [email, "nobody@example.com"]:
        with raises(AuthApiError, status=400, code="invalid_credentials", message="Invalid login credentials"):
            project.client().auth.sign_in_with_password({"email": address, "password": "wrong!"})


@call("auth.sign_in_with_password(…), wrong, in the older shape")
def wrong_password_before(project):
    body = {"email": "nobody@example.com", "password": "wrong!"}
    answer = project.http.post("/auth/v1/token?grant_type=password", json=body)
    equal(answer.status_code, 400)
    equal(
        answer.json(), {"code": 400, "error_code": "invalid_credentials", "msg": "Invalid login credentials"}
    )
    assert "X-Supabase-Api-Version" not in answer.headers
    # And the client understands it.
    project.answer(400, answer.text)
    with raises(AuthApiError, status=400, code="invalid_credentials", message="Invalid login credentials"):
        project.client().auth.sign_in_with_password(body)


@call("auth.set_session(access, refresh), access fresh")
def set_session(project):
    session = project.anonymous().auth.get_session()
    client = project.client()
    equal(client.auth.set_session(session.access_token, session.refresh_token).user.id, session.user.id)
    equal(client.auth.get_session().refresh_token, session.refresh_token)


@call("auth.set_session(access, refresh), access expired")
def set_expired_session(project):
    # Issued by a clock two hours behind, so it is over for client and server alike.
    project.faults(clock(-7_200))
    session = project.anonymous().auth.get_session()
    project.faults()
    client = project.client()
    answer = client.auth.set_session(session.access_token, session.refresh_token)
    equal(answer.user.id, session.user.id)
    assert answer.session.refresh_token != session.refresh_token


@call("auth.get_session()")
def get_session(project):
    client = project.anonymous()
    sent = len(project.requests())
    assert client.auth.get_session().access_token
    equal(len([one for one in project.requests() if not one[1].startswith("/stand-in/")][sent:]), 0)


@call("auth.get_claims() of a token signed with the secret")
def get_claims(project):
    client = project.anonymous()
    claims = client.auth.get_claims()["claims"]
    user = client.auth.get_user().user
    equal((claims["sub"], claims["is_anonymous"], claims["aud"]), (user.id, True, "authenticated"))
    assert ("GET", "/auth/v1/user", "", 200) in project.requests()


@call("auth.refresh_session(token), used before")
def refresh_chain(project):
    client = project.anonymous()
    first = client.auth.get_session().refresh_token
    second = client.auth.refresh_session(first).session.refresh_token
    third = client.auth.refresh_session(second).session.refresh_token
    # The parent of the active token is good at any time: its answer may have been lost.
    project.faults(clock(100))
    equal(client.auth.refresh_session(second).session.refresh_token, third)
    with raises(AuthApiError, status=400, code="refresh_token_already_used"):
        client.auth.refresh_session(first)
    with raises(AuthApiError, status=400, code="refresh_token_already_used"):
        project.faults(clock(200))
        client.auth.refresh_session(third)


@call("auth.refresh_session(token) of no session")
def refresh_unknown(project):
    with raises(AuthApiError, status=400, code="refresh_token_not_found"):
        project.client().auth.refresh_session("abcdefghijkl")
    with raises(AuthApiError, status=400, code="validation_failed"):
        project.client().auth.refresh_session("short")


@call("auth.refresh_session() from two threads at once")
def refresh_race(project):
    token = project.anonymous().auth.get_session().refresh_token
    clients = [project.client() for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda client: client.auth.refresh_session(token).session, clients))
    equal(len({one.refresh_token for one in found}), 1)
    for one in found:
        equal(project.client().auth.get_user(one.access_token).user.id, found[0].user.id)


@call("auth.sign_in_anonymously(), rate limited")
def rate_limited(project):
    project.faults({"kind": "rateLimit", "retryAfter": 7})
    with raises(AuthApiError, status=429, code="over_request_rate_limit"):
        project.client().auth.sign_in_anonymously()
    project.faults({"kind": "rateLimit", "retryAfter": 7})
    answer = project.http.post("/auth/v1/signup", json={}, headers=VERSION)
    equal((answer.status_code, answer.headers["Retry-After"]), (429, "7"))


@call("auth.reset_password_for_email(…)")
def recover(project):
    email = project.new_email()
    client = project.signed_up(email)
    client.auth.reset_password_for_email(email)
    assert client.auth.get_user().user.recovery_sent_at
    # Whether an address is known is not told.
    project.client().auth.reset_password_for_email("nobody@example.com")
    other = project.client()
    other.auth.verify_otp({"type": "recovery", "email": email, "token": project.code(email)})
    other.auth.update_user({"password": "a better one"})
    project.client().auth.sign_in_with_password({"email": email, "password": "a better one"})


@call("auth.sign_in_with_otp(…), auth.verify_otp(…)")
def sign_in_with_code(project):
    client, email = project.client(), project.new_email()
    client.auth.sign_in_with_otp({"email": email, "options": {"data": {"nick": "z"}}})
    user = client.auth.verify_otp({"type": "email", "email": email, "token": project.code(email)}).user
    equal((user.email, user.user_metadata, user.is_anonymous), (email, {"nick": "z"}, False))
    with raises(AuthApiError, status=422, code="otp_disabled"):
        client.auth.sign_in_with_otp({"email": project.new_email(), "options": {"should_create_user": False}})


@call("auth.update_user({email}) where emails must be confirmed", "--auth", "confirmEmails")
def email_change(project):
    client, email = project.anonymous(), project.new_email()
    user = client.auth.update_user({"email": email}).user
    equal((user.new_email, user.email, user.is_anonymous), (email, "", True))
    changed = client.auth.verify_otp({"type": "email_change", "email": email, "token": project.code(email)}).user
    equal((changed.id, changed.email, changed.is_anonymous), (user.id, email, False))


@call("auth.exchange_code_for_session(…) behind the link of a mail")
def link(project):
    email = project.new_email()
    client = project.signed_up(email)
    client.auth.reset_password_for_email(email, {"redirect_to": "http://localhost:3000/after?a=b"})
    answer = project.http.get(project.mail(email)["link"])
    equal(answer.status_code, 303)
    address = urlparse(answer.headers["Location"])
    equal((address.netloc, address.path), ("localhost:3000", "/after"))
    [code] = parse_qs(address.query)["code"]
    # The verifier is in the storage of the device that asked, and of no other.
    with raises(AuthApiError, status=400, code="bad_code_verifier"):
        project.client().auth.exchange_code_for_session({"auth_code": code, "code_verifier": "x" * 43})
    session = client.auth.exchange_code_for_session({"auth_code": code}).session
    equal(session.user.email, email)
    equal([one["method"] for one in claims_of(session.access_token)["amr"]], ["recovery"])


@call("auth.reauthenticate()")
def reauthenticate(project):
    project.signed_up().auth.reauthenticate()


@call("auth.sign_out(), others and global, with two clients")
def sign_out_scopes(project):
    email = project.new_email()
    one = project.signed_up(email)
    other = project.client()

    def sign_in_other():
        other.auth.sign_in_with_password({"email": email, "password": PASSWORD})
        return other.auth.get_session().access_token

    token = sign_in_other()
    one.auth.sign_out({"scope": "others"})
    equal(one.auth.get_user().user.email, email)
    with raises(AuthApiError, status=403, code="session_not_found"):
        project.client().auth.get_user(token)
    # Only Auth looks the session up.
    equal(project.http.get("/rest/v1/todos", headers={"Authorization": f"Bearer {token}"}).status_code, 200)
    token = sign_in_other()
    one.auth.sign_out()
    with raises(AuthApiError, status=403, code="session_not_found"):
        project.client().auth.get_user(token)
    assert ("POST", "/auth/v1/logout", "scope=global", 204) in project.requests()


@call("auth.get_claims(jwt=…) of a token signed with a key pair", "--auth", "keyPair")
def key_pair(project):
    client = project.anonymous()
    token = client.auth.get_session().access_token
    header = jwt.get_unverified_header(token)
    equal((header["alg"], header["typ"]), ("ES256", "JWT"))
    [key] = project.http.get("/auth/v1/.well-known/jwks.json").json()["keys"]
    equal({name: key[name] for name in ["kty", "alg", "use", "key_ops", "crv", "kid"]}, {
        "kty": "EC", "alg": "ES256", "use": "sig", "key_ops": ["verify"], "crv": "P-256", "kid": header["kid"]})
    assert "d" not in key
    sent = len([one for one in project.requests() if one[1] == "/auth/v1/user"])
    equal(client.auth.get_claims(jwt=token)["claims"]["sub"], client.auth.get_session().user.id)
    equal(len([one for one in project.requests() if one[1] == "/auth/v1/user"]), sent)
    # Every service takes it, and Auth itself.
    equal(client.table("todos").select("*").execute().data, [])
    equal(client.storage.list_buckets(), [])
    assert client.auth.get_user().user.is_anonymous
    parts = token.split(".")
    forged = ".".join([parts[0], parts[1], base64.urlsafe_b64encode(bytes(64)).decode().rstrip("=")])
    with raises(AuthInvalidJwtError):
        client.auth.get_claims(jwt=forged)
    with raises(AuthApiError, status=403, code="bad_jwt"):
        client.auth.get_user(forged)


# More of what Auth does


@call("auth.sign_up(…) twice with one address")
def sign_up_twice(project):
    email = project.new_email()
    project.signed_up(email)
    with raises(AuthApiError, status=422, code="user_already_exists"):
        project.client().auth.sign_up({"email": email, "password": "another one"})


@call("auth.sign_up(…) twice where emails must be confirmed: nothing is told", "--auth", "confirmEmails")
def sign_up_twice_unconfirmed(project):
    email = project.new_email()
    first = project.client().auth.sign_up({"email": email, "password": PASSWORD}).user
    second = project.client().auth.sign_up({"email": email, "password": PASSWORD}).user
    # Not confirmed yet: the same user, asked again.
    equal(second.id, first.id)


@call("auth.sign_up(…) with a weak password")
def weak_password(project):
    with raises(AuthWeakPasswordError, status=422, code="weak_password", reasons=["length"]):
        project.client().auth.sign_up({"email": project.new_email(), "password": "short"})


@call("auth.update_user({password}): other sessions end")
def new_password(project):
    email = project.new_email()
    one = project.signed_up(email)
    other = project.client()
    other.auth.sign_in_with_password({"email": email, "password": PASSWORD})
    with raises(AuthApiError, status=422, code="same_password"):
        one.auth.update_user({"password": PASSWORD})
    one.auth.update_user({"password": "a better one"})
    equal(one.auth.get_user().user.email, email)
    with raises(AuthApiError, status=403, code="session_not_found"):
        other.auth.get_user()
    project.client().auth.sign_in_with_password({"email": email, "password": "a better one"})


@call("auth.get_user() with an expired token")
def expired(project):
    service = project.service()
    service.storage.create_bucket("expiring")
    service.storage.from_("expiring").upload("folder/a", b"a")
    client = project.anonymous()
    token = client.auth.get_session().access_token
    rest = {"Authorization": f"Bearer {token}"}
    # Auth gives clocks no leeway, PostgREST 30 seconds.
    project.faults(clock(3_610))
    with raises(AuthApiError, status=403, code="bad_jwt"):
        client.auth.get_user(token)
    equal(project.http.get("/rest/v1/todos", headers=rest).status_code, 200)
    # Storage tolerates a token that is over where there may be none, and then sees nothing.
    unseen = project.http.get("/storage/v1/object/expiring/folder/a", headers=rest)
    equal((unseen.status_code, unseen.json()["error"]), (400, "Bucket not found"))
    listed = project.http.post("/storage/v1/object/list/expiring", json={"prefix": ""}, headers=rest)
    equal((listed.status_code, listed.json()["statusCode"]), (400, "403"))
    project.faults(clock(3_700))
    late = project.http.get("/rest/v1/todos", headers=rest)
    equal((late.status_code, late.json()["code"]), (401, "PGRST303"))


@call("auth.admin with the service key")
def admin(project):
    client, email = project.service(), project.new_email()
    made = client.auth.admin.create_user({"email": email, "password": PASSWORD, "email_confirm": True}).user
    equal(client.auth.admin.get_user_by_id(made.id).user.email, email)
    assert made.id in [user.id for user in client.auth.admin.list_users()]
    changed = client.auth.admin.update_user_by_id(made.id, {"app_metadata": {"plan": "pro"}}).user
    equal(changed.app_metadata["plan"], "pro")
    session = project.client().auth.sign_in_with_password({"email": email, "password": PASSWORD}).session
    equal(claims_of(session.access_token)["app_metadata"]["plan"], "pro")
    made_link = client.auth.admin.generate_link({"type": "recovery", "email": email})
    equal((made_link.user.id, made_link.properties.verification_type), (made.id, "recovery"))
    assert made_link.properties.hashed_token in made_link.properties.action_link
    client.auth.admin.update_user_by_id(made.id, {"ban_duration": "24h"})
    with raises(AuthApiError, status=400, code="user_banned"):
        project.client().auth.sign_in_with_password({"email": email, "password": PASSWORD})
    assert client.auth.admin.invite_user_by_email(project.new_email()).user.invited_at
    client.auth.admin.delete_user(made.id)
    with raises(AuthApiError, status=403, code="user_not_found"):
        project.client().auth.get_user(session.access_token)
    with raises(AuthApiError, status=403, code="not_admin"):
        project.anonymous().auth.admin.list_users()


@call("GET health, GET settings")
def health(project):
    equal(project.http.get("/auth/v1/health").json()["name"], "GoTrue")
    settings = project.http.get("/auth/v1/settings").json()
    assert settings["external"]["anonymous_users"] and settings["external"]["email"]
    equal((settings["disable_signup"], settings["mailer_autoconfirm"]), (False, True))


@call("a captcha token, a PKCE challenge and unknown members are taken and ignored")
def ignored_members(project):
    body = {"gotrue_meta_security": {"captcha_token": "x"}, "code_challenge": "y", "code_challenge_method": "s256"}
    answer = project.http.post("/auth/v1/signup", content=json.dumps(body), headers={"Content-Type": "text/plain"})
    equal(answer.status_code, 200)
