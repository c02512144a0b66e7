import CloudKitEncryption
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct HighestSeenEpochsTests {
    private let zone = ZoneAddress(container: "C", environment: "development", owner: "_ada", zone: "Notes")
    private var share: RecordAddress { RecordAddress(zone: zone, name: "Share-1") }

    @Test func `B-TM-05 a zone's epoch never goes back`() throws {
        let notes = Fixtures().zoneKey().place
        var pins = HighestSeenEpochs()
        #expect(pins.epoch(of: notes) == nil)
        #expect(try pins.see(3, of: notes))
        #expect(try !pins.see(3, of: notes))
        #expect(try pins.see(4, of: notes))
        pins = try JSONDecoder().decode(HighestSeenEpochs.self, from: JSONEncoder().encode(pins))
        #expect(throws: EncryptionError.epochWentBack(.zoneKey(zone: "Notes"), offered: 3, seen: 4)) {
            try pins.see(3, of: notes)
        }
        pins.forget(notes)
        #expect(try pins.see(0, of: notes))
    }

    @Test
    func `B-TM-15 what was seen is lost once the user accepts an earlier state`()
        throws
    {
        var epochs = HighestSeenEpochs()
        try epochs.see(2, of: zone)
        try epochs.began(5, ofShare: share)
        epochs.note(administrators: [], ofShare: share)
        #expect(epochs.lostEpoch(ofShare: share) == 0)
        #expect(throws: EncryptionError.self) { try epochs.see(4, ofShare: share) }
        epochs.acceptEarlierState()
        #expect(epochs.epoch(of: zone) == nil && epochs.epoch(ofShare: share) == nil)
        #expect(epochs.lostEpoch(ofShare: share) == 5)
        // A share of the zone that was made later has the zone's epochs.
        let other = RecordAddress(zone: zone, name: "Share-2")
        #expect(epochs.lostEpoch(ofShare: other) == 2)
        try epochs.see(1, of: zone)
        try epochs.began(4, ofShare: share)
        #expect(throws: EncryptionError.self) { try epochs.see(3, ofShare: share) }
        // A second time: the highest of all lost states.
        epochs.acceptEarlierState()
        #expect(epochs.lostEpoch(ofShare: share) == 5)
        let read = try JSONDecoder().decode(HighestSeenEpochs.self, from: JSONEncoder().encode(epochs))
        #expect(read == epochs)
    }

    @Test func `a file of an earlier version has no lost epochs`() throws {
        var epochs = HighestSeenEpochs()
        try epochs.see(2, of: zone)
        let text = String(decoding: try JSONEncoder().encode(epochs), as: UTF8.self)
        #expect(!text.contains("lost"))
        #expect(try JSONDecoder().decode(HighestSeenEpochs.self, from: Data(text.utf8)) == epochs)
    }
}
