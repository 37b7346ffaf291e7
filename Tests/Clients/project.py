"""A running stand-in, and clients of it."""

import itertools
import json
import subprocess
from pathlib import Path

import httpx
from supabase import ClientOptions, acreate_client, create_client
from supabase.lib.client_options import AsyncClientOptions

SCHEMA = Path(__file__).with_name("schema.json")
_numbers = itertools.count(1)


class Project:
    """`tidemark serve` on a free port for the length of a `with` block."""

    def __init__(self, program, *options):
        self.program = program
        self._command = [program, "serve", "--json", "--port", "0", *options]
        if not {"--schema", "--template", "--rest"} & set(options):
            self._command += ["--schema", str(SCHEMA)]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        # The first line says that it listens, and where.
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"'{' '.join(self._command)}' ended with {self._process.wait()}")
        ready = json.loads(line)
        self.url = ready["url"]
        self.key = ready["publishable_key"]
        self.service_key = ready["service_key"]
        self.http = httpx.Client(base_url=self.url, headers={"apikey": self.key}, timeout=30)
        return self

    def __exit__(self, *_):
        self.http.close()
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    # Clients

    def client(self, key=None):
        """A device with nobody signed in; it never refreshes by itself."""
        return create_client(self.url, key or self.key, ClientOptions(auto_refresh_token=False))

    async def async_client(self, key=None):
        """The same with `await`, which alone has Realtime."""
        return await acreate_client(self.url, key or self.key, AsyncClientOptions(auto_refresh_token=False))

    def anonymous(self):
        """A device with a new anonymous user."""
        client = self.client()
        client.auth.sign_in_anonymously()
        return client

    def signed_up(self, email=None, password="correct horse"):
        """A device with a new user who has a password."""
        client = self.client()
        client.auth.sign_up({"email": email or self.new_email(), "password": password})
        return client

    def service(self):
        """A client that sees every row."""
        return self.client(self.service_key)

    @staticmethod
    def new_email():
        return f"ann{next(_numbers)}@example.com"

    @staticmethod
    def new_id():
        """A number that no other row of this run has."""
        return next(_numbers)

    # The stand-in's own part

    def _administer(self, method, path, body=None):
        answer = self.http.request(method, "/stand-in/" + path, json=body, headers={"apikey": self.service_key})
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def faults(self, *faults):
        """Lays out misbehaviour for the next requests, in place of any that is left."""
        self._administer("PUT", "faults", list(faults))

    def faults_left(self):
        return self._administer("GET", "faults")

    def answer(self, status, body, content_type="application/json", headers=None, **scope):
        """Makes the next fitting request get this answer in place of the server's own."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.faults(
            {"kind": "answer", "status": status, "contentType": content_type, "body": text, "headers": headers or {}}
            | scope
        )

    def mail(self, email):
        """The last mail to an address: `token`, `token_hash`, `link`."""
        return [mail for mail in self._administer("GET", "mails") if mail["email"] == email][-1]

    def code(self, email):
        """The code of the last mail to an address."""
        return self.mail(email)["token"]

    def requests(self, path=None):
        """The requests that arrived, as (method, path, query, status); with `path`, those to it."""
        found = self._administer("GET", "requests")
        return [
            (one["method"], one["path"], one["query"], one["status"])
            for one in found
            if path is None or one["path"] == path
        ]
