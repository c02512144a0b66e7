import CloudKit

extension AddressBookScenario {
    /// Queries the family names that begin with "Mar", sorted.
    mutating func queryByPrefix() async throws {
        let prefix = "Mar"
        let wanted = expected.values.filter { $0.familyName.hasPrefix(prefix) }
        let query = CKQuery(
            recordType: Contact.recordType, predicate: NSPredicate(format: "familyName BEGINSWITH %@", prefix))
        query.sortDescriptors = [
            NSSortDescriptor(key: "familyName", ascending: true), NSSortDescriptor(key: "givenName", ascending: true),
        ]
        let (found, pages) = try await allContacts(
            matching: query, keys: ["familyName", "givenName", "city", "emails"])
        let extent = "\(found.count.of("match", "matches")), \(pages.of("page"))"
        terminal.row("familyName begins with", "\"\(prefix)\"", extent)
        terminal.table(
            ["family name", "given name", "city", "e-mail"],
            found.prefix(8).map { contact in
                [ContactKey.familyName, .givenName, .city, .emails]
                    .map { (contact.values[$0]?.shown ?? "–").clipped(to: 32) }
            })
        if found.count > 8 { terminal.row("…", "and \(found.count - 8) more") }
        try expect(
            Set(found.map(\.recordName)) == Set(wanted.map(\.recordName)),
            "the query finds the \(wanted.count) contacts with this beginning, not \(found.count).")
        try expect(isSorted(found), "the matches come sorted by family name.")
    }

    /// Queries all contacts, a hundred per page, sorted.
    mutating func pageThroughContacts() async throws {
        let all = NSPredicate(format: "fullName > %@", "")
        let query = CKQuery(recordType: Contact.recordType, predicate: all)
        query.sortDescriptors = [NSSortDescriptor(key: "familyName", ascending: true)]
        let (found, pages) = try await allContacts(matching: query, keys: ["familyName", "givenName"])
        terminal.row("pages", "\(pages) of up to \(Self.pageSize)", found.count.of("contact"))
        try expect(found.count == expected.count, "paging returns \(expected.count) contacts, not \(found.count).")
        try expect(Set(found.map(\.recordName)).count == found.count, "paging returns no contact twice.")
        try expect(isSorted(found), "the pages go on in order.")
        if let first = found.first, let last = found.last {
            terminal.row("from … to", "\(first.familyName) … \(last.familyName)")
        }
    }

    /// Fetches all pages of a query.
    private func allContacts(
        matching query: CKQuery, keys: [String]
    ) async throws -> (contacts: [Contact], pages: Int) {
        var page = try await a.database.records(
            matching: query, inZoneWith: zone, desiredKeys: keys, resultsLimit: Self.pageSize)
        var contacts: [Contact] = []
        var pages = 0
        while true {
            pages += 1
            contacts += try page.matchResults.map { Contact(try $0.1.get()) }
            try expect(page.matchResults.count <= Self.pageSize, "a page has at most \(Self.pageSize) matches.")
            guard let cursor = page.queryCursor else { return (contacts, pages) }
            page = try await a.database.records(
                continuingMatchFrom: cursor, desiredKeys: keys, resultsLimit: Self.pageSize)
        }
    }

    /// Returns whether contacts are sorted by Unicode scalars, with decomposed accents and ignoring case.
    private func isSorted(_ contacts: [Contact]) -> Bool {
        func key(_ contact: Contact) -> String {
            contact.familyName.decomposedStringWithCanonicalMapping.lowercased()
        }
        return zip(contacts, contacts.dropFirst()).allSatisfy { first, second in
            !key(second).utf8.lexicographicallyPrecedes(key(first).utf8)
        }
    }
}
