"""Realtime: joining, changes with their filters and policies, tokens, the end of a connection."""

import asyncio
from contextlib import asynccontextmanager

import httpx
import jwt
import websockets

from .calls import call, equal
from .project import Project

# What comes at all comes within milliseconds; a client waits up to 2 s before it joins again.
SECONDS_MAX = 20
PRIVATE = {"private": True, "broadcast": None, "presence": None}


class Listener:
    """A channel of a client, with the changes and the states that it was told."""

    def __init__(self, client, name, *bindings, **options):
        self.changes = asyncio.Queue()
        self.states = asyncio.Queue()
        self.systems = asyncio.Queue()
        self.name = name
        self.channel = client.channel(name, options or None)
        for number, binding in enumerate(bindings):
            self.channel.on_postgres_changes(callback=self._heard(number), **binding)
        self.channel.on_system(self.systems.put_nowait)

    def _heard(self, number):
        return lambda payload: self.changes.put_nowait((number, payload["data"]))

    async def start(self):
        await self.channel.subscribe(lambda state, error: self.states.put_nowait((state.value, error)))
        return self

    async def next(self):
        return await asyncio.wait_for(self.changes.get(), SECONDS_MAX)

    async def state(self):
        return await asyncio.wait_for(self.states.get(), SECONDS_MAX)

    async def ready(self):
        """Waits until the server says that changes flow."""
        payload = await asyncio.wait_for(self.systems.get(), SECONDS_MAX)
        equal(
            (payload.extension, payload.status, payload.message, payload.channel),
            ("postgres_changes", "ok", "Subscribed to PostgreSQL", self.name),
        )


@asynccontextmanager
async def device(project, session=None):
    """A device of a new anonymous user, or of a session's; its connection is closed at the end."""
    client = await project.async_client()
    if session:
        await client.auth.set_session(session.access_token, session.refresh_token)
    else:
        await client.auth.sign_in_anonymously()
    try:
        yield client
    finally:
        await client.remove_all_channels()
        await client.realtime.close()


async def insert(client, **values):
    """Makes a row of the client's user, and returns its id."""
    values.setdefault("id", Project.new_id())
    await client.table("todos").insert(values).execute()
    return values["id"]


async def listening(client, name, *bindings):
    listener = await Listener(client, name, *bindings).start()
    equal(await listener.state(), ("SUBSCRIBED", None))
    await listener.ready()
    return listener


def binding(event="*", table="todos", **more):
    return {"event": event, "schema": "public", "table": table, **more}


@call("connect: the key is asked for, in the query or a field")
async def connect(project):
    address = project.url.replace("http", "ws") + "/realtime/v1/websocket"
    for suffix, fields, status in [
        ("?vsn=1.0.0", {}, 401),
        ("?vsn=1.0.0&apikey=wrong", {}, 401),
        (f"?vsn=1.0.0&apikey={project.key}", {}, 101),
        ("", {"x-api-key": project.key}, 101),
        (f"?vsn=2.0.0&apikey={project.key}", {}, 101),
    ]:
        try:
            async with websockets.connect(address + suffix, additional_headers=fields):
                found = 101
        except websockets.InvalidStatus as refusal:
            found = refusal.response.status_code
        equal((suffix, found), (suffix, status))
    equal(httpx.get(project.url + "/realtime/v1/websocket", headers={"apikey": project.key}).status_code, 426)


@call("channel(…).on_postgres_changes(…).subscribe(…): insert, update, delete by a second client")
async def changes(project):
    row = Project.new_id()
    async with device(project) as client, device(project, await client.auth.get_session()) as second:
        listener = await listening(
            client,
            "room1",
            binding("INSERT"),
            binding("UPDATE", filter=f"id=eq.{row}"),
            {"event": "*", "schema": "public"},
        )
        await insert(second, id=row, title="a")
        await second.table("todos").update({"title": "b"}).eq("id", row).execute()
        await second.table("todos").delete().eq("id", row).execute()
        heard = [await listener.next() for _ in range(5)]
        equal(
            [(number, data["type"]) for number, data in heard],
            [(0, "INSERT"), (2, "INSERT"), (1, "UPDATE"), (2, "UPDATE"), (2, "DELETE")],
        )
        inserted, updated, deleted = heard[0][1], heard[2][1], heard[4][1]
        equal((inserted["schema"], inserted["table"], inserted["errors"]), ("public", "todos", None))
        equal((inserted["record"]["id"], inserted["record"]["title"]), (row, "a"))
        assert inserted.get("old_record") is None and deleted.get("record") is None
        equal((updated["record"]["title"], updated["old_record"]), ("b", {"id": row}))
        equal(deleted["old_record"], {"id": row})
        types = {column["name"]: column["type"] for column in inserted["columns"]}
        equal((types["id"], types["tags"], types["updated_at"]), ("int8", "_text", "timestamptz"))


@call("await channel.unsubscribe()")
async def unsubscribe(project):
    async with device(project) as client:
        listener = await listening(client, "room1", binding())
        await listener.channel.unsubscribe()
        equal((await listener.state())[0], "CLOSED")


@call("a join that is refused")
async def refused(project):
    async with device(project) as client:
        listener = await Listener(client, "bad", config=PRIVATE).start()
        state, error = await listener.state()
        equal(state, "CHANNEL_ERROR")
        assert "Unauthorized: You do not have permissions to read from this Channel topic: bad" in str(error), error


@call("an entry that cannot be served: joined, and then told why nothing will come")
async def unknown_table(project):
    async with device(project) as client:
        listener = await Listener(client, "room1", binding(table="nowhere")).start()
        equal((await listener.state())[0], "SUBSCRIBED")
        state, error = await listener.state()
        equal(state, "CHANNEL_ERROR")
        assert "Unable to subscribe to changes with given parameters" in str(error), error


@call("filters and policies: another owner's changes are unseen, but for the key of a delete")
async def policies(project):
    async with device(project) as mine, device(project) as other:
        listener = await listening(mine, "room1", binding())
        filtered = await listening(mine, "room2", binding(filter="title=eq.mine"))
        theirs = await insert(other, title="mine")
        await other.table("todos").update({"title": "x"}).eq("id", theirs).execute()
        await other.table("todos").delete().eq("id", theirs).execute()
        first = await insert(mine, title="mine")
        await mine.table("todos").update({"title": "left the filter"}).eq("id", first).execute()
        second = await insert(mine, title="mine")
        heard = [(await listener.next())[1] for _ in range(4)]
        equal([one["type"] for one in heard], ["DELETE", "INSERT", "UPDATE", "INSERT"])
        equal(heard[0]["old_record"], {"id": theirs})
        equal([(await filtered.next())[1]["record"]["id"] for _ in range(2)], [first, second])


@call("await realtime.set_auth(token): the subscription is renewed")
async def set_auth(project):
    email = Project.new_email()
    client = await project.async_client()
    await client.auth.sign_up({"email": email, "password": "correct horse"})
    listener = await listening(client, "room1", binding())
    session = project.client().auth.sign_in_with_password({"email": email, "password": "correct horse"}).session
    await client.realtime.set_auth(session.access_token)
    await listener.ready()
    row = await insert(client, title="a")
    equal((await listener.next())[1]["record"]["id"], row)
    await client.realtime.close()


@call("await realtime.set_auth(token) with one that is no good: the channel ends, a new one goes on")
async def bad_token(project):
    async with device(project) as client:
        listener = await listening(client, "room1", binding())
        good = (await client.auth.get_session()).access_token
        claims = jwt.decode(good, options={"verify_signature": False})
        await client.realtime.set_auth(jwt.encode(claims, "x" * 32, algorithm="HS256"))
        equal((await listener.state())[0], "CHANNEL_ERROR")
        equal((await listener.state())[0], "CLOSED")
        await client.realtime.set_auth(good)
        listener = await listening(client, "room1", binding())
        row = await insert(client, title="a")
        equal((await listener.next())[1]["record"]["id"], row)


@call("a token that expires: the channel ends")
async def expiry(project):
    async with device(project) as client:
        listener = await listening(client, "room1", binding())
        project.faults({"kind": "clockSkew", "seconds": 3605})
        state, error = await listener.state()
        equal(state, "CHANNEL_ERROR")
        assert "Token has expired" in str(error), error
        equal((await listener.state())[0], "CLOSED")


@call("the connection drops: joined anew, and what was missed does not come")
async def drop(project):
    async with device(project) as client:
        listener = await listening(client, "reco", binding())
        token = (await client.auth.get_session()).access_token
        client.realtime._ws_connection.transport.abort()
        # Without giving the client a moment, which would join anew at once.
        missed = Project.new_id()
        project.http.post(
            "/rest/v1/todos", json={"id": missed, "title": "missed"}, headers={"Authorization": f"Bearer {token}"}
        ).raise_for_status()
        await listener.ready()
        later = await insert(client, title="later")
        equal((await listener.next())[1]["record"]["id"], later)
        equal((await client.table("todos").select("id").eq("id", missed).execute()).data, [{"id": missed}])


@call("one channel's name on two connections")
async def two(project):
    async with device(project) as one, device(project, await one.auth.get_session()) as other:
        listeners = [await listening(client, "room1", binding()) for client in (one, other)]
        row = await insert(one, title="a")
        equal([(await listener.next())[1]["record"]["id"] for listener in listeners], [row, row])


@call("a row that is too long for a message")
async def too_long(project):
    async with device(project) as client:
        listener = await listening(client, "room1", binding())
        row = await insert(client, title="short", meta={"long": "x" * 1_200_000})
        data = (await listener.next())[1]
        equal(data["errors"], ["Error 413: Payload Too Large"])
        equal((data["record"]["id"], data["record"]["title"], "meta" in data["record"]), (row, "short", False))


@call("broadcast: heard by the others on the channel")
async def broadcast(project):
    async with device(project) as one, device(project) as other:
        heard = asyncio.Queue()
        channels = []
        for client in (one, other):
            channel = client.channel("room1")
            channel.on_broadcast("shout", heard.put_nowait)
            joined = asyncio.Event()
            await channel.subscribe(lambda state, error, joined=joined: joined.set())
            await asyncio.wait_for(joined.wait(), SECONDS_MAX)
            channels.append(channel)
        await channels[0].send_broadcast("shout", {"a": 1})
        message = await asyncio.wait_for(heard.get(), SECONDS_MAX)
        equal((message["event"], message["payload"]), ("shout", {"a": 1}))
        assert heard.empty()


@call("presence: who is on the channel")
async def presence(project):
    async with device(project) as client:
        presence = {"key": "ann", "enabled": True}
        channel = client.channel("room1", {"config": {"presence": presence, "broadcast": None, "private": False}})
        synced = asyncio.Event()
        channel.on_presence_sync(synced.set)
        joined = asyncio.Event()
        await channel.subscribe(lambda state, error: joined.set())
        await asyncio.wait_for(joined.wait(), SECONDS_MAX)
        await channel.track({"busy": True})
        while not channel.presence_state():
            synced.clear()
            await asyncio.wait_for(synced.wait(), SECONDS_MAX)
        equal([one["busy"] for one in channel.presence_state()["ann"]], [True])
