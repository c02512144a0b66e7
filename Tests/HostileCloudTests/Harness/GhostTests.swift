import Testing

@testable import CloudKit

/// The search for plain values in the traffic, which has to find them where it has the keys.
@Suite(.timeLimit(.minutes(20))) struct GhostTests {
    @Test(arguments: [false, true])
    func `a member's keys open what is shared, and the search finds nothing without them`(zoneWide: Bool) async throws {
        try await HostileCloud.run { cloud in
            let stage = Stage(.fieldsSwapped, cloud, isHonest: true)
            try await stage.makeFolder()
            try await stage.share(with: ["ben"], zoneWide: zoneWide)
            let ben = try await stage.device("ben")
            try await stage.write("secret of Ben", to: "One", in: try await stage.theirs(), ben.shared)
            try await stage.feed(ben.shared, in: try await stage.theirs())
            let zones = try await stage.zones()
            for person in ["ada", "ben"] {
                let device = try await stage.device(person)
                let holder = Ghost(secret: try device.secret, userName: try device.userName)
                let loot = try holder.loot(stage.liar.traffic, in: zones)
                #expect(loot.contains(#""secret of Ben""#) && loot.contains(#""secret text of Two""#), "\(person)")
            }
            #expect(try await stage.ghost().loot(stage.liar.traffic, in: zones) == [])
        }
    }

    @Test func `a link's secret opens what it shares`() async throws {
        try await HostileCloud.run { cloud in
            let stage = Stage(.fieldsSwapped, cloud, isHonest: true)
            try await stage.makeFolder()
            let share = try await stage.share(open: .readOnly)
            try await stage.feed(try await stage.device("ada").own)
            var ghost = try await stage.ghost()
            ghost.links = [try #require(try share.url?.fragment.map { try .init(fragment: $0) })]
            #expect(try ghost.loot(stage.liar.traffic, in: try await stage.zones()).contains(#""secret text of Two""#))
        }
    }
}
