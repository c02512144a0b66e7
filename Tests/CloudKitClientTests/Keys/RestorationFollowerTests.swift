import CloudKitDevice
import Foundation
import Testing

@testable import CloudKitClient

@Suite(.timeLimit(.minutes(20))) struct RestorationFollowerTests {
    @Test func `B-BKD-13 an epoch of at most 128 bytes is noted, a longer header is not`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/epochs-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let follower = RestorationFollower(folder: folder, endpoint: "http://x")
        follower.note("first", now: 1)
        let longest = String(repeating: "e", count: 128)
        follower.note(longest, now: 2)
        #expect(follower.known?.epoch == longest)
        follower.note(longest + "e", now: 3)
        #expect(follower.known?.epoch == longest)
        #expect(follower.known?.claims.map(\.noticed) == [2])
    }

    @Test func `B-TM-15 a claim counts while the profile cannot be written, and is written with a later answer`() throws
    {
        let folder = FileManager.default.temporaryDirectory.path + "/epochs-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let follower = RestorationFollower(folder: folder, endpoint: "http://x")
        follower.note("first", now: 1)
        // Nobody can lock the file.
        let lock = folder + "/record-versions/restorations.json.lock"
        try FileManager.default.removeItem(atPath: lock)
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
        follower.note("second;7", now: 2)
        #expect(follower.claimed.isOpen)
        #expect(follower.claimed.restoredTo == 7)
        #expect(follower.storeEpoch?.name == "second")
        #expect(RestorationFollower(folder: folder, endpoint: "http://x").known?.claims.isEmpty == true)
        try FileManager.default.removeItem(atPath: lock)
        follower.note("second;7", now: 3)
        #expect(follower.claimed.isOpen)
        #expect(RestorationFollower(folder: folder, endpoint: "http://x").known?.claims.map(\.restoredTo) == [7])
    }

    @Test func `B-TM-15 versions of devices whose clocks are ahead, unlike this one's, may be lost as well`() {
        let follower = RestorationFollower(folder: nil, endpoint: "http://x")
        follower.note("first", now: 1)
        follower.note("second", now: 1_000_000)
        #expect(follower.claimed.lostUntil == 1_600_000)
    }

    @Test func `B-TM-15 an error that other devices cause says so once this one has accepted the restored state`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.path + "/epochs-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let profile = DeviceProfile(name: "device", in: folder)
        let follower = RestorationFollower(folder: profile.folder, endpoint: "http://x")
        let failure = CallFailure.tampered("key epoch 2, this device has seen 3")
        follower.note("first", now: DeviceProfile.now)
        #expect(follower.failure(failure, of: "Zone 'Z'", listedAs: "Z") == failure)
        follower.note("second", now: DeviceProfile.now)
        #expect(follower.failure(failure, of: "Zone 'Z'", listedAs: "Z") == .earlierState("Zone 'Z'"))
        try profile.acceptRestorations(of: "http://x")
        guard case .tampered(let reason) = follower.failure(failure, of: "Zone 'Z'", listedAs: "Z") else {
            Issue.record("The failure is no sign of a cloud that went back in time")
            return
        }
        #expect(reason.hasPrefix("key epoch 2, this device has seen 3. "))
        #expect(reason.contains("accept it on the account's other devices"))
    }
}
