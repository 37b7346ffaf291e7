"""Misbehaving from the command line: what each kind does to the clients."""

import time

import httpx
from postgrest.exceptions import APIError
from supabase_auth.errors import AuthApiError, AuthRetryableError

from .calls import call, equal, raises

BODY = {"id": 1, "title": "a"}


def statuses(project, path="/rest/v1/todos"):
    return [status for *_, status in project.requests(path)]


def once(client):
    """A read that is not tried again by the client."""
    return client.table("todos").select("*").retry(False).execute()


@call("latency with jitter", "--misbehave", "latency milliseconds=150 jitter=50 path=/rest/v1")
def latency(project):
    start = time.monotonic()
    once(project.client())
    assert time.monotonic() - start >= 0.15


@call("the connection is dropped before the commit", "--misbehave", "dropBefore times=1 method=POST path=/rest/v1")
def drop_before(project):
    client = project.anonymous()
    with raises(httpx.RemoteProtocolError):
        client.table("todos").insert(BODY).execute()
    equal(once(client).data, [])


@call("the connection is dropped after the commit", "--misbehave", "dropAfter times=1 method=POST path=/rest/v1")
def drop_after(project):
    client = project.anonymous()
    with raises(httpx.RemoteProtocolError):
        client.table("todos").insert(BODY).execute()
    equal([row["title"] for row in once(client).data], ["a"])


@call("a body is cut in the middle", "--misbehave", "truncate times=1 method=GET")
def truncated(project):
    with raises(httpx.RemoteProtocolError):
        once(project.client())


@call("a page of a hotel's network in place of rows", "--misbehave", "loginPage times=1 path=/rest")
def login_page(project):
    # The client takes it for rows: whoever writes one of their own must look at the content type.
    answer = project.http.get("/rest/v1/todos")
    equal((answer.status_code, answer.headers["Content-Type"]), (200, "text/html; charset=UTF-8"))
    equal(once(project.client()).data, [])


@call("503 with and without Retry-After", "--misbehave", "unavailable retryAfter=5 times=1; unavailable skipping=1 times=1")
def unavailable(project):
    for retry_after in ["5", None]:
        answer = project.http.get("/rest/v1/todos")
        equal((answer.status_code, answer.json()["code"]), (503, "PGRST001"))
        equal(answer.headers.get("Retry-After"), retry_after)
    equal(once(project.client()).data, [])


@call("520 of a proxy: a read is asked again, a sign-in may be", "--misbehave", "proxy520 times=1 path=/rest; proxy520 times=1 path=/auth")
def proxy(project):
    client = project.client()
    with raises(AuthRetryableError, status=520):
        client.auth.sign_in_anonymously()
    equal(client.table("todos").select("*").execute().data, [])
    equal(statuses(project), [520, 200])


@call("429 of Auth, and of the gateway", "--misbehave", "rateLimit retryAfter=3 times=2")
def rate_limit(project):
    client = project.client()
    with raises(AuthApiError, status=429, code="over_request_rate_limit"):
        client.auth.sign_in_anonymously()
    with raises(APIError, message="API rate limit exceeded"):
        once(client)
    client.auth.sign_in_anonymously()


@call("an expired token: 401 from tables, 403 from Auth", "--misbehave", "expiredToken path=/rest times=1; expiredToken path=/auth/v1/user times=1")
def expired_token(project):
    client = project.anonymous()
    with raises(APIError, code="PGRST303"):
        once(client)
    with raises(AuthApiError, status=403, code="bad_jwt"):
        client.auth.get_user()


@call("an old schema cache, and its loading, for a while", "--misbehave",
      "schemaCache code=PGRST002 times=1; schemaCache code=PGRST204 skipping=1 times=1; schemaCache skipping=2 times=1")
def schema_cache(project):
    client = project.client()
    for code in ["PGRST002", "PGRST204", "PGRST205"]:
        with raises(APIError, code=code):
            once(client)
    equal(once(client).data, [])


@call("a fault by chance, the same for the same seed", "--misbehave", "unavailable probability=0.5 path=/rest", "--seed", "7")
def chance(project):
    met = [project.http.get("/rest/v1/todos").status_code for _ in range(60)]
    assert 10 < met.count(503) < 50, met
    with type(project)(project.program, "--misbehave", "unavailable probability=0.5 path=/rest", "--seed", "7") as other:
        equal([other.http.get("/rest/v1/todos").status_code for _ in range(60)], met)


@call("a slow upload", "--misbehave", "slowUpload bytesPerSecond=20000 method=POST path=/rest")
def slow_upload(project):
    client = project.anonymous()
    start = time.monotonic()
    client.table("todos").insert([BODY | {"id": number, "meta": "x" * 500} for number in range(8)]).execute()
    assert time.monotonic() - start >= 0.19


@call("a clock that is behind: the client takes its new session for one that is over", "--misbehave", "clockSkew seconds=-7200")
def clock_skew(project):
    client = project.anonymous()
    session = client.auth.get_session()
    # Its two hours are over by the machine's clock, so the client refreshed at once; the server sees nothing wrong.
    assert session.expires_at < time.time()
    assert ("POST", "/auth/v1/token", "grant_type=refresh_token", 200) in project.requests()
    equal(once(client).data, [])


@call("a Realtime connection is cut", "--misbehave", "realtimeDisconnect times=1")
async def realtime_disconnect(project):
    client = await project.async_client()
    try:
        await client.realtime.connect()
        socket = client.realtime._ws_connection
        await socket.wait_closed()
        equal(socket.close_code, 1006)
    finally:
        await client.realtime.close()


@call("Realtime falls silent: an answer does not come, and then it does", "--misbehave", "realtimeSilence times=1")
async def realtime_silence(project):
    from websockets.asyncio.client import connect

    address = project.url.replace("http://", "ws://") + f"/realtime/v1/websocket?apikey={project.key}&vsn=1.0.0"
    async with connect(address) as socket:
        for reference in ["1", "2"]:
            await socket.send('{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"%s"}' % reference)
        answer = await socket.recv()
        assert '"ref":"2"' in answer, answer
