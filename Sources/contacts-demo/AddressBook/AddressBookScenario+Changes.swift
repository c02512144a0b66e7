import CloudKit

extension AddressBookScenario {
    /// Pulls all contacts on device B.
    mutating func pullAll() async throws {
        let pull = try await b.book.pull(zone, from: b.database, pageSize: Self.batchSize)
        show(pull)
        try expect(pull.changed == expected.count, "B fetches \(expected.count) records, not \(pull.changed).")
        try expect(pull.deleted == 0, "nothing was deleted yet.")
        try expectSame(b)
    }

    /// Pulls from B's stored token, and again without further changes.
    mutating func catchUp() async throws {
        let pull = try await b.book.pull(zone, from: b.database, pageSize: Self.pageSize)
        show(pull)
        try expect(pull.changed > 0 && pull.changed < 100, "B fetches only the changes, not \(pull.changed) records.")
        try expect(pull.deleted == 2, "B fetches the two deletions, not \(pull.deleted).")
        try expectSame(b)
        terminal.row("device B holds", b.book.records.count.of("contact"), "identical to A's")

        let again = try await b.book.pull(zone, from: b.database, pageSize: Self.pageSize)
        terminal.row("pulled once more", "\(again.changed) changed, \(again.deleted) deleted", "nothing new")
        try expect(again.changed == 0 && again.deleted == 0, "a second pull returns no changes.")
        try expect(again.pages == 1, "a second pull is one empty page.")
    }

    private func show(_ pull: AddressBook.Pull) {
        terminal.row(
            "pulled", "\(pull.changed.grouped) changed, \(pull.deleted.grouped) deleted", pull.pages.of("page"))
    }

    /// Checks a device's copy against the expected content of the address book.
    private func expectSame(_ device: AddressBookDevice) throws(DemoFailure) {
        let held = device.book.records.values.map { Contact($0) }
        for contact in held {
            guard let known = expected[contact.recordName] else {
                throw DemoFailure(.unexpected, "Not as expected: \(device.name) holds an unexpected record.")
            }
            let differing = ContactKey.allCases.filter { known.values[$0] != contact.values[$0] }
            try expect(
                differing.isEmpty,
                "\(device.name) holds \(known.recordName) as it was saved; these fields differ: "
                    + differing.map(\.rawValue).joined(separator: ", "))
        }
        try expect(held.count == expected.count, "\(device.name) holds \(expected.count) records, not \(held.count).")
    }
}
