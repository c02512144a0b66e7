import CloudKitModel
import CloudKitSchema
import CloudKitServer
import FileStore
import OrderedStore
import TestEnvironment
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetUploadTests {
    @Test func `a ticket is weighed as a save is`() async throws {
        try await withCloud { test in
            await expect(.zoneNotFound) { _ = try await test.ticket() }
            try await test.makeZone()
            await expect(.authenticationRequired) { _ = try await test.ticket(by: .anonymous) }
            await expect(.badRequest) { _ = try await test.ticket("_reserved") }
            await expect(.systemFieldWrite) { _ = try await test.ticket("R", "_field") }
            _ = try await test.modify([create("R", "Note", text("title", "x"))])
            await expect(.schemaMismatch) { _ = try await test.ticket("R", "title") }
            await expect(.badRequest) { _ = try await test.ticket("R", type: "Other") }
            let made = try await test.ticket(nil)
            #expect(made.recordName.utf8.count == 36)
            try await EndZone(test.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development)
            await expect(.zonePurged) { _ = try await test.ticket() }
        }
    }

    @Test func `B-DB-08 in the public database the grants of the type decide`() async throws {
        try await withCloud { test in
            let zone = ZoneID.defaultZoneName
            await expect(.authenticationRequired) {
                _ = try await test.ticket(zone: zone, in: .public, by: .anonymous)
            }
            let value = try await test.upload([1], zone: zone, in: .public)
            let saved = try await test.modify(
                [create("R", "Note", try asset("photo", value))], zone: zone, in: .public)[0].record
            #expect(saved != nil)
            await expect(.accessDenied) {
                _ = try await test.ticket(zone: zone, in: .public, by: Caller(user: TestCloud.bob))
            }
            _ = try await test.ticket("S", zone: zone, in: .public, by: Caller(user: TestCloud.bob))
        }
    }

    @Test func `B-LIM-03 at most 200 tickets at once`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            await expect(.itemLimitExceeded) {
                _ = try await PermitAssetUploads(test.cloud).run(
                    AssetUploadRequest(
                        items: (0..<201).map { .init(recordType: "Note", recordName: "R\($0)", fieldName: "photo") },
                        zoneID: ZoneID(zoneName: "Z")), in: TestCloud.address(.private),
                    by: Caller(user: TestCloud.ada))
            }
        }
    }

    @Test func `an upload begins within 15 minutes`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let ticket = try await test.ticket()
            let other = try await test.ticket()
            var begun = try await OpenAssetUpload(test.cloud).run(other.url).receivePiece(at: 0, of: 2)
            try await begun.receive([1])
            try await begun.pause()
            test.time.advance(15 * 60_000)
            await expect(.accessDenied) {
                _ = try await OpenAssetUpload(test.cloud).run(ticket.url).receiveWhole(announced: 1)
            }
            await expect(.accessDenied) {
                _ = try await OpenAssetUpload(test.cloud).run(ticket.url).receivePiece(at: 0, of: 2)
            }
            // An upload that has begun may continue for a day.
            var rest = try await OpenAssetUpload(test.cloud).run(other.url).receivePiece(at: 1, of: 2)
            try await rest.receive([2])
            #expect(try await rest.finish().size == 2)
            test.time.advance(24 * 3_600_000)
            await expect(.accessDenied) { _ = try OpenAssetUpload(test.cloud).run(other.url) }
            await expect(.accessDenied) { _ = try OpenAssetUpload(test.cloud).run("AAAA") }
        }
    }

    @Test(arguments: Engine.allCases)
    func `pieces make the file in any order, also repeated`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 / 3) }
            let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
            func send(_ range: Range<Int>) async throws -> AssetReceiver {
                var reception = try await upload.receivePiece(at: Int64(range.lowerBound), of: 1000)
                try await reception.receive(Array(bytes[range]))
                return reception
            }
            await expect(.conflict) { _ = try await upload.receivePiece(at: 1, of: 1000) }
            try await send(0..<300).pause()
            #expect(try await upload.progress() == (300, false))
            // Repeated, overlapping, with a hole.
            try await send(0..<300).pause()
            try await send(200..<500).pause()
            #expect(try await upload.progress() == (500, false))
            await expect(.conflict) { _ = try await upload.receivePiece(at: 600, of: 1000) }
            await expect(.badRequest) { _ = try await upload.receivePiece(at: 500, of: 400) }
            await expect(.sizeLimitExceeded) {
                var long = try await upload.receivePiece(at: 500, of: 600)
                try await long.receive(Array(bytes[500..<700]))
            }
            var last = try await send(400..<1000)
            #expect(last.isComplete)
            let value = try await last.finish()
            #expect(try await upload.progress() == (1000, true))
            var whole = AssetFileChecksum()
            whole.update(bytes)
            #expect(value.fileChecksum == whole.text)
            // The answer was lost: the last piece again, or nothing.
            var again = try await send(900..<1000)
            #expect(try await again.finish().fileChecksum == whole.text)
            var nothing = try await upload.receivePiece(at: 1000, of: 1000)
            #expect(try await nothing.finish().size == 1000)
            await expect(.badRequest) { _ = try await upload.receivePiece(at: 0, of: 999) }
            let saved = try await test.modify([create("R", "Note", try asset("photo", value))])[0].record
            #expect(try await test.download(try #require(try saved?.assets().first)) == bytes)
        }
    }

    @Test func `B-LIM-10 a later piece does not make the file longer than is permitted`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
            var first = try await upload.receivePiece(at: 0, of: 11)
            try await first.receive(Array("0123456789".utf8))
            try await first.pause()
            await expect(.sizeLimitExceeded) {
                _ = try await upload.receivePiece(at: 10, of: upload.bytesMax + 1)
            }
            _ = try await upload.receivePiece(at: 10, of: upload.bytesMax)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an upload goes on after a restart, with the checksum of all of it`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let token = try await test.ticket().url
            var first = try await OpenAssetUpload(test.cloud).run(token).receivePiece(at: 0, of: 11)
            try await first.receive(Array("hello ".utf8))
            try await first.pause()
            let restarted = test.restarted()
            var second = try await OpenAssetUpload(restarted).run(token).receivePiece(at: 6, of: 11)
            try await second.receive(Array("world".utf8))
            // Dies after the file is sealed and before anybody knows: the client asks again.
            #expect(try await second.finish().fileChecksum == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
            var third = try await OpenAssetUpload(test.restarted()).run(token).receivePiece(at: 11, of: 11)
            #expect(try await third.finish().fileChecksum == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
        }
    }

    @Test func `a file that was sealed before a crash is completed by the next piece`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let token = try await test.ticket().url
            var first = try await OpenAssetUpload(test.cloud).run(token).receivePiece(at: 0, of: 11)
            try await first.receive(Array("hello world".utf8))
            let draft = try #require(try await test.files.drafts().first)
            try await test.files.seal(draft.id)
            var again = try await OpenAssetUpload(test.restarted()).run(token).receivePiece(at: 11, of: 11)
            let value = try await again.finish()
            #expect(value.fileChecksum == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
            #expect(try await test.modify([create("R", "Note", try asset("photo", value))])[0].record != nil)
        }
    }

    @Test func `of two that write to one file only one gets on`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
            var one = try await upload.receivePiece(at: 0, of: 4)
            var two = try await upload.receivePiece(at: 0, of: 4)
            try await one.receive([1, 2])
            await expect(.conflict) { try await two.receive([3]) }
            try await one.receive([3, 4])
            #expect(try await one.finish().size == 4)
        }
    }

    @Test func `files that come as a whole are different files`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
            var one = try await upload.receiveWhole(announced: 2)
            var two = try await upload.receiveWhole(announced: nil)
            try await one.receive([1, 1])
            try await two.receive([2])
            try await two.abandon()
            let value = try await one.finish()
            let saved = try await test.modify([create("R", "Note", try asset("photo", value))])[0].record
            #expect(try await test.download(try #require(try saved?.assets().first)) == [1, 1])
            #expect(try await test.files.drafts() == [])
        }
    }

    @Test func `B-LIM-10 a client of web services uploads 50 MB, the framework 4 GB`() async throws {
        let megabyte: Int64 = 1_048_576
        try await withCloud { test in
            try await test.makeZone()
            for (surface, most) in [(Caller.ClientKind.web, 50 * megabyte), (.native, 4096 * megabyte)] {
                let caller = Caller(user: TestCloud.ada, surface: surface)
                func upload() async throws -> AssetUploadSession {
                    try OpenAssetUpload(test.cloud).run(try await test.ticket(by: caller).url)
                }
                _ = try await upload().receiveWhole(announced: most)
                _ = try await upload().receivePiece(at: 0, of: most)
                await expect(.sizeLimitExceeded) { _ = try await upload().receiveWhole(announced: most + 1) }
                await expect(.sizeLimitExceeded) { _ = try await upload().receivePiece(at: 0, of: most + 1) }
            }
            // One that does not say its size is stopped at the same byte.
            let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
            var reception = try await upload.receiveWhole(announced: nil)
            let piece = [UInt8](repeating: 0, count: Int(megabyte))
            for _ in 0..<50 { try await reception.receive(piece) }
            await expect(.sizeLimitExceeded) { try await reception.receive([0]) }
        }
    }

    @Test func `a file is as large as its client may send`() async throws {
        var limits = Limits()
        limits.webAssetBytesMax = 10
        limits.nativeAssetBytesMax = 20
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            await expect(.sizeLimitExceeded) { _ = try await test.upload([UInt8](repeating: 0, count: 11)) }
            #expect(try await test.files.drafts() == [])
            await expect(.sizeLimitExceeded) {
                _ = try await OpenAssetUpload(test.cloud).run(try await test.ticket().url).receiveWhole(announced: 11)
            }
            await expect(.sizeLimitExceeded) {
                _ = try await OpenAssetUpload(test.cloud).run(try await test.ticket().url).receivePiece(at: 0, of: 11)
            }
            let native = Caller(user: TestCloud.ada, surface: .native)
            _ = try await test.upload([UInt8](repeating: 0, count: 20), by: native)
        }
    }

    @Test func `a nearly full disk refuses files before they come`() async throws {
        let time = TestServerEnvironment()
        var limits = Limits()
        limits.freeBytesMin = 1000
        let files = MemoryFileStore(bytesMax: 2000, now: { time.now })
        let test = TestCloud(store: MemoryStore(epoch: 7), files: files, time: time, limits: limits)
        try await test.makeZone()
        let upload = try OpenAssetUpload(test.cloud).run(try await test.ticket().url)
        await expect(.tryAgainLater) { _ = try await upload.receiveWhole(announced: 1001) }
        await expect(.tryAgainLater) { _ = try await upload.receivePiece(at: 0, of: 1001) }
        // One that does not say its size meets the end of the disk.
        var reception = try await upload.receiveWhole(announced: nil)
        do {
            try await reception.receive([UInt8](repeating: 0, count: 2001))
            Issue.record("no error")
        } catch {
            #expect(RequestFailure(storage: error)?.code == .tryAgainLater)
        }
    }
}
