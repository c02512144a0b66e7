import CloudKit

// A whole zone: all its records are shared, without parents.
extension SharingScenario {
    private static let zoneName = "Household"

    private func chore(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Chore", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["name"] = name
        return record
    }

    mutating func shareZone() async throws {
        let zone = try await recreateZone(Self.zoneName)
        try expect(zone.capabilities.contains(.zoneWideSharing), "a custom zone can be shared as a whole.")
        try await adasLaptop.save(
            ["Dishes", "Plants", "Letters"].map { chore($0, in: zone.zoneID) }, to: adasLaptop.own)
        let share = CKShare(recordZoneID: zone.zoneID)
        share[CKShare.SystemFieldKey.title] = "Our household"
        _ = try await adasLaptop.invite(options.ben, to: share, .readOnly)
        try await adasLaptop.own.save(share)
        try expect(share.recordID.recordName == CKRecordNameZoneWideShare, "the share is zone-wide.")
        terminal.row("share", "CKShare(recordZoneID: zone)", share.recordID.recordName)

        // The counterpart of `userDidAcceptCloudKitShareWith` on other platforms.
        async let opened = bensPhone.container.openedShares().first { _ in true }
        try machine.open(try address(of: share), profile: bensPhone.profile)
        guard let metadata = await opened else {
            throw DemoFailure(.unexpected, "Not as expected: no share was opened.")
        }
        try expect(
            metadata.participantStatus == .pending, "the app receives the opened share, not yet accepted.")
        try expect(metadata.hierarchicalRootRecordID == nil, "a zone has no root.")
        terminal.row(bensPhone.name, "welkin open URL", "the running app gets CKShare.Metadata")
        try await bensPhone.container.accept(metadata)
        terminal.row(bensPhone.name, "container.accept(metadata)")

        let theirs = try await sharedZoneID(Self.zoneName)
        let plants = try await bensLaptop.shared.record(for: CKRecord.ID(recordName: "Plants", zoneID: theirs))
        plants["name"] = "Plants (Ben)"
        let code = try await refusal { try await bensLaptop.shared.save(plants) }
        try expect(code == .permissionFailure, "a read-only participant cannot write.")
        terminal.row(bensLaptop.name, "may only read", "a save is permissionFailure")

        let current = try await adasPhone.current(share.recordID, in: adasPhone.own)
        current.participants.first { $0.role == .privateUser }?.permission = .readWrite
        try await adasPhone.own.save(current)
        try await bensLaptop.shared.save(plants)
        try await bensLaptop.shared.save(chore("Windows", in: theirs))
        terminal.row(adasPhone.name, "grants write access", "and Ben saves")
        showParticipants(of: current)
    }
}
