import CloudKitModel

extension RequestFailure.Code {
    /// Returns the finer code that a reason of web services stands for (docs/web-services.md §5.3); nil for a reason that says no more than
    /// its word.
    static func known(_ reason: String, of word: WireErrorCode) -> Self? {
        switch word {
        case .conflict where reason == "record to insert already exists": .recordExists
        case .notFound where reason.hasPrefix("Did not find record type"): .typeNotFound
        case .notFound where reason == "could not find handler for endpoint": .endpointNotFound
        case .authenticationFailed where reason.hasPrefix("unknown API token"): .unknownAPIToken
        case .badRequest: known(badRequest: reason)
        default: nil
        }
    }

    private static func known(badRequest reason: String) -> Self? {
        if reason.hasSuffix("is not marked queryable") || reason.hasSuffix("is not marked sortable")
            || reason.contains("is not marked indexable")
        {
            return .indexMissing
        }
        if reason == "client knowledge differs from server knowledge" { return .changeTokenExpired }
        if reason.contains("more than the maximum number of items") { return .itemLimitExceeded }
        if reason.hasSuffix("too large") { return .sizeLimitExceeded }
        return nil
    }
}
