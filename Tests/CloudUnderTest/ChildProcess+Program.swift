import Foundation

extension ChildProcess {
    /// Runs a program of this package to its end.
    ///
    /// - Returns: The exit status, nil if a signal ended it, and all that it printed.
    package static func run(
        program name: String, _ arguments: [String], variables: [String: String] = [:]
    ) async throws -> (status: Int32?, output: String) {
        guard let program = CloudProcess.program(named: name) else {
            throw ChildFailure(program: name, reason: "not built")
        }
        let output = FileManager.default.temporaryDirectory.path + "/\(name)-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: output) }
        let status: Int32? = try await withCheckedThrowingContinuation { continuation in
            // Waiting for a process blocks its thread.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try ChildProcess([program] + arguments, variables: variables, output: output).wait()
                    })
            }
        }
        return (status, try String(contentsOfFile: output, encoding: .utf8))
    }
}
