/// One zone of a `changes/zone` request.
package struct ZoneChangesRequest: Hashable, Sendable {
    package var zoneID: ZoneID
    /// nil: from the beginning. Empty: nothing, caught up (docs/web-services.md §8.3).
    package var syncToken: String?
    package var resultsLimit: Int?
    package var desiredKeys: [String]?
    package var desiredRecordTypes: [String]?
    /// Newest first.
    package var reverse: Bool
    package var numbersAsStrings: Bool

    package init(
        zoneID: ZoneID, syncToken: String? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil, reverse: Bool = false, numbersAsStrings: Bool = false
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
        self.reverse = reverse
        self.numbersAsStrings = numbersAsStrings
    }
}

/// One entry of a zone's feed: a record's newest state, or that it is gone (B-CHG-05).
package enum RecordChangeEvent: Hashable, Sendable {
    case changed(Record)
    case deleted(RecordTombstone)
}

/// One page of a zone's feed.
package struct ZoneChangesPage: Hashable, Sendable {
    package var zoneID: ZoneID
    package var events: [RecordChangeEvent]
    package var syncToken: String
    package var moreComing: Bool
    /// What the last save of this zone sent along (B-BAT-11).
    package var clientChangeToken: [UInt8]?

    package init(
        zoneID: ZoneID, events: [RecordChangeEvent], syncToken: String, moreComing: Bool,
        clientChangeToken: [UInt8]? = nil
    ) {
        self.zoneID = zoneID
        self.events = events
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.clientChangeToken = clientChangeToken
    }
}

/// What became of one zone of a `changes/zone` request.
package enum ZoneChangesOutcome: Hashable, Sendable {
    case page(ZoneChangesPage)
    case failed(ZoneID, RequestFailure)
}

/// A `changes/database` request.
package struct DatabaseChangesRequest: Hashable, Sendable {
    package var syncToken: String?
    package var resultsLimit: Int?

    package init(syncToken: String? = nil, resultsLimit: Int? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
    }
}

/// Why a zone is gone (B-ZN-09).
package enum ZoneDeletionReason: String, Hashable, Sendable, CaseIterable {
    case deleted, purged, encryptedDataReset
}

/// One entry of a database's feed.
package enum ZoneChangeEvent: Hashable, Sendable {
    case changed(ZoneID, syncToken: String)
    case deleted(ZoneID, ZoneDeletionReason)
}

/// One page of a database's feed.
package struct DatabaseChangesPage: Hashable, Sendable {
    package var events: [ZoneChangeEvent]
    package var syncToken: String
    package var moreComing: Bool

    package init(events: [ZoneChangeEvent], syncToken: String, moreComing: Bool) {
        self.events = events
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
