"""What the clients make of answers, whoever gives them: what raises and what passes.

The answers are laid out as faults, so these calls show too that a fault arrives as it is told.
"""

from postgrest.exceptions import APIError
from pydantic import ValidationError
from storage3.exceptions import StorageApiError
from storage3.utils import StorageException
from supabase_auth.errors import AuthApiError, AuthRetryableError, AuthUnknownError

from .calls import call, equal, raises

VERSION = {"X-Supabase-Api-Version": "2024-01-01"}
PASSWORD = "correct horse"

# Auth

SESSION = {
    "access_token": "header.claims.signature",
    "token_type": "bearer",
    "expires_in": 3600,
    "refresh_token": "abcdefghijkl",
    "user": {
        "id": "11111111-1111-4111-8111-111111111111",
        "aud": "authenticated",
        "app_metadata": {},
        "user_metadata": {},
        "created_at": "2026-01-02T03:04:05.123456Z",
    },
}


@call("a session without expires_at, a user without email, role, identities: passes")
def least_session(project):
    project.answer(200, SESSION)
    equal(project.client().auth.sign_in_anonymously().user.id, SESSION["user"]["id"])


@call("a session without a needed member, an empty body: raises")
def unusable_session(project):
    def sign_in(body):
        project.answer(200, body)
        with raises(ValidationError):
            project.client().auth.sign_in_with_password({"email": "a@b.c", "password": PASSWORD})

    for name in ["access_token", "refresh_token", "expires_in", "token_type", "user"]:
        sign_in({key: value for key, value in SESSION.items() if key != name})
    for name in SESSION["user"]:
        sign_in(SESSION | {"user": {key: value for key, value in SESSION["user"].items() if key != name}})
    sign_in("")


@call("sign_out() on 401, 403, 404: swallowed, and the local session ends")
def sign_out_swallowed(project):
    for status in [401, 403, 404]:
        client = project.anonymous()
        project.answer(status, {"code": "any", "message": "any"}, headers=VERSION)
        client.auth.sign_out()
        assert client.auth.get_session() is None
        equal(project.faults_left(), [])


@call("sign_out() on 500 and 503")
def sign_out_failing(project):
    client = project.anonymous()
    project.answer(500, {"code": "unexpected_failure", "message": "any"}, headers=VERSION)
    with raises(AuthApiError, status=500):
        client.auth.sign_out()
    project.answer(503, {"message": "any"})
    with raises(AuthRetryableError, status=503):
        client.auth.sign_out()


@call("errors of the network and of proxies are told apart from Auth's own")
def network_errors(project):
    client = project.client()
    for status in [502, 503, 504, 520, 521, 522, 523, 524, 530]:
        project.answer(status, "<html>", content_type="text/html")
        with raises(AuthRetryableError, status=status):
            client.auth.sign_in_anonymously()
    project.faults({"kind": "dropBefore"})
    with raises(AuthRetryableError, status=0):
        client.auth.sign_in_anonymously()
    project.answer(429, {"code": "over_request_rate_limit", "message": "any"}, headers=VERSION)
    with raises(AuthApiError, status=429):
        client.auth.sign_in_anonymously()
    project.answer(429, "slow down", content_type="text/plain")
    with raises(AuthUnknownError):
        client.auth.sign_in_anonymously()


@call("the code of an error: from `code` with the version's header, else from `error_code`")
def error_codes(project):
    both = {"code": "from_code", "error_code": "from_error_code", "message": "any"}
    for headers, code in [(VERSION, "from_code"), ({}, "from_error_code")]:
        project.answer(400, both, headers=headers)
        with raises(AuthApiError, code=code):
            project.client().auth.sign_in_anonymously()


# Tables


@call("an answer with an empty body; counts of every form")
def odd_answers(project):
    client = project.client()
    select = lambda **more: client.table("todos").select("*", **more).execute()
    project.answer(200, "")
    equal(select().data, [])
    for header, count in [(None, None), ("*/0", 0), ("0-1/2", 2), ("*/*", None)]:
        project.answer(200, "[]", headers={"Content-Range": header} if header else {})
        equal(select(count="exact").count, count)
    project.answer(200, "[]", headers={"Content-Range": "0-1/x"})
    with raises(ValueError):
        select(count="exact")


@call("errors that are not PostgREST's")
def foreign_errors(project):
    client = project.client()
    project.answer(404, "<html>not here</html>", content_type="text/html")
    with raises(APIError, code="404", details="<html>not here</html>"):
        client.table("todos").select("*").execute()
    project.answer(400, {})
    with raises(APIError, code=None, message=None, hint=None, details=None):
        client.table("todos").select("*").execute()


@call("maybe_single() on two rows, on an object, on the server's own 406; single() on an array")
def single_answers(project):
    client = project.client()
    maybe = lambda: client.table("todos").select("*").maybe_single().execute()
    project.answer(200, [{"id": 1}, {"id": 2}])
    with raises(APIError, code="406"):
        maybe()
    project.answer(200, {"id": 1, "title": "a"})
    with raises(APIError, code="406"):
        maybe()
    project.answer(406, {"code": "PGRST116", "message": "m", "details": "d", "hint": None})
    with raises(APIError, code="PGRST116"):
        maybe()
    project.answer(200, [{"id": 1}])
    equal(client.table("todos").select("*").single().execute().data, [{"id": 1}])


# Storage

BUCKET = {
    "id": "notes",
    "name": "notes",
    "owner": "",
    "public": False,
    "created_at": "2026-01-02T03:04:05.123Z",
    "updated_at": "2026-01-02T03:04:05.123Z",
    "file_size_limit": None,
    "allowed_mime_types": None,
}

OBJECT = {
    "id": "11111111-1111-4111-8111-111111111111",
    "name": "a",
    "updated_at": "2026-01-02T03:04:05.123Z",
    "created_at": "2026-01-02T03:04:05.123Z",
    "metadata": None,
}

MISSING = {"statusCode": "404", "error": "not_found", "message": "Object not found"}


def bucket(project):
    return project.client().storage.from_("notes")


def without(name, value):
    return {key: one for key, one in value.items() if key != name}


@call("a bucket without a type, with more members and null limits passes; without a needed one it raises")
def buckets(project):
    project.answer(200, BUCKET | {"more": 1})
    equal(project.client().storage.get_bucket("notes").name, "notes")
    for body in [without(name, BUCKET) for name in BUCKET] + [BUCKET | {"owner": None}]:
        project.answer(200, body)
        with raises(ValidationError):
            project.client().storage.get_bucket("notes")


@call("a list of the newer form without a needed member: raises")
def newer_list(project):
    page = {"hasNext": False, "folders": [], "objects": [OBJECT]}
    project.answer(200, page)
    equal(bucket(project).list_v2({"prefix": ""}).objects[0].name, "a")
    broken = [without(name, page) for name in page] + [page | {"objects": [without(name, OBJECT)]} for name in OBJECT]
    for body in broken:
        project.answer(200, body)
        with raises(ValidationError):
            bucket(project).list_v2({"prefix": ""})


@call("signed URLs: `signedUrl` raises, one without a slash loses its first letter, one for uploads needs a token")
def signed_urls(project):
    project.answer(200, {"signedURL": "object/sign/notes/a?token=x"})
    assert bucket(project).create_signed_url("a", 60)["signedURL"].endswith("/storage/v1/bject/sign/notes/a?token=x")
    project.answer(200, {"signedUrl": "/object/sign/notes/a?token=x"})
    with raises(ValidationError):
        bucket(project).create_signed_url("a", 60)
    project.answer(200, {"url": "/object/upload/sign/notes/a"})
    with raises(StorageException):
        bucket(project).create_signed_upload_url("a")


@call("errors of Storage: a number for a status passes; what is not whole is an InternalError")
def storage_errors(project):
    project.answer(400, MISSING | {"statusCode": 404})
    with raises(StorageApiError, status=404, code="not_found", message="Object not found"):
        bucket(project).download("a")
    for body in [without(name, MISSING) for name in MISSING] + ["<html>"]:
        project.answer(400, body)
        with raises(StorageApiError, status=400, code="InternalError"):
            bucket(project).download("a")


@call("exists(): False for an object that is missing, and for an empty 404; otherwise it raises")
def exists(project):
    for status, body in [(400, MISSING), (404, "")]:
        project.answer(status, body)
        equal(bucket(project).exists("a"), False)
    for status, body in [(400, ""), (400, {"statusCode": "404", "error": "Bucket not found", "message": "x"})]:
        project.answer(status, body)
        with raises(StorageApiError):
            bucket(project).exists("a")


@call("remove() takes an empty list and an empty object")
def removed(project):
    for body in [[], {}]:
        project.answer(200, body)
        equal(bucket(project).remove(["a"]), body)
