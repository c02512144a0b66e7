/// The keys of a query string that mean something to us; others are ignored (web-services.md §1.2).
struct RequestQuery: Hashable {
    var apiToken: String?
    var webAuthToken: String?
    /// `getCurrentSyncToken=true`.
    var wantsSyncToken = false
    var container: String?
    var environment: String?

    init(_ text: Substring) {
        for pair in text.split(separator: "&") {
            let equals = pair.firstIndex(of: "=") ?? pair.endIndex
            guard equals < pair.endIndex, let value = PercentEncoding.decode(pair[pair.index(after: equals)...]),
                !value.isEmpty
            else { continue }
            switch pair[..<equals] {
            case "ckAPIToken": apiToken = value
            // Somewhere on the way a plus may have become a space.
            case "ckWebAuthToken", "ckSession": webAuthToken = value.replacing(" ", with: "+")
            case "getCurrentSyncToken": wantsSyncToken = value == "true"
            case "container": container = value
            case "environment": environment = value
            default: break
            }
        }
    }
}
