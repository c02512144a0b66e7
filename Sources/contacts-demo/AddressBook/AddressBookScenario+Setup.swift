import CloudKit

extension AddressBookScenario {
    /// Checks that both devices are signed in to one account.
    mutating func checkDevices() async throws {
        var users: [CKRecord.ID] = []
        for (device, profile) in [(a, options.profileA), (b, options.profileB)] {
            let status = try await device.container.accountStatus()
            guard status == .available else {
                throw DemoFailure(
                    .notSignedIn,
                    "Device \(device.name) is not signed in. "
                        + "Sign in with: welkin login --email EMAIL --profile \(profile)")
            }
            users.append(try await device.container.userRecordID())
            terminal.row("device \(device.name)", "profile \(profile)", "account available")
        }
        try expect(users[0].recordName == users[1].recordName, "the two profiles belong to different users.")
        terminal.row("user", "the same on both", users[0].recordName)
        terminal.row("container", options.container)
    }

    /// Creates the zone; deletes that of an earlier run first.
    mutating func makeZone() async throws {
        if try await a.database.allRecordZones().contains(where: { $0.zoneID.zoneName == zone.zoneName }) {
            try await a.database.deleteRecordZone(withID: zone)
            terminal.row("deleted", "the zone of an earlier run")
        }
        let saved = try await a.database.save(CKRecordZone(zoneID: zone))
        try expect(saved.capabilities.contains(.atomic), "a custom zone supports atomic batches.")
        try expect(saved.capabilities.contains(.fetchChanges), "a custom zone supports fetching changes.")
        terminal.row("zone", zone.zoneName, "atomic batches, changes")
    }

    /// Reads the file; invalid cards are reported and skipped.
    mutating func readContacts() throws -> [Contact] {
        let path = options.contacts ?? ""
        guard let data = FileManager.default.contents(atPath: path) else {
            throw DemoFailure(.usage, "There is no file to read at \(path).")
        }
        let file = VCardFile(data)
        var contacts: [Contact] = []
        var problems = file.problems
        for card in file.cards {
            let contact = Contact(card)
            if expected.updateValue(contact, forKey: contact.recordName) == nil {
                contacts.append(contact)
            } else {
                problems.append(VCardProblem(line: card.line, reason: "an earlier card has this UID"))
            }
        }
        terminal.row("file", URL(fileURLWithPath: path).lastPathComponent, data.count.of("byte"))
        terminal.row("cards", contacts.count.of("contact"))
        terminal.row("skipped", problems.count.of("card"))
        for problem in problems.sorted(by: { $0.line < $1.line }).prefix(10) { terminal.warning("\(problem)") }
        if problems.count > 10 { terminal.warning("… and \((problems.count - 10).grouped) more") }
        for contact in contacts.prefix(3) { terminal.detail(contact.fullName + ", " + contact.text(.city)) }
        cast = expected.keys.sorted()
        guard contacts.count >= Self.castSize else {
            throw DemoFailure(.usage, "The scenario needs \(Self.castSize) contacts; the file has \(contacts.count).")
        }
        return contacts
    }

    /// Saves all contacts in batches, as one group of operations.
    mutating func upload(_ contacts: [Contact]) async throws {
        let group = CKOperationGroup()
        group.name = "First import"
        group.quantity = contacts.count
        group.expectedSendSize = .megabytes
        group.expectedReceiveSize = .kilobytes
        terminal.row("operation group", "\"First import\"", "\(contacts.count.grouped) items, sending megabytes")

        let start = ContinuousClock.now
        var bar = ProgressBar(terminal, "saved", total: contacts.count)
        var saved = 0
        for first in stride(from: 0, to: contacts.count, by: Self.batchSize) {
            let batch = contacts[first..<min(first + Self.batchSize, contacts.count)].map { $0.newRecord(in: zone) }
            for try await _ in a.database.upload(batch, group: group) {
                saved += 1
                bar.advance()
            }
            for record in batch { a.book[record.recordID.recordName, in: zone] = record }
        }
        bar.finish()
        try expect(saved == contacts.count, "\(contacts.count) records were saved, not \(saved).")
        try expect(
            a.book.records.values.allSatisfy { $0.recordChangeTag != nil }, "each saved record has a change tag.")
        let seconds = (ContinuousClock.now - start).seconds
        terminal.row(
            "batches", "\((contacts.count + Self.batchSize - 1) / Self.batchSize) of \(Self.batchSize)",
            "\(Int(Double(saved) / seconds).grouped) records/s")
    }
}
