"""Rows: reading, writing, calling functions, errors."""

from postgrest.exceptions import APIError

from .calls import call, equal, raises


def todo(project, title="a", **more):
    return {"id": project.new_id(), "title": title} | more


def device(project, *titles):
    """A new user's client with rows of these titles, and the rows."""
    client = project.anonymous()
    rows = []
    if titles:
        rows = client.table("todos").insert([todo(project, title) for title in titles]).execute().data
    return client, rows


def ids(answer):
    return [row["id"] for row in answer.data]


# Reading


@call("table.select('*')")
def select(project):
    client, rows = device(project, "a", "b")
    equal(client.table("todos").select("*").execute().data, rows)


@call("table.select(columns, embedded).eq().order().limit()")
def select_embedded(project):
    client, (row,) = device(project, "a")
    item = {"id": project.new_id(), "todo_id": row["id"]}
    client.table("items").insert(item).execute()
    found = (
        client.table("todos").select('id, title, items(id, "odd name")').eq("done", False).order("id", desc=True)
        .limit(10).execute()
    )
    equal(found.data, [{"id": row["id"], "title": "a", "items": [{"id": item["id"], "odd name": "odd"}]}])


@call("table.select(count='exact').range(0, 9)")
def select_count(project):
    client, rows = device(project, "a", "b", "c")
    found = client.table("todos").select("*", count="exact").range(0, 1).execute()
    equal((found.data, found.count), (rows[:2], 3))


@call("table.select(count='planned', head=True)")
def select_head(project):
    client, _ = device(project, "a", "b")
    found = client.table("todos").select("*", count="planned", head=True).execute()
    assert found.data == [] and found.count is not None


@call("table.select().single()")
def single(project):
    client, (row,) = device(project, "a")
    equal(client.table("todos").select("*").eq("id", row["id"]).single().execute().data, row)


@call("table.select().single(), no row")
def single_none(project):
    client, _ = device(project)
    with raises(APIError, code="PGRST116", details="The result contains 0 rows"):
        client.table("todos").select("*").eq("id", 0).single().execute()


@call("table.select().maybe_single()")
def maybe_single(project):
    client, (row, _) = device(project, "a", "b")
    found = client.table("todos").select("*").eq("id", row["id"]).maybe_single().execute()
    equal(found.data, row)
    assert client.table("todos").select("*").eq("id", 0).maybe_single().execute() is None
    with raises(APIError, code="406"):
        client.table("todos").select("*").maybe_single().execute()


@call("table.select().csv()")
def csv(project):
    client, (one, two) = device(project, "a", 'b "quoted", and more')
    text = client.table("todos").select("id,title").csv().execute().data
    equal(text, f'id,title\n{one["id"]},a\n{two["id"]},"b ""quoted"", and more"')


ODD = ["a,b", 'c"d', "plain", "x(y)", "a+b", "100%", "ünï 漢字 🎉", "", " ", "a\\b", "a&b=c", "*", "null", "a:b", "{a}"]


@call("table.select().in_().contains().or_(), with odd values")
def filter_lists(project):
    client = project.anonymous()
    table = lambda: client.table("todos")
    rows = table().insert([todo(project, title, tags=["t 1", "t2", title]) for title in ODD]).execute().data
    titles = ["a,b", 'c"d', "plain", "x(y)"]
    found = (
        table().select("*").in_("title", titles).contains("tags", ["t 1", "t2"]).or_("done.eq.true,title.like.*x*")
        .execute()
    )
    equal(ids(found), [row["id"] for row in rows if row["title"] == "x(y)"])
    # Each value finds its own row and no other.
    for row in rows:
        equal(ids(table().select("id").eq("title", row["title"]).execute()), [row["id"]])
        equal(ids(table().select("id").contains("tags", [row["title"]]).execute()), [row["id"]])
    everything = [row["id"] for row in rows if row["title"] != ""]
    equal(sorted(ids(table().select("id").in_("title", [title for title in ODD if title]).execute())), everything)


@call("table.select().contains(json).is_().not_.eq().gt()")
def filter_kinds(project):
    client = project.anonymous()
    table = lambda: client.table("todos")
    one, two, _ = table().insert(
        [todo(project, "a", meta={"k": 1, "l": 2}), todo(project, "b", meta={"k": 1}), todo(project, "c")],
        default_to_null=False,
    ).execute().data
    found = (
        table().select("*").contains("meta", {"k": 1}).is_("deleted_at", None).not_.eq("id", two["id"])
        .gt("updated_at", "2026-01-02T03:04:05.123456+00:00").execute()
    )
    equal(ids(found), [one["id"]])


@call("table.select().text_search(): the stand-in has none, and says so")
def text_search(project):
    client, _ = device(project, "a")
    with raises(APIError, code="0A000", message="The stand-in server does not do full-text search."):
        client.table("todos").select("*").text_search("title", "a b", {"type": "plain", "config": "english"}).execute()


@call("schema('public').table().select(); schema('private') is not there")
def schema(project):
    client, (row,) = device(project, "a")
    equal(client.schema("public").table("todos").select("*").execute().data, [row])
    with raises(APIError, code="PGRST106"):
        client.schema("private").table("todos").select("*").execute()


# Writing


@call("table.insert(row)")
def insert(project):
    client, _ = device(project)
    [row] = client.table("todos").insert(todo(project, "a")).execute().data
    equal((row["title"], row["done"], row["version"]), ("a", False, 1))
    equal(row["owner"], client.auth.get_session().user.id)


@call("table.insert(rows)")
def insert_many(project):
    client, _ = device(project)
    rows = [todo(project, "a"), todo(project, "b")]
    equal([row["title"] for row in client.table("todos").insert(rows).execute().data], ["a", "b"])


@call("table.insert(rows, returning='minimal', count='exact', default_to_null=False)")
def insert_minimal(project):
    client, _ = device(project)
    found = client.table("todos").insert(
        [todo(project)], returning="minimal", count="exact", default_to_null=False
    ).execute()
    equal((found.data, found.count), ([], 1))


@call("table.insert(rows of unequal keys): nulls, or defaults with default_to_null=False")
def insert_unequal(project):
    client, _ = device(project)
    rows = [todo(project, version=7), todo(project)]
    found = client.table("todos").insert(rows).execute().data
    equal([row["version"] for row in found], [7, None])
    rows = [todo(project, version=7), todo(project)]
    found = client.table("todos").insert(rows, default_to_null=False).execute().data
    equal([row["version"] for row in found], [7, 1])


@call("table.insert(row), the key exists")
def insert_existing(project):
    client, (row,) = device(project, "a")
    with raises(APIError, code="23505"):
        client.table("todos").insert({"id": row["id"], "title": "b"}).execute()


@call("table.upsert(row), twice")
def upsert(project):
    client, _ = device(project)
    row = todo(project, "a")
    equal(client.table("todos").upsert(row).execute().data[0]["title"], "a")
    equal(client.table("todos").upsert(row | {"title": "b"}).execute().data[0]["title"], "b")
    equal([found["title"] for found in client.table("todos").select("*").execute().data], ["b"])
    statuses = [status for method, _, _, status in project.requests("/rest/v1/todos") if method == "POST"][-2:]
    equal(statuses, [201, 200])


@call("table.upsert(rows, on_conflict='owner,id', default_to_null=False, count='exact')")
def upsert_on_conflict(project):
    client, (row,) = device(project, "a")
    owner = client.auth.get_session().user.id
    found = client.table("todos").upsert(
        [{"owner": owner, "id": row["id"], "title": "b"}, {"owner": owner} | todo(project, "c")],
        on_conflict="owner,id", default_to_null=False, count="exact",
    ).execute()
    equal(([row["title"] for row in found.data], found.count), (["b", "c"], 2))


@call("table.upsert(rows, ignore_duplicates=True)")
def upsert_ignoring(project):
    client, (row,) = device(project, "a")
    equal(client.table("todos").upsert({"id": row["id"], "title": "b"}, ignore_duplicates=True).execute().data, [])
    new = todo(project, "c")
    found = client.table("todos").upsert([{"id": row["id"], "title": "b"}, new], ignore_duplicates=True).execute()
    equal(ids(found), [new["id"]])
    equal([row["title"] for row in client.table("todos").select("*").order("id").execute().data], ["a", "c"])


@call("table.upsert(row, returning='minimal')")
def upsert_minimal(project):
    client, _ = device(project)
    equal(client.table("todos").upsert(todo(project), returning="minimal").execute().data, [])


@call("table.update().eq(), whole and minimal")
def update(project):
    client, (row, other) = device(project, "a", "other")
    found = client.table("todos").update({"title": "b"}).eq("id", row["id"]).execute()
    equal([row["title"] for row in found.data], ["b"])
    equal(client.table("todos").update({"title": "c"}, returning="minimal").eq("id", row["id"]).execute().data, [])
    titles = [row["title"] for row in client.table("todos").select("*").order("id").execute().data]
    equal(titles, ["c", "other"])


@call("table.update().eq(id).eq(version), twice")
def update_guarded(project):
    client, (row,) = device(project, "a")
    change = lambda: client.table("todos").update({"version": 2}).eq("id", row["id"]).eq("version", 1).execute()
    equal(len(change().data), 1)
    equal(change().data, [])


@call("table.delete().eq(); .max_affected()")
def delete(project):
    client, rows = device(project, "a", "b", "c")
    equal(ids(client.table("todos").delete().eq("id", rows[0]["id"]).execute()), [rows[0]["id"]])
    remaining = [row["id"] for row in rows[1:]]
    with raises(APIError, code="PGRST124"):
        client.table("todos").delete().in_("id", remaining).max_affected(1).execute()
    equal(sorted(ids(client.table("todos").delete().in_("id", remaining).max_affected(2).execute())), remaining)


# Functions


@call("rpc('add', {…})")
def rpc(project):
    equal(project.anonymous().rpc("add", {"a": 1, "b": 2}).execute().data, 3)


@call("rpc('add_all', {…}, get=True)")
def rpc_get(project):
    equal(project.anonymous().rpc("add_all", {"a": 1, "b": [1, 2]}, get=True).execute().data, 4)


@call("rpc('touch'), which gives nothing")
def rpc_void(project):
    project.anonymous().rpc("touch").execute()
    equal(project.requests("/rest/v1/rpc/touch")[-1][3], 204)


# Trouble on the way


@call("select on 503: asked again")
def retried(project):
    client, rows = device(project, "a")
    project.faults({"kind": "unavailable", "retryAfter": 1})
    equal(client.table("todos").select("*").execute().data, rows)
    equal([status for *_, status in project.requests("/rest/v1/todos")][-2:], [503, 200])


@call("insert on 503: not asked again")
def not_retried(project):
    client, _ = device(project)
    project.faults({"kind": "unavailable", "retryAfter": 1})
    with raises(APIError, code="PGRST001"):
        client.table("todos").insert(todo(project)).execute()
    equal(client.table("todos").select("*").execute().data, [])


@call("select with an expired token: no refresh")
def expired(project):
    client, _ = device(project)
    project.faults({"kind": "expiredToken"})
    with raises(APIError, code="PGRST303"):
        client.table("todos").select("*").execute()


@call("select after sign-out")
def after_sign_out(project):
    client, _ = device(project, "a")
    client.auth.sign_out()
    equal(client.table("todos").select("*").execute().data, [])


@call("select with a publishable key, and with a secret one")
def keys(project):
    _, (row,) = device(project, "a")
    equal(project.client().table("todos").select("*").execute().data, [])
    assert row["id"] in ids(project.service().table("todos").select("id").order("id", desc=True).execute())


@call("select, the connection is dropped: asked again")
def dropped(project):
    client, rows = device(project, "a")
    project.faults({"kind": "dropBefore", "path": "/rest"})
    equal(client.table("todos").select("*").execute().data, rows)


@call("insert on 520, dropped before, dropped after: an upsert of the same key leaves one row")
def repeated_by_hand(project):
    for fault in [{"kind": "proxy520"}, {"kind": "dropBefore"}, {"kind": "dropAfter"}]:
        client, _ = device(project)
        row = todo(project, "a")
        project.faults(fault)
        try:
            client.table("todos").insert(row).execute()
            raise AssertionError(f"{fault} was not met")
        except AssertionError:
            raise
        except Exception:
            client.table("todos").upsert(row).execute()
        equal(ids(client.table("todos").select("*").execute()), [row["id"]])


# Rights, limits, errors


@call("rows of others: unseen, unchanged, not to be made")
def policies(project):
    owner, (row,) = device(project, "a")
    other, _ = device(project)
    equal(other.table("todos").select("*").execute().data, [])
    equal(other.table("todos").update({"title": "b"}).eq("id", row["id"]).execute().data, [])
    equal(other.table("todos").delete().eq("id", row["id"]).execute().data, [])
    with raises(APIError, code="42501"):
        other.table("todos").insert(todo(project, owner=owner.auth.get_session().user.id)).execute()
    equal(project.requests("/rest/v1/todos")[-1][3], 403)
    with raises(APIError, code="42501"):
        project.client().table("todos").insert(todo(project, owner=owner.auth.get_session().user.id)).execute()
    equal(project.requests("/rest/v1/todos")[-1][3], 401)
    equal(owner.table("todos").select("*").execute().data, [row])


@call("2,500 rows: the limit of an answer, paging by key, the exact count")
def paging(project):
    client, _ = device(project)
    rows = [todo(project, "x") for _ in range(2_500)]
    client.table("todos").insert(rows, returning="minimal").execute()
    equal(len(client.table("todos").select("id").execute().data), 1_000)
    counted = client.table("todos").select("id", count="exact").execute()
    equal((len(counted.data), counted.count), (1_000, 2_500))
    equal(project.requests("/rest/v1/todos")[-1][3], 206)
    seen, last = [], 0
    while page := ids(client.table("todos").select("id").gt("id", last).order("id").execute()):
        seen += page
        last = page[-1]
    equal(seen, [row["id"] for row in rows])


@call("range() beyond the end, without and with a count")
def beyond_the_end(project):
    client, _ = device(project, "a")
    equal(client.table("todos").select("*").range(5, 9).execute().data, [])
    with raises(APIError, code="PGRST103"):
        client.table("todos").select("*", count="exact").range(5, 9).execute()


@call("unknown table, column and function")
def unknown_names(project):
    client, _ = device(project)
    with raises(APIError, code="PGRST205"):
        client.table("todo").select("*").execute()
    with raises(APIError, code="42703"):
        client.table("todos").select("titel").execute()
    with raises(APIError, code="PGRST204"):
        client.table("todos").insert(todo(project) | {"titel": "a"}).execute()
    with raises(APIError, code="PGRST202"):
        client.rpc("subtract", {"a": 1}).execute()


@call("NOT NULL, CHECK, foreign keys, bad values")
def constraints(project):
    client, _ = device(project)
    with raises(APIError, code="23502"):
        client.table("todos").insert({"title": "a"}).execute()
    with raises(APIError, code="23514"):
        client.table("todos").insert(todo(project, "x" * 201)).execute()
    with raises(APIError, code="23503"):
        client.table("items").insert({"id": project.new_id(), "todo_id": 0}).execute()
    with raises(APIError, code="22P02"):
        client.table("todos").select("*").eq("id", "x").execute()
