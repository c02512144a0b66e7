import CloudKitModel
import CloudKitRecordLayer

/// The outcome of one operation on a zone, decided before anything is written.
package enum ZoneDecision: Hashable, Sendable {
    /// A new incarnation begins.
    case create(ZoneEncryptionScope)
    /// The zone exists; nothing changes (B-ZN-06).
    case keep
    /// The zone and everything in it goes (B-ZN-08).
    case delete
    /// There is no such zone to delete; nothing changes (B-ZN-07).
    case isAbsent
    /// The zone was gone already, and the client has taken note of why (B-ZN-11).
    case acknowledge(ZoneDeletionReason)
    /// The zone's key gets its next epoch.
    case raise(ZoneHeader)
    case refuse(RequestFailure)

    /// Decides the saving of a zone.
    ///
    /// - Parameters:
    ///   - scope: The scope of the keys in it, fixed for the life of the zone (B-ZN-16).
    ///   - held: The zone stored under the name.
    ///   - zoneCount: Live custom zones, of which there may be `zonesMax` (B-LIM-06).
    package init(
        creating id: ZoneID, _ scope: ZoneEncryptionScope = .perRecord, held: ZoneHeader?, zoneCount: Int, zonesMax: Int
    ) {
        if let held, held.state == .live {
            self = held.encryptionScope == scope ? .keep : .refuse(.fixedEncryptionScope)
        } else if let fault = Self.nameFault(id.zoneName) {
            self = .refuse(fault)
        } else if zoneCount >= zonesMax {
            self = .refuse(
                RequestFailure(
                    .itemLimitExceeded, "A user can have \(zonesMax) zones in a container",
                    remedy: "Delete a zone first."))
        } else {
            self = .create(scope)
        }
    }

    /// Decides the deletion of a zone.
    package init(deleting id: ZoneID, held: ZoneHeader?) {
        switch held?.state {
        case _ where id.isDefaultZone:
            self = .refuse(
                RequestFailure(
                    .badRequest, "The default zone cannot be deleted", remedy: "Delete the records in it."))
        case nil, .deleted: self = .isAbsent
        case .live: self = .delete
        case .purged: self = .acknowledge(.purged)
        case .keysReset: self = .acknowledge(.encryptedDataReset)
        }
    }

    /// Decides the beginning of a new key epoch: compare and set, so that of two devices one does it and the other learns
    /// of it.
    ///
    /// - Parameter epoch: The epoch after the one the device knows.
    package init(raisingKeyEpochTo epoch: UInt32, held: ZoneHeader?, surface: Caller.ClientKind) {
        do throws(RequestFailure) {
            // A caller without keys has no use for a new one.
            guard surface == .native else { throw .unexpectedInput }
            let zone = try ZoneAccess.live(held)
            guard zone.keyEpoch < UInt32.max, epoch == zone.keyEpoch + 1 else { throw .staleKeyEpoch }
            self = .raise(zone)
        } catch {
            self = .refuse(error)
        }
    }

    private static func nameFault(_ name: String) -> RequestFailure? {
        do throws(RequestFailure) {
            try Validity.newZoneName(name)
            return nil
        } catch {
            return error
        }
    }
}

extension RequestFailure {
    /// B-ZN-16.
    fileprivate static let fixedEncryptionScope = RequestFailure(
        .serverRejected, "the encryption scope of a zone is fixed when it is created",
        remedy: "Save the zone with the scope that it has, or delete it first.")
}
