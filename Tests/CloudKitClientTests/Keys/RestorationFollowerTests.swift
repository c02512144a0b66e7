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
}
