import CloudKit

// A folder and its files: records whose parent is the folder are shared with it.
extension SharingScenario {
    private static let zoneName = "Documents"

    private func fileRecord(_ name: String, _ text: String, in folder: CKRecord.ID) throws -> CKRecord {
        let record = CKRecord(recordType: "File", recordID: CKRecord.ID(recordName: name, zoneID: folder.zoneID))
        let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + "-" + name)
        try Data(text.utf8).write(to: url)
        record["name"] = name
        record["contents"] = CKAsset(fileURL: url)
        record.encryptedValues["note"] = "note on \(name)"
        record.setParent(folder)
        return record
    }

    private func removeOriginals(of records: [CKRecord]) {
        for record in records {
            if let url = (record["contents"] as? CKAsset)?.fileURL { try? FileManager.default.removeItem(at: url) }
        }
    }

    private func text(of record: CKRecord) -> String? {
        (record["contents"] as? CKAsset)?.fileURL.flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }

    mutating func shareFolder() async throws {
        let zone = try await recreateZone(Self.zoneName)
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "Travel", zoneID: zone.zoneID))
        folder["name"] = "Travel"
        let files = [
            try fileRecord("Tickets.txt", "Two seats, car 9", in: folder.recordID),
            try fileRecord("Route.txt", "Along the lake", in: folder.recordID),
        ]
        let diary = CKRecord(recordType: "File", recordID: CKRecord.ID(recordName: "Diary.txt", zoneID: zone.zoneID))
        diary["name"] = "Diary.txt"
        try await adasLaptop.save([folder, diary] + files, to: adasLaptop.own)
        removeOriginals(of: files)
        terminal.row("zone \(Self.zoneName)", "1 folder, 2 files in it, 1 beside it")

        let share = CKShare(rootRecord: folder)
        share[CKShare.SystemFieldKey.title] = "Travel"
        share[CKShare.SystemFieldKey.shareType] = "org.welkin.folder"
        let ben = try await adasLaptop.invite(options.ben, to: share, .readWrite)
        try expect(ben.userIdentity.hasiCloudAccount, "Ben has an account.")
        try await adasLaptop.save([folder, share], to: adasLaptop.own)
        folderShare = share.recordID
        try expect(folder.share?.recordID == share.recordID, "the folder refers to its share.")
        terminal.row("share", "CKShare(rootRecord: folder)", share.recordID.recordName.clipped(to: 20))
        terminal.row("link", shown(share.url))
        showParticipants(of: share)
    }

    mutating func joinFolder() async throws {
        guard let folderShare else { return }
        let share = try await adasLaptop.current(folderShare, in: adasLaptop.own)
        try await bensLaptop.confirmShareParticipation(from: try address(of: share))
        terminal.row(bensLaptop.name, "confirmShareParticipation(from: url)")

        let zones = try await bensPhone.shared.allRecordZones()
        let theirs = try await sharedZoneID(Self.zoneName)
        try expect(zones.contains { $0.zoneID == theirs }, "the zone is in Ben's shared database, under Ada's name.")
        let pull = try await bensPhone.pull(theirs, from: bensPhone.shared)
        terminal.row(bensPhone.name, "pulls \(pull.changed.count.of("record"))", pull.pages.of("page"))
        let files = pull.changed.filter { $0.recordType == "File" }.sorted {
            $0.recordID.recordName < $1.recordID.recordName
        }
        terminal.table(
            ["file", "contents", "encrypted note"],
            files.map { [$0.recordID.recordName, text(of: $0) ?? "", $0.encryptedValues["note"] as? String ?? ""] })
        try expect(files.map { text(of: $0) } == ["Along the lake", "Two seats, car 9"], "Ben reads both files.")

        let route = files[0]
        route.encryptedValues["note"] = "longer, but prettier"
        let packing = try fileRecord("Packing.txt", "Raincoats", in: CKRecord.ID(recordName: "Travel", zoneID: theirs))
        try await bensPhone.save([route, packing], to: bensPhone.shared)
        removeOriginals(of: [packing])
        terminal.row(bensPhone.name, "changes one file, adds another")
        let back = try await adasPhone.pull(CKRecordZone(zoneName: Self.zoneName).zoneID, from: adasPhone.own)
        let added = back.changed.first { $0.recordID.recordName == "Packing.txt" }
        try expect(added?.encryptedValues["note"] as? String == "note on Packing.txt", "Ada reads what Ben added.")
        terminal.row(adasPhone.name, "has both", "Ben's file belongs to Ada")

        let outside = CKRecord.ID(recordName: "Diary.txt", zoneID: theirs)
        let code = try await refusal { _ = try await bensPhone.shared.record(for: outside) }
        try expect(code == .unknownItem, "Ben cannot see records outside of the folder.")
        terminal.row("the diary beside it", "unknownItem for Ben")
    }

    mutating func moveInAndOut() async throws {
        let theirs = try await sharedZoneID(Self.zoneName)
        _ = try await bensPhone.pull(theirs, from: bensPhone.shared)
        let zone = CKRecordZone(zoneName: Self.zoneName).zoneID
        let diary = try await adasLaptop.own.record(for: CKRecord.ID(recordName: "Diary.txt", zoneID: zone))
        diary.setParent(CKRecord.ID(recordName: "Travel", zoneID: zone))
        try await adasLaptop.own.save(diary)
        let entered = try await bensPhone.pull(theirs, from: bensPhone.shared)
        try expect(entered.changed.map(\.recordID.recordName) == ["Diary.txt"], "a record moved in appears.")
        terminal.row("moved in", "Ben's feed: a change", "Diary.txt")
        diary.parent = nil
        try await adasLaptop.own.save(diary)
        let gone = try await bensPhone.pull(theirs, from: bensPhone.shared)
        try expect(gone.deleted.map(\.recordName) == ["Diary.txt"], "a record moved out disappears.")
        terminal.row("moved out", "Ben's feed: a deletion", "Ada keeps it")
    }
}
