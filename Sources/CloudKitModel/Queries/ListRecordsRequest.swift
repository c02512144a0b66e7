/// One `records/list` request: the records of a zone without a query, as their owner takes them along.
package struct ListRecordsRequest: Hashable, Sendable {
    /// The zone; the default zone too, which has no feed of changes.
    package var zoneID: ZoneID
    /// 0 or nil: the server decides.
    package var resultsLimit: Int?
    /// The marker from which to continue; nil for the beginning.
    package var continuationMarker: String?
    /// A Boolean value that indicates whether numbers are sent as strings.
    package var numbersAsStrings: Bool

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - resultsLimit: The most records of the page; nil: the server decides.
    ///   - continuationMarker: The marker of the page before; nil for the first page.
    ///   - numbersAsStrings: Whether numbers are sent as strings.
    package init(
        zoneID: ZoneID, resultsLimit: Int? = nil, continuationMarker: String? = nil, numbersAsStrings: Bool = false
    ) {
        self.zoneID = zoneID
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.numbersAsStrings = numbersAsStrings
    }
}
