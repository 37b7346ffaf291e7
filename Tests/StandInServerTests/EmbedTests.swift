import LosslessJSON
import Testing

@testable import StandInServer

/// What the recordings are silent about, by PostgREST's documentation of resource embedding.
@Suite("Related tables") struct EmbedTests {
  static let reads: [(target: String, body: String)] = [
    // To-one, to-many, one-to-one, through a junction.
    ("films?select=id,directors(name)&id=eq.1", #"[{"id":1,"directors":{"name": "Ada"}}]"#),
    ("films?select=id,directors(name)&id=eq.4", #"[{"id":4,"directors":null}]"#),
    (
      "directors?select=name,films(title)&films.order=title.desc&order=id&limit=1",
      #"[{"name":"Ada","films":[{"title": "Two: the return"}, {"title": "One"}]}]"#
    ),
    (
      "films?select=id,specs(camera)&id=in.(1,2)&order=id",
      #"[{"id":1,"specs":{"camera": "Super 8"}}, "# + "\n"
        + #" {"id":2,"specs":null}]"#
    ),
    ("specs?select=camera,films(title)", #"[{"camera":"Super 8","films":{"title": "One"}}]"#),
    (
      "films?select=id,actors(name)&actors.order=name.desc&id=eq.1",
      #"[{"id":1,"actors":[{"name": "Di"}, {"name": "Cy"}]}]"#
    ),
    (
      "actors?select=name,films(title,directors(name))&id=eq.2&films.order=id.desc",
      #"[{"name":"Di","films":[{"title": "Two: the return", "directors": {"name": "Ada"}}, "#
        + #"{"title": "One", "directors": {"name": "Ada"}}]}]"#
    ),
    // Names, hints and aliases.
    ("films?select=boss:director_id(name)&id=eq.3", #"[{"boss":{"name": "Bo"}}]"#),
    ("films?select=films_director_id_fkey(name)&id=eq.3", #"[{"films_director_id_fkey":{"name": "Bo"}}]"#),
    ("films?select=d:directors!films_director_id_fkey(name)&id=eq.3", #"[{"d":{"name": "Bo"}}]"#),
    ("films?select=d:directors!director_id!inner(name)&order=id&limit=1", #"[{"d":{"name": "Ada"}}]"#),
    ("films?select=d:directors!inner!director_id(name)&order=id&limit=1", #"[{"d":{"name": "Ada"}}]"#),
    ("films?select=actors!roles(name)&actors.order=id&actors.limit=1&id=eq.1", #"[{"actors":[{"name": "Cy"}]}]"#),
    (
      "matches?select=l:actors!left_id(name),r:actors!matches_right_id_fkey(name)",
      #"[{"l":{"name": "Cy"},"r":{"name": "Di"}}]"#
    ),
    (
      "actors?select=id,matches!left_id(id)&order=id",
      #"[{"id":1,"matches":[{"id": 1}]}, "# + "\n" + #" {"id":2,"matches":[]}]"#
    ),
    // A table's key to itself: the column means the one, the table's name the many.
    ("films?select=id,sequel_of(title)&id=eq.2", #"[{"id":2,"sequel_of":{"title": "One"}}]"#),
    ("films?select=id,films(title)&id=eq.1", #"[{"id":1,"films":[{"title": "Two: the return"}]}]"#),
    ("films?select=id,films!sequel_of(title)&id=eq.1", #"[{"id":1,"films":[{"title": "Two: the return"}]}]"#),
    // Inner, filters, null filters.
    (
      "directors?select=name,films!inner()&films.rating=gt.9&order=id",
      #"[{"name":"Ada"}, "# + "\n" + #" {"name":"Bo"}]"#
    ),
    ("directors?select=name,films!inner()&films.title=eq.Three", #"[{"name":"Bo"}]"#),
    (
      "directors?select=name,films(id)&films.title=eq.Three&order=id",
      #"[{"name":"Ada","films":[]}, "# + "\n"
        + #" {"name":"Bo","films":[{"id": 3}]}]"#
    ),
    ("films?select=id,directors!left(name)&directors.name=eq.Bo&order=id&limit=1", #"[{"id":1,"directors":null}]"#),
    ("films?select=id,directors()&directors=is.null", #"[{"id":4}]"#),
    ("films?select=id,directors()&directors=not.is.null&order=id.desc&limit=1", #"[{"id":3}]"#),
    (
      "films?select=id,specs(),s:sequel_of()&or=(specs.not.is.null,s.not.is.null)&order=id",
      #"[{"id":1}, "# + "\n" + #" {"id":2}]"#
    ),
    ("films?select=id,actors!inner(id)&actors.name=eq.Cy", #"[{"id":1,"actors":[{"id": 1}]}]"#),
    (
      "directors?select=name,films!inner(title,actors!inner(name))&films.actors.name=eq.Di&films.order=id&order=id",
      #"[{"name":"Ada","films":[{"title": "One", "actors": [{"name": "Di"}]}, "#
        + #"{"title": "Two: the return", "actors": [{"name": "Di"}]}]}]"#
    ),
    (
      "directors?select=name,films(id)&films.or=(id.eq.1,id.eq.3)&order=id&limit=1",
      #"[{"name":"Ada","films":[{"id": 1}]}]"#
    ),
    (
      "directors?select=name,films(id)&films.not.or=(id.eq.1,id.eq.3)&order=id&limit=1",
      #"[{"name":"Ada","films":[{"id": 2}]}]"#
    ),
    ("directors?select=name,f:films(id)&f.id=eq.2&order=id&limit=1", #"[{"name":"Ada","f":[{"id": 2}]}]"#),
    (
      "directors?select=name,films(id)&films.order=id&films.offset=1&order=id&limit=1",
      #"[{"name":"Ada","films":[{"id": 2}]}]"#
    ),
    ("directors?select=name,films!inner(id)&films.limit=0", "[]"),
    // Order by a related column.
    (
      "films?select=id,directors(name)&order=directors(name).desc.nullslast,id.desc&limit=2",
      #"[{"id":3,"directors":{"name": "Bo"}}, "# + "\n" + #" {"id":2,"directors":{"name": "Ada"}}]"#
    ),
    ("films?select=id,d:directors()&order=d(name).desc,id&limit=2", #"[{"id":4}, "# + "\n" + #" {"id":3}]"#),
    // Spread.
    ("films?select=id,...directors(by:name)&id=eq.1", #"[{"id":1,"by":"Ada"}]"#),
    ("films?select=id,...directors(by:name)&id=eq.4", #"[{"id":4,"by":null}]"#),
    ("films?select=...specs(...films(name:title))&id=eq.1", #"[{"name":"One"}]"#),
    (
      "directors?select=name,...films(id,title)&films.order=id&id=eq.1",
      #"[{"name":"Ada","id":[1, 2],"title":["One", "Two: the return"]}]"#
    ),
    ("directors?select=name,...films(id)&films.id=gt.100&id=eq.1", #"[{"name":"Ada","id":[]}]"#),
    (
      "directors?select=...films(id,specs(camera))&films.order=id&id=eq.1",
      #"[{"id":[1, 2],"specs":[{"camera": "Super 8"}, null]}]"#
    ),
    // Columns come before tables, and a nested row is a document with an order of its own.
    ("films?select=id,directors(name),title&id=eq.1", #"[{"id":1,"title":"One","directors":{"name": "Ada"}}]"#),
    (
      "directors?select=films(title,rating,id,shown_at,extra)&films.id=eq.1&id=eq.1",
      #"[{"films":[{"id": 1, "extra": {"a": [1, {"c": null}], "b": null}, "title": "One", "rating": 7.50, "#
        + #""shown_at": "2026-01-01T00:00:00+00:00"}]}]"#
    ),
    (
      "directors?select=films(n:extra->a->n,t:extra->a->>n,x:rating::text)&films.id=eq.2&id=eq.1",
      #"[{"films":[{"n": 5, "t": "5", "x": "10"}]}]"#
    ),
    // How many related rows there are, where aggregate functions are off.
    (
      "directors?select=name,films(count)&order=id",
      #"[{"name":"Ada","films":[{"count": 2}]}, "# + "\n"
        + #" {"name":"Bo","films":[{"count": 1}]}]"#
    ),
    ("directors?select=...films(n:count)&id=eq.1", #"[{"n":[2]}]"#), ("films?select=count&id=gt.1", #"[{"count":3}]"#),
    ("films?select=id,directors(count)&id=eq.4", #"[{"id":4,"directors":{"count": 0}}]"#),
    ("films?select=reviews(count)&id=eq.1", #"[{"reviews":[{"count": 1}]}]"#),
    // Policies hold within.
    ("films?select=reviews(text)&id=eq.1", #"[{"reviews":[{"text": "mine"}]}]"#),
    ("films?select=id,reviews!inner()&reviews.text=eq.not mine", "[]"),
    ("films?select=id,reviews()&reviews=is.null&order=id&limit=1", #"[{"id":2}]"#),
  ]

  @Test("a read embeds what it names", arguments: reads)
  func read(_ target: String, body: String) throws {
    let library = try Library()
    #expect(library.get(target) == body, "\(target)")
  }

  static let failures: [(target: String, failure: String)] = [
    ("films?select=nope(id)", "400 PGRST200"), ("films?select=directors!nope(id)", "400 PGRST200"),
    ("matches?select=actors(id)", "300 PGRST201"), ("films?select=id&directors.name=eq.1", "400 PGRST108"),
    ("films?select=id,directors()&directors.nope.id=eq.1", "400 PGRST108"),
    ("films?select=id&order=directors(name)", "400 PGRST108"),
    ("directors?select=id,films(id)&order=films(id)", "400 PGRST118"),
    ("films?select=id,directors(nope)", "400 42703"), ("films?select=id,directors()&directors=eq.1", "400 42703"),
    ("films?select=id,directors()&directors.nope=eq.1", "400 42703"),
    ("films?select=id,directors(count())", "400 PGRST123"), ("films?select=id.sum()", "400 PGRST123"),
    ("films?select=n:rating.avg()::int4", "400 PGRST123"),
    ("films?select=id,secrets(id)", "403 42501"), ("films?select=id,directors(id", "400 PGRST100"),
    ("films?select=id,directors(id))", "400 PGRST100"), ("films?select=...directors", "400 PGRST100"),
    ("films?select=directors!inner", "400 PGRST100"), ("films?select=a:...directors(id)", "400 PGRST100"),
    ("films?select=directors->x(id)", "400 PGRST100"), ("films?select=actors(id),actors(name)", "400 42712"),
    ("directors?select=films(id,count)", "400 42803"), ("films?select=count&order=id", "400 42803"),
  ]

  @Test("a read that names what there is not fails as PostgREST's does", arguments: failures)
  func failure(_ target: String, failure: String) throws {
    #expect(try Library().failure("GET", target) == failure, "\(target)")
  }

  @Test("an ambiguous name is answered with all that it can mean")
  func ambiguous() throws {
    let answer = try JSONValue(parsing: try Library().get("matches?select=actors(id)"))
    #expect(answer["details"]?.arrayValue?.count == 2)
    #expect(
      answer["details"]?.arrayValue?.first == [
        "cardinality": "many-to-one", "embedding": "matches with actors",
        "relationship": "matches_left_id_fkey using matches(left_id) and actors(id)",
      ])
    #expect(
      answer.text("hint").hasPrefix(
        "Try changing 'actors' to one of the following: 'actors!matches_left_id_fkey', 'actors!matches_right_id_fkey'.")
    )
  }

  @Test("an error within calls the table by its depth, behind a junction by its name")
  func names() throws {
    let library = try Library()
    #expect(library.get("directors?select=films(actors(nope))").contains("column actors.nope does not exist"))
    #expect(library.get("actors?select=roles(films(nope))").contains("column films_2.nope does not exist"))
  }

  @Test("a count sees the inner joins")
  func count() throws {
    let (status, _, answer) = try Library().ask(
      "GET", "directors?select=name,films!inner(id)&films.title=eq.Three", [("Prefer", "count=exact")])
    #expect(status == 200 && answer.field("Content-Range") == "0-0/1")
  }

  @Test("embedded rows are cut at the greatest number of rows")
  func cut() throws {
    let library = try Library { $0.rowCountMax = 1 }
    #expect(library.get("directors?select=films(id)&films.order=id&id=eq.1") == #"[{"films":[{"id": 1}]}]"#)
  }

  @Test("nulls are stripped at every depth, and CSV holds the documents")
  func forms() throws {
    let library = try Library()
    let target = "films?select=id,extra,specs(camera),directors(name)&id=in.(1,4)&order=id"
    #expect(
      library.get(target, accept: "application/vnd.pgrst.array+json;nulls=stripped")
        == #"[{"id":1,"extra":{"a":[1,{}]},"specs":{"camera":"Super 8"},"directors":{"name":"Ada"}},{"id":4}]"#)
    #expect(
      library.get("films?select=id,directors(name)&id=in.(1,4)&order=id", accept: "text/csv")
        == "id,directors\n1,\"{\"\"name\"\": \"\"Ada\"\"}\"\n4,")
  }

  @Test("writes return what is embedded; a delete what was there before it")
  func writes() throws {
    let library = try Library()
    let prefer = [("Prefer", "return=representation"), ("Content-Type", "application/json")]
    let made = library.ask(
      "POST", "films?select=id,directors(name)", prefer, body: #"{"id":9,"title":"Nine","director_id":2}"#)
    #expect(made.text == #"[{"id":9,"directors":{"name": "Bo"}}]"#)
    let moved = library.ask(
      "PATCH", "films?id=eq.9&select=id,directors(name)", prefer, body: #"{"director_id":1}"#)
    #expect(moved.text == #"[{"id":9,"directors":{"name": "Ada"}}]"#)
    let filtered = library.ask(
      "PATCH", "films?id=in.(1,9)&select=id,specs!inner(camera)", prefer, body: #"{"director_id":1}"#)
    #expect(filtered.text == #"[{"id":1,"specs":{"camera": "Super 8"}}]"#)
    let ordered = library.ask(
      "PATCH", "films?id=in.(1,3)&select=id,directors(name)&order=directors(name).desc", prefer, body: #"{"rating":1}"#)
    #expect(
      ordered.text == #"[{"id":3,"directors":{"name": "Bo"}}, "# + "\n" + #" {"id":1,"directors":{"name": "Ada"}}]"#)
    _ = library.ask("DELETE", "secrets?id=eq.1")
    let gone = library.ask("DELETE", "specs?film_id=eq.1&select=camera,films(title)", prefer)
    #expect(gone.text == #"[{"camera":"Super 8","films":{"title": "One"}}]"#)
    #expect(
      library.ask("PATCH", "films?id=in.(1,9)&select=count", prefer, body: #"{"rating":1}"#).text == #"[{"count":2}]"#)
    #expect(library.failure("PATCH", "films?id=eq.9&select=nope(id)", body: "{}") == "400 PGRST200")
  }
}
