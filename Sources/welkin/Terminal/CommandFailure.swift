import CloudKitModel

/// What a command could not do, with what to do about it; the way it was called was right.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

extension CommandFailure {
    /// Runs the rules on a command's behalf; what they refuse is told in words.
    static func explaining<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let failure as RequestFailure {
            let reason = failure.reason.prefix(1).uppercased() + failure.reason.dropFirst()
            throw CommandFailure(reason + "." + (failure.remedy.map { " " + $0 } ?? ""))
        }
    }
}
