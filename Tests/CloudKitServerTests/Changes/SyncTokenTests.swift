import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct SyncTokenTests {
    private let partition = StoragePartition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
    private let seal = SyncTokenSeal(secret: [1, 2, 3], epoch: 9)
    private let kinds: [SyncToken.Kind] = [.zone, .zoneReversed]

    private func reason(_ text: String, kinds: [SyncToken.Kind]? = nil, by seal: SyncTokenSeal? = nil) -> String? {
        switch Result(catching: { () throws(RequestFailure) in
            try (seal ?? self.seal).open(text, for: partition, kinds: kinds ?? self.kinds)
        }) {
        case .success: nil
        case .failure(let failure): failure.reason
        }
    }

    @Test func `B-CHG-02 tokens come back as they went`() throws {
        let tokens = [
            SyncToken.zone(3, at: 77), SyncToken(.zone, zone: 4, version: 5, baseline: 9),
            SyncToken(.zoneReversed, zone: 4, version: 5, baseline: 9, floor: 2),
        ]
        for token in tokens {
            let text = seal.seal(token, for: partition)
            let opened = try seal.open(text, for: partition, kinds: kinds)
            #expect(opened == token)
        }
        #expect(seal.seal(tokens[0], for: partition).count == 48)
    }

    @Test func `B-CHG-01 a token of one kind is none of another`() {
        let database = seal.seal(SyncToken(.database, version: 1), for: partition)
        #expect(reason(database) == "Unknown sync continuation type")
        #expect(
            reason(seal.seal(.zone(1, at: 1), for: partition), kinds: [.database]) == "Unknown sync continuation type")
    }

    @Test func `B-CHG-09 every part of a token is truncated, every changed one unknown`() {
        let text = seal.seal(.zone(3, at: 77), for: partition)
        for length in 1..<text.count { #expect(reason(String(text.prefix(length))) == "Invalid continuation format") }
        for garbage in ["garbage", "AAAA", "é", "\u{0}", String(repeating: "A", count: 48), "{}"] {
            #expect(reason(garbage) == "Unknown sync continuation type")
        }
        for index in 4..<48 {
            var characters = Array(text)
            characters[index] = characters[index] == "A" ? "B" : "A"
            #expect(reason(String(characters)) == "Unknown sync continuation type")
        }
    }

    @Test func `B-BKD-13 a token of another epoch has expired, one of another cloud or database is unknown`() {
        let text = seal.seal(.zone(3, at: 77), for: partition)
        #expect(
            reason(text, by: SyncTokenSeal(secret: [1, 2, 3], epoch: 10))
                == "client knowledge differs from server knowledge")
        #expect(reason(text, by: SyncTokenSeal(secret: [1, 2, 4], epoch: 9)) == "Unknown sync continuation type")
        let other = StoragePartition.privateDatabase(TestCloud.container, .development, of: TestCloud.bob)
        #expect(reason(seal.seal(.zone(3, at: 77), for: other)) == "Unknown sync continuation type")
    }

    private func zone(latest: UInt64 = 100, horizon: UInt64 = 0) -> ZoneHeader {
        var zone = ZoneHeader(name: "Z", number: 3, since: 0)
        zone.latestVersion = latest
        zone.horizon = horizon
        return zone
    }

    private func position(_ token: SyncToken?, _ zone: ZoneHeader, reverse: Bool = false) -> FeedPosition {
        FeedPosition(token: token, zone: zone, isReversed: reverse)
    }

    @Test func `B-CHG-08 without a token deletions so far are passed over`() {
        #expect(position(nil, zone()) == .forward(after: 0, baseline: 100))
        #expect(position(nil, zone(), reverse: true) == .backward(before: 101, floor: 0, top: 100))
        let paging = SyncToken(.zone, zone: 3, version: 40, baseline: 100)
        #expect(position(paging, zone(latest: 120)) == .forward(after: 40, baseline: 100))
    }

    @Test func `B-CHG-10 a token of another incarnation or ahead of the data has expired`() {
        #expect(position(.zone(2, at: 7), zone()) == .refuse(expired))
        #expect(position(.zone(3, at: 101), zone()) == .refuse(ahead))
        #expect(position(SyncToken(.zone, zone: 3, version: 1, baseline: 101), zone()) == .refuse(ahead))
        #expect(position(.zone(3, at: 100), zone()) == .forward(after: 100, baseline: 0))
    }

    @Test func `B-BKD-12 a token from before forgotten deletions has expired, unless it passes over them`() {
        #expect(position(.zone(3, at: 49), zone(horizon: 50)) == .refuse(expired))
        #expect(position(.zone(3, at: 50), zone(horizon: 50)) == .forward(after: 50, baseline: 0))
        let paging = SyncToken(.zone, zone: 3, version: 10, baseline: 60)
        #expect(position(paging, zone(horizon: 50)) == .forward(after: 10, baseline: 60))
    }

    private var ahead: RequestFailure {
        var failure = expired
        failure.remedy = "The cloud went back in time. Save again what was saved since, then fetch without a token."
        failure.restoredTo = 0
        return failure
    }

    private var expired: RequestFailure {
        RequestFailure(
            .changeTokenExpired, "client knowledge differs from server knowledge",
            remedy: "Fetch without a token, and treat what does not come back as deleted.")
    }
}
