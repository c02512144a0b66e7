import CloudKitModel

/// The error of a command that was called correctly but failed, with the remedy.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

extension CommandFailure {
    /// Runs `body` and turns refused requests into readable failures.
    static func explaining<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as RequestFailure {
            let reason = failure.reason.prefix(1).uppercased() + failure.reason.dropFirst()
            throw CommandFailure(reason + "." + (failure.remedy.map { " " + $0 } ?? ""))
        }
    }
}
