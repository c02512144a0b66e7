/// One operation of `zones/modify`.
package enum ZoneOperation: Hashable, Sendable {
    case create(ZoneID, ZoneEncryptionScope = .perRecord)
    case delete(ZoneID)
    /// Begins a new epoch of the zone's key, the one after the present: compare and set.
    case raiseKeyEpoch(ZoneID, to: UInt32)

    /// The zone that is saved or deleted.
    package var zoneID: ZoneID {
        switch self {
        case .create(let id, _), .delete(let id), .raiseKeyEpoch(let id, _): id
        }
    }

    /// A Boolean value that indicates whether the operation deletes.
    package var isDeletion: Bool { if case .delete = self { true } else { false } }
}

/// The outcome of one zone of a request.
package enum ZoneOutcome: Hashable, Sendable {
    case zone(Zone)
    case deleted(ZoneID)
    case failed(ZoneID, RequestFailure)
}
