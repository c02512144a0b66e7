/// The keys of a query string that mean something to us; others are ignored (web-services.md §1.2).
struct RequestQuery: Hashable {
    var apiToken: String?
    var webAuthToken: String?
    /// `getCurrentSyncToken=true`.
    var wantsSyncToken = false
    var container: String?
    var environment: String?

    init(_ text: Substring) {
        // Bytes, not characters: this runs for every request.
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                let value = PercentEncoding.decode(Substring(pair[pair.index(after: equals)...])), !value.isEmpty
            else { continue }
            switch Substring(pair[..<equals]) {
            case "ckAPIToken": apiToken = value
            case "ckWebAuthToken", "ckSession": webAuthToken = Self.repaired(value)
            case "getCurrentSyncToken": wantsSyncToken = value == "true"
            case "container": container = value
            case "environment": environment = value
            default: break
            }
        }
    }

    /// Somewhere on the way a plus may have become a space.
    private static func repaired(_ token: String) -> String {
        token.utf8.contains(UInt8(ascii: " ")) ? token.replacing(" ", with: "+") : token
    }
}
