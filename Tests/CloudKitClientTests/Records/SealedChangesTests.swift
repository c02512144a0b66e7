import CloudKitModel
import ScriptedCloud
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct SealedChangesTests {
    private let versions = RecordVersions(folder: nil)

    private func page(_ changed: [String], deleted: [String] = [], after token: String? = nil) throws -> SealedChanges {
        let events =
            try changed.map { RecordChangeEvent.changed(try SampleKeys.record($0, ["text": .string("x")])) }
            + deleted.map { .deleted(RecordTombstone(recordName: $0, recordType: "Note", changeTag: nil)) }
        let zone = ZoneID(zoneName: "Z")
        return SealedChanges(
            ZoneChangesRequest(zoneID: zone, syncToken: token, desiredKeys: ["text"]),
            ZoneChangesPage(zoneID: zone, events: events, syncToken: "next", moreComing: true), nil,
            mark: versions.mark)
    }

    @Test func `B-CHG-11 the page after one continues with its token, for the same fields`() throws {
        let next = try page(["a"], after: "first").nextRequest
        #expect(next.syncToken == "next")
        #expect(next.desiredKeys == ["text"])
    }

    @Test func `B-TM-04 a page is recognized that shows a record of the page before once more`() throws {
        let earlier = try page(["a", "b"], deleted: ["c"])
        #expect(try !page(["d"], deleted: ["e"]).repeats(earlier))
        #expect(try page(["d", "b"]).repeats(earlier))
        #expect(try page(["c"]).repeats(earlier))
        #expect(try page([], deleted: ["a"]).repeats(earlier))
        #expect(try !page([]).repeats(earlier))
    }
}
