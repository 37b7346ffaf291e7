import Foundation
import Testing

/// What `init` tells its users to run on their project, on the database that projects have.
@Suite("schema.sql on a real PostgreSQL", .timeLimit(.minutes(5))) struct PostgreSQLTests {
  private static let ann = "00000000-0000-4000-8000-00000000000a"
  private static let bob = "00000000-0000-4000-8000-00000000000b"
  private static let task = "00000000-0000-4000-8000-000000000001"
  private static let photo = "00000000-0000-4000-8000-000000000002"

  /// A template's files: what runs on a project, and what the stand-in serves.
  enum Template: String, CaseIterable {
    case tasksAndPhotos = "tasks-and-photos/"
    case contacts = "contacts/contacts-"

    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(Tidemark.packageRoot)/Templates/\(rawValue)\(name)", encoding: .utf8)
    }
  }

  private func database(_ template: Template = .tasksAndPhotos) async throws -> PostgreSQL {
    let database = try await PostgreSQL()
    try await database.run(template.text("schema.sql"))
    for user in [Self.ann, Self.bob] {
      let noted = try await database.run(as: user, "select auth.remember_user();")
      try #require(noted.status == 0, "\(noted.errors)")
    }
    return database
  }

  /// A database in which Ann has a task with a photo.
  private func annsDatabase() async throws -> PostgreSQL {
    let database = try await database()
    let done = try await database.run(
      as: Self.ann,
      """
      insert into public.tasks (id, title) values ('\(Self.task)', 'Buy milk');
      insert into public.task_photos (id, task_id, object_path, name)
      values ('\(Self.photo)', '\(Self.task)', '\(Self.ann)/\(Self.photo)', 'front.jpg');
      """)
    try #require(done.status == 0, "\(done.errors)")
    return database
  }

  @Test("may be run twice: rows, and what a person changed since, stay", arguments: Template.allCases)
  func twice(_ template: Template) async throws {
    let database = try await database(template)
    let table = template == .contacts ? "companies (name" : "tasks (title"
    let made = try await database.run(as: Self.ann, "insert into public.\(table)) values ('one');")
    #expect(made.status == 0, "\(made.errors)")
    if template == .tasksAndPhotos {
      try await database.run("update storage.buckets set file_size_limit = 7 where id = 'photos'")
    }
    let before = try await contents(database)
    try await database.run(template.text("schema.sql"))
    #expect(try await contents(database) == before)
  }

  private func contents(_ database: PostgreSQL) async throws -> [String] {
    try await database.run(
      """
      select table_schema, table_name, query_to_xml(format('table %I.%I', table_schema, table_name), true, true, '')
      from information_schema.tables where table_schema in ('public', 'storage') order by 1, 2;
      select polrelid::regclass, polname, polcmd from pg_policy order by 1, 2;
      select tgrelid::regclass, tgname from pg_trigger where not tgisinternal order by 1, 2;
      select schemaname, tablename from pg_publication_tables where pubname = 'supabase_realtime' order by 1, 2;
      """)
  }

  @Test("shows an owner their own rows, and nobody else's to anybody")
  func owners() async throws {
    let database = try await annsDatabase()
    for table in ["public.tasks", "public.task_photos"] {
      #expect(try await database.run(as: Self.ann, "select count(*) from \(table);").output == "1\n", "\(table)")
      #expect(try await database.run(as: Self.bob, "select count(*) from \(table);").output == "0\n", "\(table)")
      let nobody = try await database.run(as: nil, "select count(*) from \(table);")
      #expect(nobody.status != 0 && nobody.errors.contains("42501"), "\(nobody.output)")
    }
  }

  @Test("lets nobody write another's rows, hang photos on another's task, or give a row away")
  func strangers() async throws {
    let database = try await annsDatabase()
    // No row is seen, so none is changed.
    for sql in ["update public.tasks set title = 'x' returning 1;", "delete from public.tasks returning 1;"] {
      let done = try await database.run(as: Self.bob, sql)
      #expect(done.status == 0 && done.output.isEmpty, "\(done.errors)")
    }
    let forbidden = [
      (Self.bob, "insert into public.tasks (title, user_id) values ('x', '\(Self.ann)');"),
      (
        Self.bob,
        "insert into public.task_photos (task_id, object_path, name) values ('\(Self.task)', 'p', 'x.jpg');"
      ),
      (Self.ann, "update public.tasks set user_id = '\(Self.bob)';"),
    ]
    for (user, sql) in forbidden {
      let done = try await database.run(as: user, sql)
      #expect(done.status != 0 && done.errors.contains("42501"), "\(sql) \(done.output)")
    }
  }

  @Test("moves the version with every write, whatever was sent, also twice in one transaction")
  func version() async throws {
    let database = try await annsDatabase()
    let done = try await database.run(
      as: Self.ann,
      """
      begin;
      select updated_at from public.tasks;
      update public.tasks set title = 'a', updated_at = '2000-01-01' returning updated_at;
      update public.tasks set title = 'b' returning updated_at;
      update public.tasks set title = 'b' returning updated_at;
      commit;
      update public.task_photos set name = 'x.jpg', updated_at = '2000-01-01'
      returning updated_at > created_at and updated_at > now() - interval '1 hour';
      """)
    let lines = done.output.split(separator: "\n").map(String.init)
    #expect(done.status == 0 && lines.count == 5, "\(done.errors)")
    let versions = Array(lines.prefix(4))
    #expect(Set(versions).count == 4 && versions == versions.sorted(), "\(versions)")
    #expect(lines.last == "t")
  }

  @Test("refuses a blank title", arguments: ["''", "'  '", "E'\\n\\t'"])
  func blank(_ title: String) async throws {
    let database = try await database()
    let done = try await database.run(as: Self.ann, "insert into public.tasks (title) values (\(title));")
    #expect(done.status != 0 && done.errors.contains("23514"), "\(done.errors)")
  }

  @Test("deletes a task's photos with it, and a user's rows with the user")
  func cascades() async throws {
    let database = try await annsDatabase()
    #expect(try await database.run(as: Self.ann, "delete from public.tasks;").status == 0)
    #expect(try await database.run("select count(*) from public.task_photos") == ["0"])
    _ = try await database.run(as: Self.ann, "insert into public.tasks (title) values ('again');")
    try await database.run("delete from auth.users where id = '\(Self.ann)'")
    #expect(try await database.run("select count(*) from public.tasks") == ["0"])
  }

  @Test("has functions that work on the caller's rows alone, for signed-in users alone")
  func functions() async throws {
    let database = try await annsDatabase()
    _ = try await database.run(as: Self.bob, "insert into public.tasks (title) values ('theirs');")
    let count = "select public.tasks_done_count();"
    #expect(try await database.run(as: Self.ann, count).output == #"{"done": 0, "total": 1}"# + "\n")
    #expect(try await database.run(as: Self.ann, "select public.complete_all_tasks();").output == "1\n")
    #expect(try await database.run(as: Self.ann, "select public.complete_all_tasks();").output == "0\n")
    #expect(try await database.run(as: Self.ann, count).output == #"{"done": 1, "total": 1}"# + "\n")
    #expect(try await database.run(as: Self.bob, count).output == #"{"done": 0, "total": 1}"# + "\n")
    let later = "select public.tasks_done_count(now() + interval '1 day');"
    #expect(try await database.run(as: Self.ann, later).output == #"{"done": 0, "total": 0}"# + "\n")
    let nobody = try await database.run(as: nil, count)
    #expect(nobody.status != 0 && nobody.errors.contains("42501"), "\(nobody.output)")
  }

  @Test(
    "takes rows of users whom a PostgREST of one's own has noted; a read notes nobody, and so does nobody's request")
  func remembered() async throws {
    let database = try await database()
    let carol = "00000000-0000-4000-8000-00000000000c"
    let insert = "insert into public.tasks (title) values ('x');"
    let unknown = try await database.run(as: carol, insert)
    #expect(unknown.status != 0 && unknown.errors.contains("23503"), "\(unknown.errors)")
    let read = try await database.run(as: carol, "begin read only; select auth.remember_user(); commit;")
    #expect(read.status == 0, "\(read.errors)")
    #expect(try await database.run(as: nil, "select auth.remember_user();").status == 0)
    #expect(try await database.run("select count(*) from auth.users") == ["2"])
    let noted = try await database.run(as: carol, "select auth.remember_user(); \(insert)")
    #expect(noted.status == 0, "\(noted.errors)")
  }

  @Test("keeps each user's files in the bucket to themselves, and sends both tables' changes")
  func storageAndRealtime() async throws {
    let database = try await annsDatabase()
    let add = { (name: String) in "insert into storage.objects (bucket_id, name) values ('photos', '\(name)');" }
    #expect(try await database.run(as: Self.ann, add("\(Self.ann)/\(Self.photo)")).status == 0)
    for name in ["\(Self.bob)/x", "x", "", "../\(Self.ann)/x"] {
      let done = try await database.run(as: Self.ann, add(name))
      #expect(done.status != 0 && done.errors.contains("42501"), "\(name)")
    }
    let look = "select count(*) from storage.objects;"
    #expect(try await database.run(as: Self.ann, look).output == "1\n")
    #expect(try await database.run(as: Self.bob, look).output == "0\n")
    #expect(try await database.run(as: nil, look).output == "0\n")
    #expect(try await database.run("select public from storage.buckets where id = 'photos'") == ["f"])
    #expect(
      try await database.run(
        "select tablename from pg_publication_tables where pubname = 'supabase_realtime' order by 1")
        == ["task_photos", "tasks"])
  }

  @Test(
    "and the stand-in's schema.json describe the same tables, columns, types, keys and references",
    arguments: Template.allCases)
  func sameTables(_ template: Template) async throws {
    let database = try await database(template)
    let columns = try await database.run(
      """
      select table_name, column_name, udt_name, is_nullable, column_default is not null
      from information_schema.columns where table_schema = 'public' order by table_name, column_name
      """)
    let keys = try await database.run(
      """
      select conrelid::regclass, contype, (
        select string_agg(attname, ',' order by place) from unnest(conkey) with ordinality as k (number, place)
        join pg_attribute on attrelid = conrelid and attnum = number
      ), nullif(confrelid, 0)::regclass, case when contype = 'f' then confdeltype end
      from pg_constraint where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'f')
        and confrelid <> 'auth.users'::regclass
      """)
    let described = try DescribedTables(template.text("schema.json"))
    #expect(columns == described.columns.sorted())
    #expect(keys.sorted() == described.keys.sorted())
  }
}

/// The tables of the stand-in's schema file in the words of PostgreSQL's catalogue.
private struct DescribedTables {
  var columns: [String] = []
  var keys: [String] = []

  /// The catalogue's names of types.
  private static let types = [
    "boolean": "bool", "smallint": "int2", "integer": "int4", "bigint": "int8", "double precision": "float8",
    "text[]": "_text",
  ]
  private static let actions = ["cascade": "c", "setNull": "n", "restrict": "r"]

  init(_ text: String) throws {
    let file = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    for (table, value) in try #require(file["tables"] as? [String: [String: Any]]) {
      let primaryKey = value["primaryKey"] as? [String] ?? []
      for column in value["columns"] as? [[String: Any]] ?? [] {
        let name = column["name"] as? String ?? ""
        let type = column["type"] as? String ?? ""
        let isNotNull = column["notNull"] as? Bool == true || primaryKey.contains(name)
        columns.append(
          [table, name, Self.types[type] ?? type, isNotNull ? "NO" : "YES", column["default"] == nil ? "f" : "t"]
            .joined(separator: "|"))
      }
      keys.append("\(table)|p|\(primaryKey.joined(separator: ","))||")
      for unique in value["unique"] as? [Any] ?? [] {
        let names = unique as? [String] ?? (unique as? [String: Any])?["columns"] as? [String] ?? []
        keys.append("\(table)|u|\(names.joined(separator: ","))||")
      }
      for foreign in value["foreignKeys"] as? [[String: Any]] ?? [] {
        let names = (foreign["columns"] as? [String] ?? []).joined(separator: ",")
        let other = (foreign["references"] as? [String: Any])?["table"] as? String ?? ""
        keys.append("\(table)|f|\(names)|\(other)|\(Self.actions[foreign["onDelete"] as? String ?? "restrict"] ?? "?")")
      }
    }
  }
}
