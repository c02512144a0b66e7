import CloudKitLogs
import Foundation

/// An entry of the log as a JSON object.
struct LogLine: Encodable {
    var id: String
    var time: String
    var kind: String
    var operation: String
    var container: String?
    var environment: String?
    var database: String?
    var user: String?
    var device: String?
    var zone: String?
    var recordType: String?
    var client: String?
    var operationID: String?
    var groupID: String?
    var group: String?
    var status: Int?
    var code: String?
    var milliseconds: Double
    var bytesIn: Int
    var bytesOut: Int
    var itemsIn: Int
    var itemsOut: Int
    var itemsFailed: Int
    var retryAfter: Int?
    var failures: [LogFailure]?
    var attributes: [String: String]?

    init(_ entry: LogEntry) {
        id = entry.id.description
        time = Self.time(entry.time)
        kind = entry.kind.word
        operation = entry.operation
        container = entry.container
        environment = entry.environment
        database = entry.database
        user = entry.user
        device = entry.device
        zone = entry.zone
        recordType = entry.recordType
        client = entry.client
        operationID = entry.operationID?.description
        groupID = entry.group?.description
        group = entry.groupName
        status = entry.status == 0 ? nil : entry.status
        code = entry.code
        milliseconds = Double(entry.microseconds / 100) / 10
        bytesIn = entry.bytesIn
        bytesOut = entry.bytesOut
        itemsIn = entry.itemsIn
        itemsOut = entry.itemsOut
        itemsFailed = entry.itemsFailed
        retryAfter = entry.retryAfter == 0 ? nil : entry.retryAfter
        failures = entry.details.flatMap { $0.failures.isEmpty ? nil : $0.failures }
        attributes = entry.details.flatMap { $0.attributes.isEmpty ? nil : $0.attributes }
    }

    /// Returns an entry as one line of text.
    static func text(of entry: LogEntry) -> String {
        var words = [time(entry.time), entry.kind.word, entry.operation]
        if entry.status > 0 { words.append(String(entry.status)) }
        if let code = entry.code { words.append(code) }
        if entry.kind != .push { words.append("\(Double(entry.microseconds / 100) / 10) ms") }
        let named: [(String, String?)] = [
            ("container", entry.container), ("environment", entry.environment), ("database", entry.database),
            ("zone", entry.zone), ("type", entry.recordType), ("user", entry.user), ("device", entry.device),
            ("group", entry.groupName), ("client", entry.client),
        ]
        words += named.compactMap { name, value in value.map { "\(name)=\($0)" } }
        let counts = [
            ("in", entry.bytesIn), ("out", entry.bytesOut), ("items", entry.itemsIn), ("answered", entry.itemsOut),
            ("failed", entry.itemsFailed), ("retryAfter", entry.retryAfter),
        ]
        words += counts.compactMap { name, value in value > 0 ? "\(name)=\(value)" : nil }
        words.append(entry.id.description)
        if let reason = entry.reason { words.append("\"\(reason)\"") }
        return words.joined(separator: " ")
    }

    private static func time(_ milliseconds: Int64) -> String {
        let text = Date(timeIntervalSince1970: Double(milliseconds / 1000)).ISO8601Format().dropLast()
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(text).\(fraction)Z"
    }
}
