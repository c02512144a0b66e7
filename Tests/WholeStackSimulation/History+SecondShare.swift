import CloudKit

// Another shared tree in the zone whose share changes: what its owner moves out of the one is in the other.
extension History {
    /// The name of the user who sees the other tree, and nothing else.
    static let observer = "eve"
    private static let secondRootName = "Root2"

    /// Whether there is another tree, whose zone never ends.
    var hasSecondShare: Bool { observer != nil && circleOwner != resettingUser }

    /// Returns the root of the other tree, as the owner of the zone names it; nil: there is none.
    func secondRoot(at place: Place) -> CKRecord.ID? {
        hasSecondShare && place.zoneID == Self.circle
            ? CKRecord.ID(recordName: Self.secondRootName, zoneID: place.zoneID) : nil
    }

    /// Shares the other tree.
    func prepareSecondShare() async throws {
        guard let owner = circleOwnersDevice.app?.container, let place = circle(of: circleOwnersDevice),
            let id = secondRoot(at: place), let observer = observer?.app?.container
        else { return }
        let root = CKRecord(recordType: "Item", recordID: id)
        let share = CKShare(rootRecord: root)
        let address = SimulatedUser(name: Self.observer).email
        share.addParticipant(try await owner.shareParticipant(forEmailAddress: address))
        let saved = try await owner.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        guard let url = (try saved.saveResults[share.recordID]?.get() as? CKShare)?.url else {
            throw CKError(.internalError)
        }
        _ = try await observer.accept(try await observer.shareMetadata(for: url))
    }

    /// Checks that the observer sees the other tree as it is, and nothing else.
    func judgeSecondShare(_ content: [Cell: Int]) async throws {
        guard hasSecondShare, let sharing, let observer, let app = observer.app,
            let owner = circleOwnersDevice.app?.container, let circle = circle(of: circleOwnersDevice),
            let root = secondRoot(at: circle)
        else { return }
        // A device of the owner's looks at the share now and then, and does what its keys need.
        if let share = try await owner.privateCloudDatabase.record(for: root).share {
            _ = try await owner.privateCloudDatabase.record(for: share.recordID)
        }
        let zoneID = CKRecordZone.ID(zoneName: root.zoneID.zoneName, ownerName: circleOwnerName)
        let zones = try await app.container.sharedCloudDatabase.allRecordZones().map(\.zoneID)
        if zones != [zoneID] { violated("the observer sees the zones \(zones.map(\.zoneName))") }
        let place = Place(
            owner: sharing.owner, scope: .shared, zoneID: zoneID, writes: .none,
            root: CKRecord.ID(recordName: root.recordName, zoneID: zoneID), isContested: true,
            hasFiles: circle.hasFiles)
        var expected: [String: Int] = [:]
        for (cell, stamp) in content where cell.owner == sharing.owner && cell.zone == root.zoneID.zoneName {
            if !ledger.isShared(stamp, by: sharing.owner) { expected[cell.name] = stamp }
        }
        try await judgeFollowing(
            observer, app, place, expected, endingWith: [.changeTokenExpired], pageMax: chance.percent(50) ? 3 : nil)
    }
}
