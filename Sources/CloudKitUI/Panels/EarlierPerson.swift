import CloudKit

/// A person of another share of the user, to be added again without typing.
struct EarlierPerson: Sendable {
    /// The record name of the user, or else the address.
    let id: String
    let lookup: CKUserIdentity.LookupInfo
    let shown: PanelContent.Requester

    private static let peopleMax = 20
    private static let zonesMax = 20
    private static let pagesMax = 5

    /// Returns the people of the user's own shares, by name; those that the first thousands of records show.
    static func all(in container: CKContainer, except share: CKRecord.ID?) async -> [EarlierPerson] {
        let database = container.privateCloudDatabase
        var people: [String: EarlierPerson] = [:]
        for zone in ((try? await database.allRecordZones()) ?? []).prefix(zonesMax) {
            for other in await shares(in: zone.zoneID, of: database) where other.recordID != share {
                for participant in other.participants where participant.role != .owner {
                    guard let person = EarlierPerson(participant.userIdentity) else { continue }
                    people[person.id] = person
                }
            }
        }
        return Array(people.values.sorted { ($0.shown.name, $0.id) < ($1.shown.name, $1.id) }.prefix(peopleMax))
    }

    // Not a query, which takes an index that a schema in production may not have.
    private static func shares(in zone: CKRecordZone.ID, of database: CKDatabase) async -> [CKShare] {
        var shares: [CKShare] = []
        var token: CKServerChangeToken?
        for _ in 0..<pagesMax {
            let page = try? await database.recordZoneChanges(inZoneWith: zone, since: token, desiredKeys: [])
            guard let page else { break }
            shares += page.modificationResultsByID.values.compactMap { try? $0.get().record as? CKShare }
            token = page.changeToken
            if !page.moreComing { break }
        }
        return shares
    }

    private init?(_ identity: CKUserIdentity) {
        let requester = SharedItem.Requester(identity)
        guard
            let lookup = identity.lookupInfo
                ?? identity.userRecordID.map({ CKUserIdentity.LookupInfo(userRecordID: $0) }),
            !requester.id.isEmpty, requester.name != nil || requester.address != nil
        else { return nil }
        id = requester.id
        self.lookup = lookup
        shown = PanelContent.Requester(
            id: requester.id, name: requester.shownName, address: requester.name == nil ? nil : requester.address)
    }
}
