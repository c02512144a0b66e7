import CloudKitAccounts
import TextEncodings

/// The known keys of a query string; others are ignored (docs/web-services.md §1.2).
struct RequestQuery: Hashable {
    var apiToken: String?
    var webAuthToken: String?
    /// `getCurrentSyncToken=true`, in any case of its letters.
    var wantsSyncToken = false
    var container: String?
    var environment: String?
    /// The notifications that a device has received, as a position from the last long poll.
    var confirmed: String?
    /// The number of the first head of the directory's history that an auditor asks for.
    var from: String?

    init(_ text: Substring) {
        var text = text
        // Bytes in one piece, not characters: this runs for every request.
        self = text.withUTF8 { RequestQuery(bytes: $0) }
    }

    /// A query with the keys of the app that a page is for.
    var ofApp: String {
        let pairs = [("container", container), ("environment", environment), ("ckAPIToken", apiToken)]
        let known = pairs.compactMap { key, value in value.map { "\(key)=\($0.percentEncoded)" } }
        return "?" + known.joined(separator: "&")
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) {
        var start = 0
        while start < bytes.count {
            var end = start
            var equals: Int?
            while end < bytes.count, bytes[end] != UInt8(ascii: "&") {
                if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            if let equals {
                set(
                    UnsafeBufferPointer(rebasing: bytes[start..<equals]),
                    to: UnsafeBufferPointer(rebasing: bytes[(equals + 1)..<end]))
            }
            start = end + 1
        }
    }

    private mutating func set(_ key: UnsafeBufferPointer<UInt8>, to bytes: UnsafeBufferPointer<UInt8>) {
        guard let value = String(percentEncoded: bytes), !value.isEmpty else { return }
        switch String(decoding: key, as: UTF8.self) {
        case "ckAPIToken": apiToken = value
        case "ckWebAuthToken", "ckSession": webAuthToken = Self.repaired(value)
        case "getCurrentSyncToken": wantsSyncToken = value.lowercased() == "true"
        case "container": container = value
        case "environment": environment = value
        case "confirmed": confirmed = value
        case "from": from = value
        default: break
        }
    }

    /// Returns a token with its plus signs, which may have become spaces on the way.
    private static func repaired(_ token: String) -> String {
        token.utf8.contains(UInt8(ascii: " ")) ? token.replacing(" ", with: "+") : token
    }
}
