import CloudKitEncryption
import CloudKitModel
import Foundation
import Testing

@testable import CloudKitClient
@testable import ScriptedCloud

@Suite(.timeLimit(.minutes(20))) struct EpochStoreTests {
    private let zone = SampleKeys.zone().place

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-epochs-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path())
    }

    @Test func `B-TM-05 the highest epoch seen is kept, and a lower one is found out after a restart`() throws {
        try withFolder { folder in
            let book = EpochStore(folder: folder)
            #expect(try book.epoch(of: zone) == 0)
            try book.see(0, of: zone)
            #expect(!FileManager.default.fileExists(atPath: folder + "/key-epochs.json"))
            try book.see(2, of: zone)
            try book.met(1, in: zone)
            try book.met(3, in: zone)
            let again = EpochStore(folder: folder)
            #expect(try again.epoch(of: zone) == 3)
            #expect(throws: CallFailure.self) { try again.see(2, of: zone) }
            #expect(throws: CallFailure.self) { try again.see(0, of: zone) }
            #expect(try again.epoch(of: zone) == 3)
            // Two processes, each with its own zone, do not forget the other's.
            let other = SampleKeys.zone("Y").place
            try book.see(5, of: other)
            #expect(try EpochStore(folder: folder).epoch(of: zone) == 3)
            #expect(try EpochStore(folder: folder).epoch(of: other) == 5)
        }
    }

    @Test func `B-TM-15 an epoch of a lost state that another device still names does not count`() throws {
        try withFolder { folder in
            let book = EpochStore(folder: folder)
            try book.see(5, of: zone)
            try book.change { $0.acceptEarlierState() }
            book.reread()
            try book.see(3, of: zone)
            // A device whose user has not accepted the state.
            try book.met(5, in: zone)
            #expect(try book.epoch(of: zone) == 3)
            try book.see(4, of: zone)
            try book.met(6, in: zone)
            #expect(try book.epoch(of: zone) == 6)
        }
    }

    @Test func `B-TM-14 a device seals under the highest epoch that another device has seen`() async throws {
        let ring = KeyRing(account: ScriptedAccount(secret: SampleKeys.secret), place: nil, epochs: EpochStore())
        let id = ZoneID(zoneName: zone.zone)
        func epoch() async throws -> UInt32 {
            try await ring.keys(of: id, in: .private, askUser: { UserID("_me") }).epoch
        }
        #expect(try await epoch() == 0)
        for (met, highest) in [(3, 3), (1, 3), (4, 4)] as [(UInt32, UInt32)] {
            try ring.met(met, in: id)
            #expect(try await epoch() == highest)
            #expect(ring.stateKey(of: id)?.epoch == highest)
        }
    }

    @Test func `a damaged file is an error that says so, and is left as it is`() throws {
        try withFolder { folder in
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/key-epochs.json"))
            let book = EpochStore(folder: folder)
            #expect(throws: CallFailure.self) { try book.epoch(of: zone) }
            #expect(throws: CallFailure.self) { try book.see(1, of: zone) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/key-epochs.json")) == Data("{".utf8))
        }
    }
}
