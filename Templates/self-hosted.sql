-- What a Supabase project's database has before anybody makes a table, as far as the templates' schema.sql use it: for a
-- PostgreSQL of your own with a PostgREST in front (see the README, "Your own PostgreSQL"). Run it once as a superuser in
-- an empty database, then the template's schema.sql. It may be run again: nothing that is there is changed or removed.
--
-- PostgREST logs in as `authenticator`, which needs a password: alter role authenticator password '…'. Its settings:
--   db-uri = "postgres://authenticator:…@localhost/postgres"
--   db-schemas = "public"
--   db-anon-role = "anon"
--   db-pre-request = "auth.remember_user"
--   db-max-rows = 1000
--   jwt-secret = "…"

do $$
declare
  one text;
begin
  foreach one in array array['anon', 'authenticated', 'service_role', 'authenticator'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = one) then
      execute format('create role %I noinherit', one);
    end if;
  end loop;
end;
$$;

alter role authenticator login;
alter role service_role bypassrls;
grant anon, authenticated, service_role to authenticator;

create schema if not exists auth;
create schema if not exists storage;
create schema if not exists extensions;
grant usage on schema public, auth, storage, extensions to anon, authenticated, service_role;

create table if not exists auth.users (
  id uuid primary key,
  created_at timestamptz not null default now()
);

-- Who asks: the `sub` of the verified token, or null.
create or replace function auth.uid() returns uuid
language sql stable
set search_path = ''
as $$
  select (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid;
$$;

-- Notes the user of a token that PostgREST has verified, so that rows can belong to them: PostgREST calls it before each
-- request. Those that only read note nobody.
create or replace function auth.remember_user() returns void
language plpgsql security definer
set search_path = ''
as $$
begin
  if auth.uid() is not null and current_setting('transaction_read_only') = 'off' then
    insert into auth.users (id) values (auth.uid()) on conflict do nothing;
  end if;
end;
$$;

grant execute on function auth.remember_user() to anon, authenticated, service_role;

-- Where a project's Storage keeps its books. Nothing fills them here.
create table if not exists storage.buckets (
  id text primary key,
  name text not null unique,
  public boolean default false,
  file_size_limit bigint,
  allowed_mime_types text[]
);

create table if not exists storage.objects (
  id uuid primary key default gen_random_uuid(),
  bucket_id text references storage.buckets (id),
  name text,
  owner_id text,
  unique (bucket_id, name)
);

alter table storage.objects enable row level security;
grant select, insert, update, delete on storage.objects to anon, authenticated;

-- The folders of an object's path: {'a', 'b'} of a/b/c.jpg.
create or replace function storage.foldername(name text) returns text[]
language sql immutable
set search_path = ''
as $$
  select parts[1 : array_length(parts, 1) - 1] from string_to_array(name, '/') as parts;
$$;

do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
  end if;
end;
$$;
