"""The real Python clients of Supabase against the built `tidemark serve`.

Run by `make test-clients`. One module a service; a call is a function with `@call`, see `calls.py`.
"""
