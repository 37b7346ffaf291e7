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
