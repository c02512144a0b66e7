import CloudKitModel
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

@Suite(.timeLimit(.minutes(20))) struct FeedEvidenceTests {
    @Test func `B-TM-14 a record that is created again while the feed is read is not a deleted one`() {
        let zone = SampleKeys.zone().salt
        let record = Record.stored("r", in: ZoneID(zoneName: "Z"))
        var evidence = FeedEvidence()
        evidence.add(deleted: "r", in: zone)
        #expect(evidence.deleted == [zone.recordHash("r")])
        evidence.add(record, version: nil, isReadable: true, in: zone)
        #expect(evidence.deleted.isEmpty)
        evidence.add(deleted: "r", in: zone)
        #expect(evidence.deleted == [zone.recordHash("r")])
    }
}
