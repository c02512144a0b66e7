import CloudKit

/// A record as the cloud's operator sees it, from `welkin record show` on the cloud's data folder.
struct ServerView {
    struct Line: Decodable {
        var name: String
        var type: String
        var stored: String
    }

    private struct Answer: Decodable {
        var fields: [Line]
    }

    private(set) var fields: [String: Line] = [:]

    /// Creates the view; nil without a program and a data folder.
    init?(of id: CKRecord.ID, user: CKRecord.ID, _ options: DemoOptions) throws {
        guard let program = options.welkin, let data = options.data else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "record", "show", options.container, id.zoneID.zoneName, id.recordName, "--user", user.recordName,
            "--data", data, "--json",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw DemoFailure(.unexpected, "welkin record show ended with \(process.terminationStatus).")
        }
        for line in try JSONDecoder().decode(Answer.self, from: bytes).fields { fields[line.name] = line }
    }
}
