import CloudKit
import CloudKitClient
import CloudKitTesting
import FaultyNetwork
import Testing

/// Plain calls over a network that does each of the things networks do.
@Suite(.timeLimit(.minutes(20))) struct NetworkFaultTests {
    static let faults: [NetworkFault] = [
        .unreachable, .requestLost, .requestCut(after: 0), .requestCut(after: 30), .answerLost, .doubled,
        .cut(after: 0), .cut(after: 30), .cut(after: 300),
        .delayed(.seconds(30)), .refused(status: 429, retryAfter: nil), .refused(status: 429, retryAfter: 20),
        .refused(status: 503, retryAfter: nil), .refused(status: 503, retryAfter: 20),
        .refused(status: 502, retryAfter: nil), .refused(status: 500, retryAfter: nil),
    ]

    /// Two devices count together: each adds its marks to a list in one record, half of their requests going wrong.
    @Test(arguments: faults)
    func `B-THR-07 B-SAV-02 every mark that was acknowledged is there, and each only once`(fault: NetworkFault)
        async throws
    {
        try await Self.countTogether { id, device, cloud, user in
            let clock = TestClock(skipsWaits: false)
            let network = FaultyTransport(
                over: HTTPTransport.shared, clientEnvironment: clock.clientEnvironment, decide: Self.dice(device, fault)
            )
            let database = try await cloud.device(of: user, over: network, clientEnvironment: clock.clientEnvironment)
                .privateCloudDatabase
            try await Self.count(in: id, device, database, clock)
            #expect(!network.injectedFaults.isEmpty)
        }
    }

    /// The same with connections that break, or carry too much.
    @Test(arguments: faults)
    func `B-THR-07 B-SAV-02 so it is when it goes wrong between the sockets`(fault: NetworkFault) async throws {
        try await Self.countTogether { id, device, cloud, user in
            let clock = TestClock(skipsWaits: false)
            try await FaultyProxy.run(
                before: cloud.port, clientEnvironment: clock.clientEnvironment, decide: Self.dice(device, fault)
            ) { proxy, endpoint in
                let database = try await cloud.device(
                    of: user, at: endpoint, clientEnvironment: clock.clientEnvironment
                )
                .privateCloudDatabase
                try await Self.count(in: id, device, database, clock)
                #expect(!proxy.injectedFaults.isEmpty)
            }
        }
    }

    /// Every other request has the fault; which ones, the device's number says.
    private static func dice<Request>(
        _ device: Int, _ fault: NetworkFault
    ) -> @Sendable (Request) -> NetworkFault? {
        let dice = FaultDice(seed: UInt64(device), faults: [fault], oneIn: 2)
        return { _ in dice.roll() }
    }

    private static func countTogether(
        _ count: @escaping @Sendable (CKRecord.ID, Int, ThrowawayCloud, ThrowawayCloud.User) async throws -> Void
    ) async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let id = CKRecord.ID(recordName: "tally", zoneID: CKRecordZone.ID(zoneName: "Z"))
            try await cloud.device(of: user).privateCloudDatabase.save(CKRecordZone(zoneID: id.zoneID))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in 0..<2 {
                    group.addTask { try await count(id, device, cloud, user) }
                }
                try await group.waitForAll()
            }
            let record = try await cloud.device(of: user).privateCloudDatabase.record(for: id)
            let marks = record["marks"] as? [String] ?? []
            #expect(marks.sorted() == (0..<2).flatMap { device in (0..<6).map { "\(device)-\($0)" } })
        }
    }

    private static func count(
        in id: CKRecord.ID, _ device: Int, _ database: CKDatabase, _ clock: TestClock
    ) async throws {
        for number in 0..<6 {
            let mark = "\(device)-\(number)"
            let configuration = CKOperation.Configuration()
            // Some retry by themselves, some leave it to this loop.
            configuration.qualityOfService = number % 2 == 0 ? .utility : .userInitiated
            try await clock.running {
                try await database.configuredWith(configuration: configuration) { database in
                    while try await !add(mark, to: id, database) {
                        try await clock.clientEnvironment.sleep(.seconds(1))
                    }
                }
            }
        }
    }

    /// - Returns: Whether the mark is known to be there.
    nonisolated(nonsending) private static func add(
        _ mark: String, to id: CKRecord.ID, _ database: CKDatabase
    ) async throws -> Bool {
        do {
            let record: CKRecord
            do {
                record = try await database.record(for: id)
            } catch let error as CKError where error.code == .unknownItem {
                record = CKRecord(recordType: "Tally", recordID: id)
            }
            let marks = record["marks"] as? [String] ?? []
            if marks.contains(mark) { return true }
            record["marks"] = marks + [mark]
            try await database.save(record)
            return true
        } catch let error as CKError {
            let known: [CKError.Code] = [
                .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable, .requestRateLimited,
                .serverRecordChanged, .serverRejectedRequest,
            ]
            #expect(known.contains(error.code), "\(error)")
            return false
        }
    }
}
