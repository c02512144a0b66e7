import CloudKit

extension Scenario {
    /// Device B has nothing yet: it pulls from the beginning.
    mutating func pullAll() async throws {
        let pull = try await b.book.pull(zone, from: b.database, pageSize: Self.batchSize)
        tell(pull)
        try expect(pull.changed == expected.count, "B hears of \(expected.count) records, not \(pull.changed).")
        try expect(pull.deleted == 0, "nothing was deleted yet.")
        try expectSame(b)
    }

    /// Device B goes on from its stored token, and once more when there is nothing left to hear.
    mutating func catchUp() async throws {
        let pull = try await b.book.pull(zone, from: b.database, pageSize: Self.pageSize)
        tell(pull)
        try expect(pull.changed > 0 && pull.changed < 100, "B hears only of what changed, not of \(pull.changed).")
        try expect(pull.deleted == 2, "B hears of the two deletions, not of \(pull.deleted).")
        try expectSame(b)
        terminal.row("device B holds", b.book.records.count.of("contact"), "field for field what A holds")

        let again = try await b.book.pull(zone, from: b.database, pageSize: Self.pageSize)
        terminal.row("pulled once more", "\(again.changed) changed, \(again.deleted) deleted", "nothing new")
        try expect(again.changed == 0 && again.deleted == 0, "a second pull brings nothing.")
        try expect(again.pages == 1, "a second pull is one empty page.")
    }

    private func tell(_ pull: AddressBook.Pull) {
        terminal.row(
            "pulled", "\(pull.changed.grouped) changed, \(pull.deleted.grouped) deleted", pull.pages.of("page"))
    }

    /// A device's copy must be what the story says the address book holds.
    private func expectSame(_ device: Device) throws(DemoFailure) {
        let held = device.book.records.values.map { Contact($0) }
        for contact in held {
            guard let known = expected[contact.recordName] else {
                throw DemoFailure(.unexpected, "Not as expected: \(device.name) holds a record nobody saved.")
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
