import CloudKit

extension AddressBookScenario {
    /// Edits telephone numbers on A and notes on B, each in its own copies.
    mutating func editOnBoth() async throws {
        let onA = try (0..<5).map { try contact($0 * 7 + 3) }
        let onB = try (0..<5).map { try contact($0 * 7 + 5) }
        try await edit(onA, on: \.a) { $0.set(.phones, ["+1-212-555-0100"]) }
        terminal.row("device A", onA.count.of("contact"), "a new telephone number each")
        try await edit(onB, on: \.b) { $0.set(.note, "Sends a postcard every August.") }
        terminal.row("device B", onB.count.of("contact"), "a note each")
    }

    /// Edits contacts on one device and saves them in one batch.
    private mutating func edit(
        _ contacts: [Contact], on device: WritableKeyPath<AddressBookScenario, AddressBookDevice>,
        _ change: (inout Contact) -> Void
    ) async throws {
        var records: [CKRecord] = []
        for var contact in contacts {
            change(&contact)
            let record = try record(contact.recordName, on: self[keyPath: device])
            contact.write(to: record)
            terminal.detail("\(contact.fullName): " + record.changedKeys().joined(separator: ", "))
            records.append(record)
            expected[contact.recordName] = contact
        }
        let results = try await self[keyPath: device].database.modifyRecords(saving: records, deleting: [])
        for (id, result) in results.saveResults {
            self[keyPath: device].book[id.recordName, in: zone] = try result.get()
        }
    }

    /// Edits the same contact on both devices; the second save is refused, merged and saved again.
    mutating func mergeConflict() async throws {
        let person = try contact(20)
        let ancestor = Contact(try record(person.recordName, on: b))

        var first = person
        first.set(.organization, "Lighthouse Keepers' Union")
        first.set(.phones, ["+44-20-7946-0123"])
        let firstRecord = try record(person.recordName, on: a)
        first.write(to: firstRecord)
        a.book[person.recordName, in: zone] = try await a.database.save(firstRecord)
        terminal.row("device A saves", person.fullName, "organization, phones")

        var second = ancestor
        second.set(.note, "Moved to the lighthouse.")
        second.set(.phones, (ancestor.values[.phones]?.list ?? []) + ["+1-212-555-0177"])
        let secondRecord = try record(person.recordName, on: b)
        second.write(to: secondRecord)
        do {
            _ = try await b.database.save(secondRecord)
            throw DemoFailure(.unexpected, "Not as expected: the save with an old change tag succeeded.")
        } catch let error as CKError where error.code == .serverRecordChanged {
            terminal.row("device B is refused", "serverRecordChanged", "its change tag is old")
            terminal.detail(error.localizedDescription)
            try await merge(error, ancestor: ancestor, here: second)
        }
    }

    /// Merges into the server's record, the only one with a current change tag (B-SAV-07), and saves it.
    private mutating func merge(_ error: CKError, ancestor: Contact, here: Contact) async throws {
        guard let server = error.serverRecord, error.clientRecord != nil else {
            throw DemoFailure(.unexpected, "Not as expected: a conflict without the server's and the client's record.")
        }
        let merge = ContactMerge(
            ancestor: error.ancestorRecord.map { Contact($0) } ?? ancestor, server: Contact(server), here: here)
        terminal.table(
            ["field", "before", "on the server (A)", "here (B)", "merged", "taken from"],
            merge.lines.map { line in
                [line.key.rawValue]
                    + [line.ancestor, line.server, line.here, line.merged]
                    .map { ($0?.shown ?? "–").clipped(to: 30) }
                    + [line.origin.rawValue]
            })
        merge.merged.write(to: server)
        let saved = try await b.database.save(server)
        b.book[saved.recordID.recordName, in: zone] = saved
        expected[saved.recordID.recordName] = merge.merged
        terminal.row("device B saves", merge.merged.fullName, "merged, tag \(saved.recordChangeTag ?? "missing")")

        let fetched = Contact(try await a.database.record(for: saved.recordID))
        try expect(fetched.values == merge.merged.values, "A fetches B's merged record.")
    }
}

extension ContactValue {
    fileprivate var list: [String] {
        if case .list(let list) = self { list } else { [] }
    }
}
