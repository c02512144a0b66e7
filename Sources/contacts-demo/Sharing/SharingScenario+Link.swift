import CloudKit

// A link for any user who has it, and the end of sharing.
extension SharingScenario {
    private static let zoneName = "Album"

    mutating func shareByLink() async throws {
        let zone = try await recreateZone(Self.zoneName)
        let album = CKRecord(recordType: "Album", recordID: CKRecord.ID(recordName: "Summer", zoneID: zone.zoneID))
        album["name"] = "Summer"
        album.encryptedValues["caption"] = "The lake at noon"
        let share = CKShare(rootRecord: album)
        share[CKShare.SystemFieldKey.title] = "Summer"
        share.publicPermission = .readOnly
        try await adasLaptop.save([album, share], to: adasLaptop.own)
        let url = try address(of: share)
        try expect(url.fragment != nil, "the link contains a secret that is not sent to the server.")
        terminal.row("link", shown(url))
        terminal.row("after the #", "a secret that no cloud receives", "it decrypts the share")

        let id = CKRecord.ID(recordName: "Summer", zoneID: try await sharedZoneID(Self.zoneName))
        for app in [bensPhone, cleosPhone] {
            try await app.confirmShareParticipation(from: url)
            let seen = try await app.shared.record(for: id)
            try expect(
                seen.encryptedValues["caption"] as? String == "The lake at noon", "\(app.owner) reads the caption.")
            let code = try await refusal { try await app.shared.save(seen) }
            try expect(code == .permissionFailure, "the link is for reading.")
            terminal.row(app.name, "joins, reads the caption", "a save is permissionFailure")
        }
        let open = try await adasLaptop.current(share.recordID, in: adasLaptop.own)
        showParticipants(of: open)

        open.publicPermission = .none
        try await adasLaptop.own.save(open)
        let code = try await refusal { _ = try await bensPhone.shared.record(for: id) }
        try expect(code == .zoneNotFound, "users of the link have lost access.")
        terminal.row("Ada closes the link", "Ben and Cleo lose access", "new keys for later changes")
    }

    mutating func endShares() async throws {
        guard let folderShare, let contactShare else { return }
        // Deleting the share in the shared database leaves it.
        let theirs = CKRecord.ID(
            recordName: folderShare.recordName, zoneID: try await sharedZoneID(folderShare.zoneID.zoneName))
        let feed = try await bensPhone.shared.databaseChanges(since: nil)
        try await bensLaptop.shared.deleteRecord(withID: theirs)
        let after = try await bensPhone.shared.databaseChanges(since: feed.changeToken)
        try expect(after.deletions.map(\.zoneID) == [theirs.zoneID], "Ben's other device is notified.")
        let kept = try await adasLaptop.own.records(
            for: ["Travel", "Tickets.txt", "Route.txt", "Packing.txt"].map {
                CKRecord.ID(recordName: $0, zoneID: folderShare.zoneID)
            })
        for result in kept.values { _ = try result.get() }
        terminal.row("Ben leaves the folder", "it disappears from his devices", "Ada has all of it, Ben's file too")

        let share = try await adasPhone.current(contactShare, in: adasPhone.own)
        if let cleo = share.participants.first(where: { $0.role == .privateUser }) { share.removeParticipant(cleo) }
        try await adasPhone.own.save(share)
        let zones = try await cleosPhone.shared.allRecordZones()
        try expect(zones.isEmpty, "no zone is shared with Cleo.")
        terminal.row("Ada removes Cleo", "her shared database is empty", "new keys before the save returned")
    }
}
