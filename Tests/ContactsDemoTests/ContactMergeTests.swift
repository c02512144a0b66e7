import Testing

@testable import contacts_demo

@Suite(.timeLimit(.minutes(20))) struct ContactMergeTests {
    private let before = Contact(
        recordName: "r",
        values: [
            .fullName: .text("Ada"), .city: .text("Here"), .note: .text("n"), .phones: .list(["1", "2"]),
        ])

    private func merged(
        _ server: (inout Contact) -> Void, _ here: (inout Contact) -> Void
    ) -> ContactMerge {
        var (onServer, onDevice) = (before, before)
        server(&onServer)
        here(&onDevice)
        return ContactMerge(ancestor: before, server: onServer, here: onDevice)
    }

    @Test func `a field that one side changed takes that side's value`() {
        let merge = merged({ $0.set(.city, "There") }, { $0.set(.fullName, "Ada B.") })
        #expect(merge.merged.text(.city) == "There")
        #expect(merge.merged.text(.fullName) == "Ada B.")
        #expect(merge.lines.map(\.origin) == [.here, .server])
    }

    @Test func `a removal is a change`() {
        let merge = merged({ $0.set(.city, nil) }, { _ in })
        #expect(merge.merged.values[.city] == nil)
    }

    @Test func `lists keep the additions of either side and lose the removals of either side`() {
        let merge = merged({ $0.set(.phones, ["2", "3"]) }, { $0.set(.phones, ["1", "2", "4"]) })
        #expect(merge.merged.values[.phones] == .list(["2", "3", "4"]))
    }

    @Test func `notes are kept one after the other, the server wins elsewhere`() {
        let merge = merged(
            {
                $0.set(.note, "a")
                $0.set(.city, "S")
            },
            {
                $0.set(.note, "b")
                $0.set(.city, "H")
            })
        #expect(merge.merged.text(.note) == "a\nb")
        #expect(merge.merged.text(.city) == "S")
    }

    @Test func `equal edits are no conflict`() {
        let merge = merged({ $0.set(.city, "There") }, { $0.set(.city, "There") })
        #expect(merge.merged.text(.city) == "There")
        #expect(merge.lines.map(\.origin) == [.both])
    }
}
