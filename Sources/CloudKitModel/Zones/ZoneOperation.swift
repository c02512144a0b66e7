/// One operation of `zones/modify`.
package enum ZoneOperation: Hashable, Sendable {
    case create(ZoneID)
    case delete(ZoneID)

    package var zoneID: ZoneID {
        switch self {
        case .create(let id), .delete(let id): id
        }
    }
}

/// What became of one zone of a request.
package enum ZoneOutcome: Hashable, Sendable {
    case zone(Zone)
    case deleted(ZoneID)
    case failed(ZoneID, RequestFailure)
}
