-- Tables for the workspace template tasks-and-photos. Run it once in the SQL editor of your Supabase project (or with
-- psql). It may be run again: nothing that is there is changed or removed, except that functions, triggers and policies
-- are made anew.

create table if not exists public.tasks (
  -- The device makes the key, so that a task written without a connection keeps it.
  id uuid primary key default gen_random_uuid(),
  title text not null,
  notes text,
  done boolean not null default false,
  -- The device's time, sent with the insert.
  created_at timestamptz not null default now(),
  -- The version that edits are guarded by, and the cursor of pulls. The trigger below moves it.
  updated_at timestamptz not null default clock_timestamp(),
  user_id uuid not null default auth.uid() references auth.users (id) on delete cascade,
  constraint tasks_title_not_blank check (btrim(title, E' \t\r\n') <> '')
);

-- Pulls page by (updated_at, id); policies compare user_id.
create index if not exists tasks_updated_at_id on public.tasks (updated_at, id);
create index if not exists tasks_user_id on public.tasks (user_id);

-- Every write moves updated_at, whatever the client sent. clock_timestamp() is the time of the statement and not of the
-- transaction's start, and the step of a microsecond keeps two writes in one instant apart: a version never comes twice
-- for a row.
create or replace function public.tidemark_touch() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    new.updated_at := clock_timestamp();
  else
    new.updated_at := greatest(clock_timestamp(), old.updated_at + interval '1 microsecond');
  end if;
  return new;
end;
$$;

create or replace trigger tasks_touch
before insert or update on public.tasks
for each row execute function public.tidemark_touch();

-- A task belongs to who made it. (select auth.uid()) is computed once a statement, not once a row.
alter table public.tasks enable row level security;

drop policy if exists "tasks: owner reads" on public.tasks;
create policy "tasks: owner reads" on public.tasks
for select to authenticated using (user_id = (select auth.uid()));

drop policy if exists "tasks: owner adds" on public.tasks;
create policy "tasks: owner adds" on public.tasks
for insert to authenticated with check (user_id = (select auth.uid()));

drop policy if exists "tasks: owner changes" on public.tasks;
create policy "tasks: owner changes" on public.tasks
for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

drop policy if exists "tasks: owner deletes" on public.tasks;
create policy "tasks: owner deletes" on public.tasks
for delete to authenticated using (user_id = (select auth.uid()));

-- Newer projects grant nothing by themselves.
grant select, insert, update, delete on public.tasks to authenticated;

-- Photos -----------------------------------------------------------------------------------------------------------------

create table if not exists public.task_photos (
  id uuid primary key default gen_random_uuid(),
  task_id uuid not null references public.tasks (id) on delete cascade,
  user_id uuid not null default auth.uid() references auth.users (id) on delete cascade,
  -- Where the photo lies in the bucket `photos`: user's id, then the photo's id, and behind that a mark where the picture was
  -- replaced. A key never gets other bytes; renaming a photo, or moving it to another task, leaves it as it is.
  object_path text not null unique,
  -- What the file is called in the folder of its task.
  name text not null,
  content_type text,
  size_bytes bigint,
  -- In pixels.
  width integer,
  height integer,
  taken_at timestamptz,
  -- Of the file's bytes, in hexadecimal.
  sha256 text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint task_photos_name_not_blank check (btrim(name, E' \t\r\n') <> '')
);

create index if not exists task_photos_updated_at_id on public.task_photos (updated_at, id);
create index if not exists task_photos_user_id on public.task_photos (user_id);
create index if not exists task_photos_task_id on public.task_photos (task_id);

create or replace trigger task_photos_touch
before insert or update on public.task_photos
for each row execute function public.tidemark_touch();

-- A photo belongs to who made it, and hangs on a task of their own.
alter table public.task_photos enable row level security;

drop policy if exists "task_photos: owner reads" on public.task_photos;
create policy "task_photos: owner reads" on public.task_photos
for select to authenticated using (user_id = (select auth.uid()));

drop policy if exists "task_photos: owner adds" on public.task_photos;
create policy "task_photos: owner adds" on public.task_photos
for insert to authenticated with check (
  user_id = (select auth.uid())
  and exists (select from public.tasks where tasks.id = task_id and tasks.user_id = (select auth.uid()))
);

drop policy if exists "task_photos: owner changes" on public.task_photos;
create policy "task_photos: owner changes" on public.task_photos
for update to authenticated using (user_id = (select auth.uid())) with check (
  user_id = (select auth.uid())
  and exists (select from public.tasks where tasks.id = task_id and tasks.user_id = (select auth.uid()))
);

drop policy if exists "task_photos: owner deletes" on public.task_photos;
create policy "task_photos: owner deletes" on public.task_photos
for delete to authenticated using (user_id = (select auth.uid()));

grant select, insert, update, delete on public.task_photos to authenticated;

-- The bucket of the files: private, images only, at most 50 MiB each. A bucket that is there keeps its own limits.
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values (
  'photos', 'photos', false, 52428800,
  array['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic', 'image/heif', 'image/avif']
)
on conflict (id) do nothing;

-- Whoever is signed in may see what the bucket takes, so that a file that is too large is not sent in vain.
drop policy if exists "photos: users see the bucket" on storage.buckets;
create policy "photos: users see the bucket" on storage.buckets
for select to authenticated using (id = 'photos');

-- A user has the folder of the bucket that is named by their id.
drop policy if exists "photos: owner reads" on storage.objects;
create policy "photos: owner reads" on storage.objects
for select to authenticated
using (bucket_id = 'photos' and (storage.foldername(name))[1] = (select auth.uid())::text);

drop policy if exists "photos: owner adds" on storage.objects;
create policy "photos: owner adds" on storage.objects
for insert to authenticated
with check (bucket_id = 'photos' and (storage.foldername(name))[1] = (select auth.uid())::text);

drop policy if exists "photos: owner changes" on storage.objects;
create policy "photos: owner changes" on storage.objects
for update to authenticated
using (bucket_id = 'photos' and (storage.foldername(name))[1] = (select auth.uid())::text)
with check (bucket_id = 'photos' and (storage.foldername(name))[1] = (select auth.uid())::text);

drop policy if exists "photos: owner deletes" on storage.objects;
create policy "photos: owner deletes" on storage.objects
for delete to authenticated
using (bucket_id = 'photos' and (storage.foldername(name))[1] = (select auth.uid())::text);

-- Functions --------------------------------------------------------------------------------------------------------------

-- Marks every open task of the caller as done, and says how many that were. With the caller's rights: policies hold.
create or replace function public.complete_all_tasks() returns integer
language sql volatile
set search_path = ''
as $$
  with changed as (update public.tasks set done = true where not done returning 1)
  select count(*)::integer from changed;
$$;

-- How many tasks the caller has, and how many of them are done; with a time, only those that changed since.
create or replace function public.tasks_done_count(since timestamptz default null) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object('total', count(*), 'done', count(*) filter (where done))
  from public.tasks where since is null or updated_at >= since;
$$;

revoke execute on function public.complete_all_tasks() from public, anon;
revoke execute on function public.tasks_done_count(timestamptz) from public, anon;
grant execute on function public.complete_all_tasks() to authenticated;
grant execute on function public.tasks_done_count(timestamptz) to authenticated;

-- Live changes -----------------------------------------------------------------------------------------------------------

-- What the project sends over Realtime. A project without that publication has Realtime switched off.
do $$
declare
  one text;
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime' and not puballtables) then
    return;
  end if;
  foreach one in array array['tasks', 'task_photos'] loop
    if not exists (
      select from pg_catalog.pg_publication_tables
      where pubname = 'supabase_realtime' and schemaname = 'public' and tablename = one
    ) then
      execute format('alter publication supabase_realtime add table public.%I', one);
    end if;
  end loop;
end;
$$;
