import Foundation

/// Errors in logs, in the form of other platforms' logs: code and sub-code, the server's text, the remedy, the pause it
/// asks for, and in a partial failure the error of each item (B-ERR-21). They contain neither secrets nor values of fields.
extension CKError: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    public var description: String {
        let codes = subcode.map { "\(_nsError.code)/\($0)" } ?? "\(_nsError.code)"
        var parts = ["\"\(title)\" (\(codes))"]
        if let text = _nsError.userInfo[Self.serverDescriptionKey] as? String {
            parts.append("server message = \"\(text)\"")
        } else if let text = _nsError.userInfo[NSLocalizedDescriptionKey] as? String {
            parts.append("\"\(text)\"")
        }
        if let uuid = _nsError.userInfo[Self.requestUUIDKey] as? String { parts.append("uuid = \(uuid)") }
        if let remedy = _nsError.localizedRecoverySuggestion { parts.append(remedy) }
        if let retryAfterSeconds { parts.append("Retry after \(retryAfterSeconds) seconds") }
        if let errors = partialErrorsByItemID { parts.append("partial errors: {\n\(Self.list(errors))}") }
        return "<CKError \(addressText(of: _nsError)): \(parts.joined(separator: "; "))>"
    }

    /// The code's name as words.
    private var title: String {
        guard let code = Code(rawValue: _nsError.code) else { return "Unknown Error" }
        return "\(code)".reduce(into: "") { title, letter in
            if letter.isUppercase { title.append(" ") }
            title.append(contentsOf: title.isEmpty ? letter.uppercased() : String(letter))
        }
    }

    /// One line for each item, sorted; of those that failed only because others did, the number.
    private static func list(_ errors: [AnyHashable: any Error]) -> String {
        let bystanders = errors.count { ($0.value as? CKError)?.code == .batchRequestFailed }
        let isCounted = bystanders > 0 && bystanders < errors.count
        var lines = errors.compactMap { item, error in
            isCounted && (error as? CKError)?.code == .batchRequestFailed ? nil : "\t\(name(of: item)) = \(error)\n"
        }.sorted()
        if isCounted { lines.append("\t... \(bystanders) \"Batch Request Failed\" CKErrors omitted ...\n") }
        return lines.joined()
    }

    private static func name(of item: AnyHashable) -> String {
        switch item.base {
        case let id as CKRecordID: "\(id.recordName):(\(id.zoneID.zoneName):\(id.zoneID.ownerName))"
        case let id as CKRecordZoneID: "\(id.zoneName):\(id.ownerName)"
        default: "\(item)"
        }
    }
}
