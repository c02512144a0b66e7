import CloudKitModel

/// One page of a zone's feed as it came, with what was known of the zone when it was asked for.
package struct SealedChanges: Sendable {
    /// The request for the page.
    let request: ZoneChangesRequest
    /// Its records are sealed.
    let page: ZoneChangesPage
    /// The exchange of states that the request began; nil: none.
    let exchange: ZoneExchange?
    /// The moment with whose knowledge the versions of the page are compared, not later than the request.
    let mark: RecordVersions.Mark

    init(
        _ request: ZoneChangesRequest, _ page: ZoneChangesPage, _ exchange: ZoneExchange?, mark: RecordVersions.Mark
    ) {
        self.request = request
        self.page = page
        self.exchange = exchange
        self.mark = mark
    }

    /// A Boolean value that indicates whether further changes wait.
    package var moreComing: Bool { page.moreComing }

    /// The token with which the page was asked for; nil: from the beginning.
    package var previousToken: String? { request.syncToken }

    /// The request for the next page.
    var nextRequest: ZoneChangesRequest {
        var next = request
        next.syncToken = page.syncToken
        next.states = nil
        return next
    }

    /// Returns a Boolean value that indicates whether a record of this page is in an earlier one, too.
    ///
    /// A page that was asked for before the earlier one was opened is not compared with what that taught.
    package func repeats(_ earlier: SealedChanges) -> Bool {
        let names = Set(earlier.names)
        return self.names.contains(where: names.contains)
    }

    private var names: some Sequence<String> {
        page.events.lazy.map { event in
            switch event {
            case .changed(let record): record.id.recordName
            case .deleted(let tombstone): tombstone.recordName
            }
        }
    }
}
