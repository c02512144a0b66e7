import CloudKit
import CloudUnderTest
import Foundation

/// Measurements of sharing: creating a share, a participant's first fetch, and saves in a shared zone.
extension Bench {
    // MARK: A tree

    /// Measures sharing a tree of sealed records with one participant through the framework.
    func treeSharing() async throws -> Comparison {
        var comparison = Comparison(
            id: "t", title: "sharing a tree of \(treeSize) sealed records through the framework / 2 s", unit: "s",
            bound: .atMost, target: 1)
        let tree = try await SharedTree(self, size: treeSize)
        defer { tree.end() }
        for round in 0...rounds {
            let time = try await tree.share()
            try await tree.unshare()
            guard round > 0 else { continue }
            comparison.measured.append(time)
            comparison.yardstick.append(2)
        }
        comparison.remarks.append("a root, 100 folders below it, the others in those; one participant; keys included")
        return comparison
    }

    /// Measures the first fetch of the tree by a new device of the participant against one of the owner.
    func firstFetches() async throws -> Comparison {
        var comparison = Comparison(
            id: "f", title: "a participant's first fetch of a shared tree of \(treeSize) sealed records / the owner's",
            unit: "records/s", bound: .atLeast, target: 0.70)
        let tree = try await SharedTree(self, size: treeSize)
        defer { tree.end() }
        _ = try await tree.share()
        try await tree.accept()
        for round in 0...rounds {
            let own = try await tree.fetch(asOwner: true)
            let participants = try await tree.fetch(asOwner: false)
            guard round > 0 else { continue }
            comparison.measured.append(participants)
            comparison.yardstick.append(own)
        }
        comparison.remarks.append("one encrypted field of 100 bytes a record; pages of the framework's size")
        return comparison
    }

    private var treeSize: Int { options.isQuick ? 1_000 : 10_000 }

    // MARK: A crowd

    /// Measures saves over HTTP in a zone with 100 participants against an unshared zone.
    func hundred() throws -> Comparison {
        try hundred(
            Comparison(
                id: "h", title: "saving one record in a zone with 100 participants / in one that is not shared",
                unit: "µs", bound: .atMost, target: 1.05), areSubscribed: false)
    }

    /// Measures the same while the cloud notifies each participant of each save.
    func subscribedHundred() throws -> Comparison {
        try hundred(
            Comparison(
                id: "h+", title: "the same, each participant subscribed to the shared database", unit: "µs",
                bound: .atMost, target: 0), areSubscribed: true)
    }

    private func hundred(_ comparison: Comparison, areSubscribed: Bool) throws -> Comparison {
        var comparison = comparison
        let (cloud, user) = try cloud()
        defer { cloud.end() }
        try makeZone("Crowd", on: cloud, by: user)
        try makeZone("Alone", on: cloud, by: user)
        let exchange = try RawExchange(port: cloud.port, connections: 1)
        let people = try (0..<(options.isQuick ? 10 : 100)).map {
            try cloud.signIn(container: Self.container, profile: "p\($0)")
        }
        try addParticipants(people, of: user, over: exchange)
        if areSubscribed {
            let body =
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","#
                + #""subscriptionType":"database"}}]}"#
            for person in people {
                _ = try ask(exchange, person.post("subscriptions/modify", body, database: "shared"))
            }
        }
        let count = options.isQuick ? 50 : 400
        for round in 0...rounds {
            var (crowd, alone): ([Double], [Double]) = ([], [])
            for turn in 0..<count {
                // Saves alternate, so that other load of the machine affects both.
                let record = round * count + turn
                crowd.append(try timeOfSave(record, by: user, over: exchange, zone: "Crowd"))
                alone.append(try timeOfSave(record, by: user, over: exchange, zone: "Alone"))
            }
            guard round > 0 else { continue }
            comparison.measured.append(Comparison.median(crowd) * 1e6)
            comparison.yardstick.append(Comparison.median(alone) * 1e6)
        }
        comparison.remarks.append("1 connection, the zone's owner writes; all participants have accepted")
        return comparison
    }

    /// Shares the zone with all users and accepts the share for each.
    private func addParticipants(
        _ people: [SignedInUser], of owner: SignedInUser, over exchange: RawExchange
    ) throws {
        let participants = people.map {
            #"{"permission":"READ_WRITE","userIdentity":{"userRecordName":"\#($0.userRecordName)"}}"#
        }
        let share =
            #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","#
            + #""recordType":"cloudkit.share","participants":[\#(participants.joined(separator: ","))]}}"#
        let answer = try ask(exchange, owner.modify([share], zone: "Crowd"))
        guard let guid = answer.text.firstMatch(of: /"shortGUID":"([^"]+)"/)?.1 else {
            throw BenchError("the zone was not shared: \(answer.text.prefix(500))")
        }
        for person in people {
            let body = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
            _ = try ask(exchange, person.post("records/accept", body, database: "public"))
        }
    }
}

/// A tree of sealed records in a user's zone, and a second user to share it with.
private final class SharedTree {
    private let bench: Bench
    private let cloud: CloudProcess
    private let guest: SignedInUser
    private let owner: SignedInUser
    private let size: Int
    private let zone: CKRecordZone.ID
    private var shared: CKShare?

    init(_ bench: Bench, size: Int) async throws {
        self.bench = bench
        self.size = size
        (cloud, owner) = try bench.cloud()
        guest = try cloud.signIn(container: Bench.container, profile: "guest")
        let database = try bench.container(of: cloud).privateCloudDatabase
        zone = try await database.save(CKRecordZone(zoneName: "Tree")).zoneID
        let names = (0..<size).map { $0 == 0 ? "root" : "n\($0)" }
        for start in stride(from: 0, to: size, by: 400) {
            let records = (start..<min(start + 400, size)).map { number in
                let record = CKRecord(
                    recordType: "Note", recordID: CKRecord.ID(recordName: names[number], zoneID: zone))
                record.encryptedValues["text"] = String(repeating: "x", count: 100)
                if number > 0 {
                    let parent = number <= 100 ? 0 : number % 100 + 1
                    record.setParent(CKRecord.ID(recordName: names[parent], zoneID: zone))
                }
                return record
            }
            for result in try await database.modifyRecords(saving: records, deleting: []).saveResults.values {
                _ = try result.get()
            }
        }
    }

    func end() { cloud.end() }

    /// Shares the tree.
    ///
    /// - Returns: The time in seconds.
    func share() async throws -> Double {
        let container = try bench.container(of: cloud)
        let database = container.privateCloudDatabase
        let root = try await database.record(for: CKRecord.ID(recordName: "root", zoneID: zone))
        let participant = try await container.shareParticipant(
            forUserRecordID: CKRecord.ID(recordName: guest.userRecordName))
        participant.permission = .readWrite
        let start = ContinuousClock.now
        let share = CKShare(rootRecord: root)
        share.addParticipant(participant)
        let results = try await database.modifyRecords(saving: [root, share], deleting: [])
        let time = ContinuousClock.now - start
        shared = try results.saveResults[share.recordID]?.get() as? CKShare
        return time / .seconds(1)
    }

    func unshare() async throws {
        guard let shared else { return }
        try await bench.container(of: cloud).privateCloudDatabase.deleteRecord(withID: shared.recordID)
    }

    func accept() async throws {
        guard let url = shared?.url else { throw BenchError("the tree is not shared") }
        let container = try bench.container(of: cloud, profile: "guest")
        _ = try await container.accept(try await container.shareMetadata(for: url))
    }

    /// Fetches all records from the beginning.
    ///
    /// - Returns: The number of records per second.
    func fetch(asOwner: Bool) async throws -> Double {
        let container = try bench.container(of: cloud, profile: asOwner ? "bench" : "guest")
        let database = asOwner ? container.privateCloudDatabase : container.sharedCloudDatabase
        let zone = asOwner ? zone : CKRecordZone.ID(zoneName: zone.zoneName, ownerName: owner.userRecordName)
        let start = ContinuousClock.now
        var (token, count): (CKServerChangeToken?, Int) = (nil, 0)
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            for result in page.modificationResultsByID.values {
                let record = try result.get().record
                if record.encryptedValues["text"] as? String != nil { count += 1 }
            }
            token = page.changeToken
            if !page.moreComing { break }
        }
        let time = ContinuousClock.now - start
        guard count == size else { throw BenchError("\(count) records were fetched instead of \(size)") }
        return Double(count) / (time / .seconds(1))
    }
}
