import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Who may do what in Storage") struct StoragePolicyTests {
  private let ann = StorageDesk.annID
  private let bob = StorageDesk.bobID

  @Test("a user has the folder with their own id, and no other")
  func ownerFolder() throws {
    let desk = try StorageDesk()
    #expect(try desk.put("photos/\(ann)/a", "x").status == 200)
    for key in ["\(bob)/a", "\(ann)", "a", "x/\(ann)/a", "\(ann.prefix(35))/a"] {
      let answer = try desk.put("photos/\(key)", "x")
      #expect(answer.problem == "400 403 Unauthorized AccessDenied")
      #expect(answer.json["message"] == "new row violates row-level security policy")
    }
  }

  @Test("another user's object is not there, whatever is tried with it")
  func hidden() throws {
    let desk = try StorageDesk()
    _ = try desk.put("photos/\(ann)/a", "x")
    let path = "photos/\(ann)/a"
    for (method, route) in [
      ("GET", "object/"), ("GET", "object/authenticated/"), ("GET", "object/info/"), ("DELETE", "object/"),
    ] {
      #expect(try desk.ask(method, route + path, as: .bob).problem == "400 404 not_found NoSuchKey")
    }
    #expect(try desk.ask("HEAD", "object/" + path, as: .bob).status == 400)
    #expect(try desk.json("POST", "object/sign/" + path, as: .bob, ["expiresIn": 60]).json.text("code") == "NoSuchKey")
    let transfer: JSONValue = [
      "bucketId": "photos", "sourceKey": .string("\(ann)/a"), "destinationKey": .string("\(bob)/a"),
    ]
    for call in ["move", "copy"] {
      #expect(try desk.json("POST", "object/\(call)", as: .bob, transfer).problem == "400 404 not_found NoSuchKey")
    }
    #expect(try desk.json("DELETE", "object/photos", as: .bob, ["prefixes": [.string("\(ann)/a")]]).text == "[]")
    #expect(try desk.json("POST", "object/list/photos", as: .bob, ["prefix": ""]).text == "[]")
    #expect(try desk.json("POST", "object/list-v2/photos", as: .bob, [:]).json["objects"] == [])
    #expect(try desk.put(path, "y", as: .bob, [("x-upsert", "true")]).problem == "400 403 Unauthorized AccessDenied")
    #expect(try desk.ask("GET", "object/" + path).text == "x")
  }

  @Test("an object cannot be moved or copied to where its owner could not upload it")
  func moveOut() throws {
    let desk = try StorageDesk()
    _ = try desk.put("photos/\(ann)/a", "x")
    let body: JSONValue = [
      "bucketId": "photos", "sourceKey": .string("\(ann)/a"), "destinationKey": .string("\(bob)/a"),
    ]
    for call in ["move", "copy"] {
      #expect(try desk.json("POST", "object/\(call)", body).problem == "400 403 Unauthorized AccessDenied")
    }
  }

  @Test("a policy by owner looks at who uploaded")
  func owner() throws {
    let desk = try StorageDesk()
    _ = try desk.put("mine/a", "x")
    #expect(try desk.ask("GET", "object/mine/a").text == "x")
    #expect(try desk.ask("GET", "object/mine/a", as: .bob).problem == "400 404 not_found NoSuchKey")
    #expect(try desk.put("mine/b", "y", as: .bob).status == 200)
  }

  @Test("a bucket for new objects only refuses to replace one, with the words for a new row")
  func insertOnly() throws {
    let desk = try StorageDesk()
    #expect(try desk.put("drop/a", "x").status == 200)
    let again = try desk.put("drop/a", "y", [("x-upsert", "true")])
    #expect(again.problem == "400 403 Unauthorized AccessDenied")
    #expect(again.json["message"] == "new row violates row-level security policy")
    #expect(try desk.put("drop/b", "x", [("x-upsert", "true")]).status == 200)
  }

  @Test("a bucket that no policy names is the service key's")
  func noPolicy() throws {
    let desk = try StorageDesk()
    #expect(try desk.put("shop/a", "x").problem == "400 403 Unauthorized AccessDenied")
    #expect(try desk.put("shop/a", "x", as: .service).status == 200)
  }

  @Test("a public bucket is read by everybody, and written as its policies say")
  func publicBucket() throws {
    let desk = try StorageDesk()
    _ = try desk.put("shop/a", "x", as: .service)
    for path in ["object/public/shop/a", "object/shop/a"] {
      #expect(try desk.ask("GET", path, as: .nobody).text == "x")
      #expect(try desk.ask("GET", path, as: .bob).text == "x")
    }
    #expect(try desk.ask("HEAD", "object/public/shop/a", as: .nobody).field("Content-Length") == "1")
    _ = try desk.put("notes/a", "x")
    #expect(try desk.ask("GET", "object/public/notes/a").problem == "400 404 Bucket not found NoSuchBucket")
    #expect(try desk.ask("GET", "object/public/shop/b").problem == "400 404 not_found NoSuchKey")
  }

  @Test("the short form goes on as nobody where a token is bad; the explicit form says so")
  func badTokens() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    let fresh = desk.token(ann)
    let tokens = [
      (desk.token(ann, seconds: 0), "\"exp\" claim timestamp check failed"), ("a.b", "Invalid Compact JWS"),
      (String(fresh.dropLast(4)) + "AAAA", "signature verification failed"),
    ]
    for (token, message) in tokens {
      let fields = [("Authorization", "Bearer \(token)")]
      for path in ["object/notes/a", "object/info/notes/a"] {
        #expect(try desk.ask("GET", path, as: .nobody, fields).problem == "400 404 Bucket not found NoSuchBucket")
      }
      let explicit = try desk.ask("GET", "object/authenticated/notes/a", as: .nobody, fields)
      #expect(explicit.problem == "400 403 Unauthorized AccessDenied")
      #expect(explicit.json["message"] == .string(message))
      let upload = try desk.put("notes/b", "x", as: .nobody, fields)
      #expect(upload.json["message"] == .string(message))
    }
  }

  @Test("a request without a token stands for the key's role, and without a key it lacks its authorization")
  func noToken() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    // A good token of nobody in particular: the policies hide the object.
    #expect(try desk.ask("GET", "object/notes/a", as: .anon).problem == "400 404 not_found NoSuchKey")
    #expect(try desk.ask("GET", "object/notes/a", as: .nobody).problem == "400 404 Bucket not found NoSuchBucket")
    let upload = try desk.put("notes/b", "x", as: .nobody)
    #expect(upload.problem == "400 400 Error InvalidRequest")
    #expect(upload.json["message"] == "headers must have required property 'authorization'")
    #expect(try desk.put("notes/b", "x", as: .anon).problem == "400 403 Unauthorized AccessDenied")
    #expect(try desk.put("nowhere/b", "x").problem == "400 404 Bucket not found NoSuchBucket")
  }

  @Test("an unknown route is told with a true status")
  func unknownRoute() throws {
    let desk = try StorageDesk()
    for path in ["", "nothing", "object/list/notes", "render/image/notes/a"] {
      let answer = try desk.ask("PATCH", path)
      #expect(answer.status == 404)
      #expect(answer.json["error"] == "Not Found")
    }
    #expect(try desk.ask("GET", "health", as: .nobody).json == ["healthy": true])
  }

  @Test("the template's photos are their owner's, images only, as its schema.sql says")
  func template() throws {
    let project = try Project { $0.jwtSecret = TokenTests.secret }
    let desk = project.server.standIn
    func upload(_ key: String, type: String) -> StandInAnswer {
      let token = JSONWebToken.sign(
        ["role": "authenticated", "sub": .string(ann), "exp": 4_000_000_000], secret: TokenTests.secret)
      return desk.answer(
        StandInRequest(
          method: "POST", target: "/storage/v1/object/photos/\(key)",
          fields: [
            (name: "Host", value: "localhost"), (name: "Authorization", value: "Bearer \(token)"),
            (name: "Content-Type", value: type),
          ], body: [1, 2, 3]))
    }
    #expect(upload("\(ann)/p", type: "image/heic").status == 200)
    #expect(upload("\(ann)/q", type: "text/plain").status == 400)
    #expect(upload("\(bob)/p", type: "image/heic").status == 400)
  }
}
