import LosslessJSON

/// A call of a database function, as a value (protocol sheet postgrest-client, "rpc").
///
/// Its description names the function, never an argument.
public struct FunctionRequest: Sendable, Hashable {
  /// The function.
  public var name: String
  /// The schema that it is in.
  public var schema: String
  /// The arguments by name.
  public var arguments: JSONObject

  /// A call of a function.
  public init(_ name: String, schema: String = "public", arguments: JSONObject = [:]) {
    self.name = name
    self.schema = schema
    self.arguments = arguments
  }

  /// The request as it is sent.
  ///
  /// - Parameter accessToken: The user's token; without one the project's key stands in its place.
  public func httpRequest(project: Project, accessToken: Secret?) -> HTTPRequest {
    var fields = project.identityFields(accessToken: accessToken)
    fields.add("Accept", "application/json")
    fields.add("Content-Profile", schema)
    fields.add("Content-Type", "application/json")
    return HTTPRequest(
      method: "POST", url: "\(project.services.rest)/rpc/\(PercentEncoding.segment(name))", fields: fields,
      body: Array(JSONValue.object(arguments).serialized().utf8))
  }
}

extension FunctionRequest: CustomStringConvertible, CustomReflectable {
  /// The function's name.
  public var description: String { "call '\(name)'" }

  /// Shows what the description shows, so that no dump holds an argument.
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension TableClient {
  /// Calls a database function.
  ///
  /// - Returns: What it gave back: any JSON, null for a function that gives nothing.
  /// - Throws: `SupabaseError`, of which only `refused` says that nothing was done.
  public func call(_ request: FunctionRequest, accessToken: Secret?) async throws(SupabaseError) -> JSONValue {
    let response: HTTPResponse
    do { response = try await http.send(request.httpRequest(project: project, accessToken: accessToken)) } catch {
      throw .http(error)
    }
    let answer = RawAnswer(response)
    guard (200...299).contains(response.status) else { throw TableAnswer.failure(answer) }
    if response.body.isEmpty { return .null }
    guard let json = answer.json else { throw answer.notAnAnswer }
    return json
  }
}
