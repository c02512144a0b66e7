import CloudBackup
import CloudBackupS3
import FileStoreS3
import Foundation
import HTTPTransfer
import ObjectServer
import SeededChance
import Synchronization
import Testing

/// Backups at places that die, refuse, are late, or are asked by two.
@Suite(.timeLimit(.minutes(10))) struct BackupPlaceTests {
    /// A small data folder.
    private final class Cloud {
        let folder: TestFolder
        var image: MemoryImage
        var time: Int64 = 1_000_000

        init() throws {
            folder = try TestFolder()
            var chance = SplitMix64(seed: 3)
            image = MemoryImage(content: chance.bytes(20 * 65_536))
            try folder.write([1, 2, 3], to: "data/assets/files/0a/aa0a")
            try folder.write(Array(repeating: 9, count: 1_100_000), to: "data/assets/files/0b/bb0b")
            try folder.write(Array("secret".utf8), to: "data/secret")
        }

        /// Changes a page and a file.
        func change(_ round: UInt8) throws {
            image.content[Int(round) * 65_536] ^= 0xFF
            try folder.write([round], to: "data/assets/files/0a/c\(round)0a")
        }

        @discardableResult
        func take(_ backup: Backup) throws -> String {
            time += 1000
            return try TakeMoment(backup, now: { 0 }).run(
                image, BackupSource(folder: folder.path + "/data", immutableFiles: "assets/files", files: ["secret"]),
                at: time, program: "test"
            ).name
        }

        func expectWhole(_ place: some BackupPlace, _ comment: Comment) throws {
            let backup = try Backup.open(place)
            for name in try backup.momentNames() {
                let findings = try VerifyMoment(backup).run(
                    name, storeName: "store", immutableFiles: "assets/files")
                #expect(findings == [], comment)
            }
        }
    }

    @Test(arguments: [true, false], [0, 1, 2])
    func `a process that dies at any call of a backup or of pruning leaves whole moments`(
        answersQuickly: Bool, ending: Int
    ) throws {
        let cloud = try Cloud()
        let first = FailingPlace(answersQuickly: answersQuickly)
        try cloud.take(Backup.begin(first))
        try cloud.change(1)
        try cloud.take(Backup.begin(first))
        try cloud.change(2)
        let before = first.objects
        var dying = 0
        var isDone = false
        while !isDone {
            dying += 1
            let place = FailingPlace(answersQuickly: answersQuickly, objects: before)
            place.state.withLock { state in
                (state.failing, state.takesEffect, state.keepsPending) = (dying, ending == 1, ending == 2)
            }
            do {
                let backup = try Backup.begin(place)
                try cloud.take(backup)
                _ = try PruneMoments(backup).run(keeping: 1)
                isDone = true
            } catch let error as BackupError { #expect(error.code == .unavailable) }
            let after = FailingPlace(answersQuickly: answersQuickly, objects: place.objects)
            let comment = Comment(rawValue: "call \(dying)")
            try cloud.expectWhole(after, comment)
            let backup = try Backup.begin(after)
            #expect(try backup.momentNames().count >= 1, comment)
            try cloud.take(backup)
            _ = try PruneMoments(backup).run(keeping: 1)
            try cloud.expectWhole(after, comment)
            // Nothing is left that no moment names.
            let clean = FailingPlace(answersQuickly: answersQuickly)
            try cloud.take(Backup.begin(clean))
            #expect(
                Set(after.objects.keys.filter { $0.hasPrefix("chunks/") })
                    == Set(clean.objects.keys.filter { $0.hasPrefix("chunks/") }), comment)
        }
        #expect(dying > 20)
    }

    @Test func `a second moment asks a bucket for no chunk and lists none`() throws {
        let cloud = try Cloud()
        let place = TestPlace(.bucket, in: cloud.folder)
        try cloud.take(Backup.begin(place.place()))
        try cloud.change(1)
        let before = place.objects.requestCount
        try cloud.take(Backup.begin(place.place()))
        let log = place.objects.log.dropFirst(before)
        #expect(!log.contains { $0.contains("HEAD clouds/one/chunks") })
        // A list has three names in a page; that of all chunks would have eight pages.
        #expect(log.filter { $0.contains("list-type") }.count <= 2, "\(log)")
        #expect(log.filter { $0.hasPrefix("PUT clouds/one/chunks") }.count < 8, "\(log)")
        #expect(log.count < 40, "\(log)")
    }

    @Test func `moments that a service lists late are kept, with their chunks`() throws {
        let cloud = try Cloud()
        let place = TestPlace(.bucket, in: cloud.folder)
        try cloud.take(Backup.begin(place.place()))
        place.advance(7_200_000)
        try cloud.change(1)
        let second = try cloud.take(Backup.begin(place.place()))
        place.objects.hideFromLists { $0.contains(second) }
        // Another process, which does not see the second moment, takes a third and removes what it knows to be old.
        try cloud.change(2)
        let backup = try Backup.begin(place.place())
        try cloud.take(backup)
        _ = try PruneMoments(backup).run(keeping: 1)
        place.objects.hideFromLists { _ in false }
        try cloud.expectWhole(place.bucket(connection(place)), "")
        #expect(try backup.momentNames().contains(second))
    }

    private func connection(_ place: TestPlace) -> S3FileStore.Connection {
        let objects = place.objects
        return S3FileStore.Connection(
            now: { place.now }, sleep: { _ in }, send: { try await objects.send($0) })
    }

    @Test func `of two that begin at the same time one is refused, and a lease that ended is taken over`() throws {
        let cloud = try Cloud()
        let place = TestPlace(.bucket, in: cloud.folder)
        let first = try Backup.begin(place.place())
        #expect(throws: BackupError.self) { _ = try Backup.begin(place.place()) }
        // While the first waits, another one writes its lease.
        let other = place.place()
        let objects = place.objects
        place.advance(700_000)
        let racing = place.bucket(
            S3FileStore.Connection(
                now: { place.now },
                sleep: { _ in objects.set("clouds/one/lease", Array(#"{"owner":"x","until":9999999999999}"#.utf8)) }
            ) { try await objects.send($0) })
        #expect { _ = try Backup.begin(racing) } throws: { ($0 as? BackupError)?.code == .busy }
        objects.set("clouds/one/lease", nil)
        // The first one was held up for longer than its lease, and another one has taken over.
        let second = try Backup.begin(other)
        #expect { try cloud.take(first) } throws: { ($0 as? BackupError)?.code == .busy }
        try cloud.take(second)
        #expect(try second.momentNames().count == 1)
    }

    @Test(arguments: [
        (403, "AccessDenied", BackupError.Code.unavailable, "rights"), (404, "NoSuchBucket", .unavailable, "bucket"),
        (403, "SignatureDoesNotMatch", .unavailable, "secret key"), (507, "", .diskFull, "quota"),
    ])
    func `refusals of a service say what to do, and have no keys`(
        _ status: Int, _ word: String, _ code: BackupError.Code, _ hint: String
    ) throws {
        let cloud = try Cloud()
        let place = TestPlace(.bucket, in: cloud.folder)
        let service = ObjectService(now: { 0 }, fault: { _, _ in .refused(status, word) })
        let bucket = place.bucket(
            S3FileStore.Connection(now: { 0 }, sleep: { _ in }) { try await service.send($0) })
        for attempt in [{ _ = try Backup.begin(bucket) }, { _ = try Backup.open(bucket) }] {
            #expect { try attempt() } throws: { error in
                guard let error = error as? BackupError else { return false }
                return error.code == code && "\(error)".contains(hint) && !"\(error)".contains("hidden")
            }
        }
    }

    @Test func `a put that is refused later fails the moment, and nothing of it is listed`() throws {
        let cloud = try Cloud()
        let place = TestPlace(.bucket, in: cloud.folder)
        let objects = place.objects
        let count = Atomic(0)
        let bucket = place.bucket(
            S3FileStore.Connection(now: { place.now }, sleep: { _ in }) { request in
                let isChunk = request.method == "PUT" && request.url.contains("/chunks/")
                if isChunk, count.add(1, ordering: .relaxed).newValue == 9 {
                    return HTTPClient.Answer(
                        status: 403, headers: [:], body: Array("<Error><Code>AccessDenied</Code></Error>".utf8))
                }
                return try await objects.send(request)
            })
        let backup = try Backup.begin(bucket)
        #expect(throws: BackupError.self) { try cloud.take(backup) }
        #expect(try backup.momentNames() == [])
        let name = try cloud.take(backup)
        #expect(try backup.momentNames() == [name])
        try cloud.expectWhole(bucket, "")
    }

    @Test(.enabled(if: ObjectServer.missing == nil))
    func `a backup in a bucket of OpenStack Swift`() async throws {
        let server = try await ObjectServer.shared()
        let cloud = try Cloud()
        let client = HTTPClient(requestsPerOriginMax: BucketPlace.requestsMax)
        func place(_ bucket: String = ObjectServer.bucket, key: String = ObjectServer.secretKey) throws -> BucketPlace {
            BucketPlace(
                try S3Place("s3://\(bucket)/\(cloud.folder.path.split(separator: "/").last ?? "x")"),
                settings: try S3Settings(
                    endpoint: server.endpoint, region: nil, accessKey: ObjectServer.accessKey, secretKey: key),
                connection: S3FileStore.Connection(now: { Int64(Date().timeIntervalSince1970 * 1000) }) {
                    try await client.send($0)
                }, unnamedAgeMin: 0)
        }
        let first: String
        do {
            let backup = try Backup.begin(place(), BackupAccess(passphrase: "right", cost: 1024))
            first = try cloud.take(backup)
            try cloud.change(1)
            try cloud.take(backup)
            #expect { _ = try Backup.begin(place(), BackupAccess(passphrase: "right")) } throws: {
                ($0 as? BackupError)?.code == .busy
            }
            let outcome = try PruneMoments(backup).run(keeping: 1)
            #expect(outcome.moments == [first])
        }
        let backup = try Backup.open(place(), BackupAccess(passphrase: "right"))
        let name = try #require(try backup.momentNames().last)
        #expect(
            try VerifyMoment(backup).run(name, storeName: "store", immutableFiles: "assets/files") == [])
        try await RestoreMoment(backup).run(
            try backup.manifest(name), to: cloud.folder.path + "/restored", storeName: "store",
            immutableFiles: "assets/files", finish: { _ in })
        #expect(cloud.folder.bytes(of: "restored/store") == cloud.image.content)
        #expect(cloud.folder.bytes(of: "restored/assets/files/0b/bb0b")?.count == 1_100_000)
        for (attempt, hint) in [
            ({ _ = try Backup.open(place(key: "other"), BackupAccess(passphrase: "right")) }, "secret key"),
            ({ _ = try Backup.begin(place("missing"), BackupAccess(passphrase: "right")) }, "bucket"),
        ] {
            #expect { try attempt() } throws: { "\($0)".contains(hint) }
        }
    }
}
