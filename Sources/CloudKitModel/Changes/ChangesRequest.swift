/// One zone of a `changes/zone` request.
package struct ZoneChangesRequest: Hashable, Sendable {
    /// The zone.
    package var zoneID: ZoneID
    /// nil: from the beginning. Empty: nothing, caught up (docs/web-services.md §8.3).
    package var syncToken: String?
    /// The most events to return; nil for the server's limit.
    package var resultsLimit: Int?
    /// The fields to return; nil for all.
    package var desiredKeys: [String]?
    /// The record types to return; nil for all.
    package var desiredRecordTypes: [String]?
    /// Newest first.
    package var reverse: Bool
    /// A Boolean value that indicates whether numbers are sent as strings.
    package var numbersAsStrings: Bool
    /// The part about the states of the account's devices; nil: none are wanted.
    package var states: ZoneStatesRequest?

    /// Creates a value with the given properties.
    package init(
        zoneID: ZoneID, syncToken: String? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil, reverse: Bool = false, numbersAsStrings: Bool = false,
        states: ZoneStatesRequest? = nil
    ) {
        self.states = states
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
    /// The zone.
    package var zoneID: ZoneID
    /// The events of this page, oldest first unless asked otherwise.
    package var events: [RecordChangeEvent]
    /// The token from which the next request continues.
    package var syncToken: String
    /// A Boolean value that indicates whether further events wait.
    package var moreComing: Bool
    /// The client change token of the last save of this zone (B-BAT-11).
    package var clientChangeToken: [UInt8]?
    /// The states of the account's devices, with the last page of a feed; nil: they were not wanted.
    package var states: ZoneStates?

    /// Creates a value with the given properties.
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

/// The outcome of one zone of a `changes/zone` request.
package enum ZoneChangesOutcome: Hashable, Sendable {
    case page(ZoneChangesPage)
    case failed(ZoneID, RequestFailure)
}

/// A `changes/database` request.
package struct DatabaseChangesRequest: Hashable, Sendable {
    /// The token from which to continue; nil for the beginning.
    package var syncToken: String?
    /// The most events to return; nil for the server's limit.
    package var resultsLimit: Int?

    /// Creates a value with the given properties.
    package init(syncToken: String? = nil, resultsLimit: Int? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
    }
}

/// The reason why a zone was deleted (B-ZN-09).
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
    /// The events of this page, oldest first.
    package var events: [ZoneChangeEvent]
    /// The token from which the next request continues.
    package var syncToken: String
    /// A Boolean value that indicates whether further events wait.
    package var moreComing: Bool

    /// Creates a value with the given properties.
    package init(events: [ZoneChangeEvent], syncToken: String, moreComing: Bool) {
        self.events = events
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
