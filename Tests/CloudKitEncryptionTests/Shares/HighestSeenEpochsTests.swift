import CloudKitEncryption
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct HighestSeenEpochsTests {
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
}
