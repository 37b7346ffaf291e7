"""Storage: buckets, objects, lists, signed URLs, resumable uploads."""

import io
import struct
import zlib

import httpx
from storage3.exceptions import StorageApiError
from tusclient.client import TusClient

from .calls import call, equal, raises

# Every byte that a key may have.
ODD_KEY = "odd/aZ09_!.*'() &$@=;:+,?-"


def bucket(client):
    # Made anew for each call: the client throws it away whenever the session changes.
    return client.storage.from_("notes")


def device(project, *keys):
    """A new user's client, with objects of these keys in a folder of their own, and the folder."""
    if not any(one.id == "notes" for one in project.service().storage.list_buckets()):
        project.service().storage.create_bucket("notes")
    client = project.anonymous()
    folder = f"f{project.new_id()}"
    for key in keys:
        bucket(client).upload(f"{folder}/{key}", key.encode(), {"content-type": "text/plain"})
    return client, folder


def refused(status, error):
    # What the client calls `code` is the older name, `error`.
    return raises(StorageApiError, status=status, code=error)


def png(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def size_of_png(data):
    return struct.unpack(">II", data[16:24])


# Buckets


@call("storage.create_bucket, list_buckets, get_bucket, update_bucket, empty_bucket, delete_bucket")
def buckets(project):
    storage = project.service().storage
    name = f"b{project.new_id()}"
    options = {"public": False, "file_size_limit": 1048576, "allowed_mime_types": ["text/plain"]}
    equal(storage.create_bucket(name, options=options)["name"], name)
    assert name in [one.id for one in storage.list_buckets()]
    found = storage.get_bucket(name)
    equal((found.public, found.file_size_limit, found.allowed_mime_types), (False, 1048576, ["text/plain"]))
    storage.update_bucket(name, {"public": True})
    assert storage.get_bucket(name).public
    storage.from_(name).upload("a", b"x", {"content-type": "text/plain"})
    with refused("409", "ResourceNotEmpty"):
        storage.delete_bucket(name)
    storage.empty_bucket(name)
    storage.delete_bucket(name)
    with refused("404", "Bucket not found"):
        storage.get_bucket(name)


@call("storage.list_buckets() and create_bucket() of an ordinary user")
def buckets_of_a_user(project):
    client = project.anonymous()
    equal(client.storage.list_buckets(), [])
    with refused("403", "Unauthorized"):
        client.storage.create_bucket("mine")


# Objects


@call("bucket.upload, download, info")
def upload(project):
    client, folder = device(project)
    options = {"content-type": "text/plain", "cache-control": "3600", "upsert": "false"}
    answer = bucket(client).upload(f"{folder}/b c.txt", b"hello", options)
    equal((answer.path, answer.full_path), (f"{folder}/b c.txt", f"notes/{folder}/b c.txt"))
    equal(bucket(client).download(f"{folder}/b c.txt"), b"hello")
    info = bucket(client).info(f"{folder}/b c.txt")
    equal((info["size"], info["content_type"], info["cache_control"]), (5, "text/plain", "max-age=3600"))


@call("bucket.upload(bytes) with defaults, and every allowed character")
def upload_defaults(project):
    client, folder = device(project)
    bucket(client).upload(f"{folder}/{ODD_KEY}", bytes(range(256)))
    equal(bucket(client).download(f"{folder}/{ODD_KEY}"), bytes(range(256)))
    equal(bucket(client).info(f"{folder}/{ODD_KEY}")["content_type"], "text/plain;charset=UTF-8")
    with refused("400", "InvalidKey"):
        bucket(client).upload(f"{folder}/Küche.jpg", b"x")


@call("bucket.upload(metadata, upsert)")
def upload_metadata(project):
    client, folder = device(project, "a")
    before = bucket(client).info(f"{folder}/a")
    bucket(client).upload(f"{folder}/a", b"hi", {"upsert": "true", "metadata": {"k": "v"}})
    after = bucket(client).info(f"{folder}/a")
    equal(after["metadata"], {"k": "v"})
    assert before["etag"] != after["etag"] and before["version"] != after["version"]
    equal(before["id"], after["id"])


@call("bucket.upload of a key that is taken")
def upload_duplicate(project):
    client, folder = device(project, "a")
    with refused("409", "Duplicate"):
        bucket(client).upload(f"{folder}/a", b"hi")


@call("bucket.update")
def update(project):
    client, folder = device(project, "a")
    bucket(client).update(f"{folder}/a", b"hi2", {"content-type": "application/octet-stream"})
    equal(bucket(client).download(f"{folder}/a"), b"hi2")


@call("bucket.download of a missing key")
def download_missing(project):
    client, folder = device(project)
    with refused("404", "not_found"):
        bucket(client).download(f"{folder}/zz")


@call("bucket.download(transform)")
def download_transform(project):
    client, folder = device(project)
    bucket(client).upload(f"{folder}/p.png", png(400, 100), {"content-type": "image/png"})
    options = {"transform": {"width": 100, "height": 50, "resize": "cover", "quality": 80}}
    equal(size_of_png(bucket(client).download(f"{folder}/p.png", options)), (100, 50))
    options["transform"]["resize"] = "contain"
    equal(size_of_png(bucket(client).download(f"{folder}/p.png", options)), (100, 25))


@call("bucket.exists")
def exists(project):
    client, folder = device(project, "a")
    equal((bucket(client).exists(f"{folder}/a"), bucket(client).exists(f"{folder}/zz")), (True, False))
    with refused("404", "Bucket not found"):
        client.storage.from_("nowhere").exists("a")


@call("bucket.move, bucket.copy, bucket.remove")
def transfer(project):
    client, folder = device(project, "a.bin")
    id = bucket(client).info(f"{folder}/a.bin")["id"]
    bucket(client).move(f"{folder}/a.bin", f"{folder}/c/d.bin")
    equal(bucket(client).info(f"{folder}/c/d.bin")["id"], id)
    bucket(client).copy(f"{folder}/c/d.bin", f"{folder}/e.bin")
    equal(bucket(client).download(f"{folder}/e.bin"), b"a.bin")
    removed = bucket(client).remove([f"{folder}/e.bin", "no such"])
    equal([one["name"] for one in removed], [f"{folder}/e.bin"])
    equal(bucket(client).exists(f"{folder}/e.bin"), False)
    equal(bucket(client).exists(f"{folder}/c/d.bin"), True)


# Lists


@call("bucket.list")
def lists(project):
    client, folder = device(project, "b1", "b2", "c", "d/x")
    options = {"limit": 2, "offset": 0, "sortBy": {"column": "updated_at", "order": "desc"}, "search": "b"}
    equal([one["name"] for one in bucket(client).list(folder, options)], ["b2", "b1"])
    found = bucket(client).list(folder)
    equal([one["name"] for one in found], ["b1", "b2", "c", "d"])
    equal((found[0]["metadata"]["size"], found[3]["id"]), (2, None))
    assert folder in [one["name"] for one in bucket(client).list(options={"limit": 1000})]


@call("bucket.list_v2")
def lists_v2(project):
    client, folder = device(project, "1", "2", "3", "x/4")
    first = bucket(client).list_v2({"prefix": f"{folder}/", "with_delimiter": True, "limit": 2})
    equal(([one.name for one in first.objects], first.hasNext), ([f"{folder}/1", f"{folder}/2"], True))
    options = {"prefix": f"{folder}/", "with_delimiter": True, "limit": 2, "cursor": first.nextCursor}
    second = bucket(client).list_v2(options)
    equal(([one.name for one in second.objects], second.hasNext), ([f"{folder}/3"], False))
    equal([one.name for one in second.folders], [f"{folder}/x/"])


# URLs


@call("bucket.create_signed_url, opened by anybody")
def signed_url(project):
    client, folder = device(project, "b c.txt")
    answer = bucket(client).create_signed_url(f"{folder}/b c.txt", 60, {"download": "out.txt"})
    got = httpx.get(answer["signedURL"])
    equal((got.status_code, got.content), (200, b"b c.txt"))
    equal(got.headers["content-disposition"], 'attachment; filename="out.txt";')
    other = httpx.get(answer["signedURL"].replace("b%20c.txt", "d"))
    equal((other.status_code, other.json()["code"]), (400, "InvalidSignature"))


@call("bucket.create_signed_url after it expired")
def signed_url_expired(project):
    client, folder = device(project, "a")
    url = bucket(client).create_signed_url(f"{folder}/a", 1)["signedURL"]
    while (got := httpx.get(url)).status_code == 200:
        pass
    equal((got.status_code, got.json()["code"]), (400, "InvalidJWT"))


@call("bucket.create_signed_urls")
def signed_urls(project):
    client, folder = device(project, "a")
    first, second = bucket(client).create_signed_urls([f"{folder}/a", "zz"], 60)
    equal(httpx.get(first["signedURL"]).content, b"a")
    assert second["error"]


@call("bucket.create_signed_upload_url, upload_to_signed_url, twice")
def signed_upload(project):
    client, folder = device(project)
    path = f"{folder}/up/x y.bin"
    answer = bucket(client).create_signed_upload_url(path)
    options = {"content-type": "application/octet-stream"}
    bucket(client).upload_to_signed_url(path, answer["token"], b"hi", options)
    equal(bucket(client).download(path), b"hi")
    with refused("409", "Duplicate"):
        bucket(client).upload_to_signed_url(path, answer["token"], b"hi", options)


@call("bucket.get_public_url, opened by anybody")
def public_url(project):
    storage = project.service().storage
    name = f"b{project.new_id()}"
    storage.create_bucket(name, options={"public": True})
    storage.from_(name).upload("a/b c.txt", b"hello")
    equal(httpx.get(storage.from_(name).get_public_url("a/b c.txt")).content, b"hello")


# Rights, limits, conditions


@call("an object of another user's folder")
def policy(project):
    storage = project.service().storage
    if not any(one.id == "owned" for one in storage.list_buckets()):
        storage.create_bucket("owned")
    ann, bob = project.anonymous(), project.anonymous()
    path = f"{ann.auth.get_user().user.id}/a"
    ann.storage.from_("owned").upload(path, b"x")
    with refused("404", "not_found"):
        bob.storage.from_("owned").download(path)
    with refused("403", "Unauthorized"):
        bob.storage.from_("owned").upload(path, b"y", {"upsert": "true"})
    equal(bob.storage.from_("owned").remove([path]), [])
    equal(ann.storage.from_("owned").download(path), b"x")


@call("a bucket's limits of size and type")
def limits(project):
    storage = project.service().storage
    name = f"b{project.new_id()}"
    storage.create_bucket(name, options={"file_size_limit": 10, "allowed_mime_types": ["text/*"]})
    with refused("413", "Payload too large"):
        storage.from_(name).upload("a", b"0123456789A")
    with refused("415", "invalid_mime_type"):
        storage.from_(name).upload("a", b"x", {"content-type": "image/png"})


@call("Range and If-None-Match")
def conditions(project):
    client, folder = device(project, "hello")
    url = f"/storage/v1/object/notes/{folder}/hello"
    headers = {"Authorization": f"Bearer {client.auth.get_session().access_token}"}
    part = project.http.get(url, headers=headers | {"Range": "bytes=1-2"})
    equal((part.status_code, part.content, part.headers["content-range"]), (206, b"el", "bytes 1-2/5"))
    tag = project.http.get(url, headers=headers).headers["etag"]
    equal(project.http.get(url, headers=headers | {"If-None-Match": tag}).status_code, 304)


# Resumable uploads


def tus(project, client):
    token = client.auth.get_session().access_token
    headers = {"Authorization": f"Bearer {token}", "apikey": project.key, "x-upsert": "true"}
    return TusClient(f"{project.url}/storage/v1/upload/resumable", headers=headers)


@call("tuspy: upload in pieces, and not an object before the end")
def resumable(project):
    client, folder = device(project)
    metadata = {
        "bucketName": "notes", "objectName": f"{folder}/x y.bin", "contentType": "application/octet-stream",
        "cacheControl": "3600", "metadata": '{"k": "v"}',
    }
    uploader = tus(project, client).uploader(file_stream=io.BytesIO(b"A" * 10), chunk_size=6, metadata=metadata)
    uploader.upload_chunk()
    equal(bucket(client).exists(f"{folder}/x y.bin"), False)
    uploader.upload()
    equal(bucket(client).download(f"{folder}/x y.bin"), b"A" * 10)
    equal(bucket(client).info(f"{folder}/x y.bin")["metadata"], {"k": "v"})


@call("tuspy: go on with an upload by its kept address")
def resumed(project):
    client, folder = device(project)
    metadata = {"bucketName": "notes", "objectName": f"{folder}/r"}
    first = tus(project, client).uploader(file_stream=io.BytesIO(b"0123456789"), chunk_size=6, metadata=metadata)
    first.upload_chunk()
    second = tus(project, client).uploader(file_stream=io.BytesIO(b"0123456789"), chunk_size=6, url=first.url)
    equal(second.offset, 6)
    second.upload()
    equal(bucket(client).download(f"{folder}/r"), b"0123456789")


@call("a wrong Upload-Offset")
def wrong_offset(project):
    client, folder = device(project)
    metadata = {"bucketName": "notes", "objectName": f"{folder}/w"}
    uploader = tus(project, client).uploader(file_stream=io.BytesIO(b"0123456789"), chunk_size=6, metadata=metadata)
    uploader.upload_chunk()
    headers = uploader.client.headers | {
        "Tus-Resumable": "1.0.0", "Upload-Offset": "3", "Content-Type": "application/offset+octet-stream",
    }
    answer = httpx.patch(uploader.url, headers=headers, content=b"x")
    equal((answer.status_code, answer.text), (409, "Upload-Offset conflict"))
