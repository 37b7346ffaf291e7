-- Tables for the workspace template contacts. Run it once in the SQL editor of your Supabase project (or with psql). It may
-- be run again: nothing that is there is changed or removed, except that functions, triggers and policies are made anew.

create table if not exists public.companies (
  -- The device makes the key, so that a row written without a connection keeps it.
  id uuid primary key default gen_random_uuid(),
  name text not null,
  website text,
  -- In per cent.
  discount numeric,
  -- The device's time, sent with the insert.
  created_at timestamptz not null default now(),
  -- The version that edits are guarded by, and the cursor of pulls. The trigger below moves it.
  updated_at timestamptz not null default clock_timestamp(),
  user_id uuid not null default auth.uid() references auth.users (id) on delete cascade,
  constraint companies_name_not_blank check (btrim(name, E' \t\r\n') <> ''),
  constraint companies_discount_is_a_percentage check (discount between 0 and 100)
);

create table if not exists public.people (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  company_id uuid references public.companies (id) on delete set null,
  email text,
  phone text,
  birthday date,
  notes text,
  -- Set it to true to have the person's file leave every workspace, without losing the row.
  archived boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  user_id uuid not null default auth.uid() references auth.users (id) on delete cascade,
  constraint people_name_not_blank check (btrim(name, E' \t\r\n') <> '')
);

-- Pulls page by (updated_at, id); policies compare user_id; deleting a company looks for its people.
create index if not exists companies_updated_at_id on public.companies (updated_at, id);
create index if not exists companies_user_id on public.companies (user_id);
create index if not exists people_updated_at_id on public.people (updated_at, id);
create index if not exists people_user_id on public.people (user_id);
create index if not exists people_company_id on public.people (company_id);

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

create or replace trigger companies_touch
before insert or update on public.companies
for each row execute function public.tidemark_touch();

create or replace trigger people_touch
before insert or update on public.people
for each row execute function public.tidemark_touch();

-- A row belongs to who made it. (select auth.uid()) is computed once a statement, not once a row.
alter table public.companies enable row level security;
alter table public.people enable row level security;

drop policy if exists "companies: owner reads" on public.companies;
create policy "companies: owner reads" on public.companies
for select to authenticated using (user_id = (select auth.uid()));

drop policy if exists "companies: owner adds" on public.companies;
create policy "companies: owner adds" on public.companies
for insert to authenticated with check (user_id = (select auth.uid()));

drop policy if exists "companies: owner changes" on public.companies;
create policy "companies: owner changes" on public.companies
for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

drop policy if exists "companies: owner deletes" on public.companies;
create policy "companies: owner deletes" on public.companies
for delete to authenticated using (user_id = (select auth.uid()));

drop policy if exists "people: owner reads" on public.people;
create policy "people: owner reads" on public.people
for select to authenticated using (user_id = (select auth.uid()));

drop policy if exists "people: owner adds" on public.people;
create policy "people: owner adds" on public.people
for insert to authenticated with check (user_id = (select auth.uid()));

drop policy if exists "people: owner changes" on public.people;
create policy "people: owner changes" on public.people
for update to authenticated using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

drop policy if exists "people: owner deletes" on public.people;
create policy "people: owner deletes" on public.people
for delete to authenticated using (user_id = (select auth.uid()));

-- Newer projects grant nothing by themselves.
grant select, insert, update, delete on public.companies, public.people to authenticated;
