import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetSaveTests {
    @Test func `B-AST-01 the checksum is that of web services`() {
        func checksum(_ bytes: [UInt8]) -> String {
            var checksum = AssetFileChecksum()
            checksum.update(bytes)
            return checksum.text
        }
        #expect(checksum([]) == "AW2cWT2PxzWixMKuuNMTHJ8CJ3sH")
        #expect(checksum(Array("hello world".utf8)) == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
        #expect(checksum([UInt8](repeating: 0, count: 1024)) == "AXVQzAuErs7LGUTMR2eQYoU9X6v5")
    }

    @Test(arguments: Engine.allCases)
    func `B-AST-01 a file is uploaded, saved with its receipt and read again`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            var value = try await test.upload(bytes)
            #expect(value.size == 100_000)
            #expect(value.receipt != nil)
            value.wrappingKey = "a key the server cannot read"
            value.referenceChecksum = "another"
            let saved = try await test.modify([create("R", "Note", try asset("photo", value))])[0].record
            let held = try #require(try saved?.assets().first)
            #expect(held.fileChecksum == value.fileChecksum)
            #expect(held.wrappingKey == value.wrappingKey)
            #expect(held.referenceChecksum == value.referenceChecksum)
            #expect(held.receipt == nil)
            let read = try #require(try await test.record("R")?.assets().first)
            #expect(read == held)
            #expect(try await test.download(read) == bytes)
        }
    }

    @Test func `B-AST-03 a fetched asset that is sent back is kept, identified by its checksum`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            var value = try await test.upload([1, 2, 3])
            value.wrappingKey = "K"
            let first = try #require(
                try await test.modify([create("R", "Note", try asset("photo", value))])[0].record)
            let held = try first.assets()[0]
            let sent = AssetValue(fileChecksum: held.fileChecksum, size: 3, downloadURL: "https://example.com/f")
            let again = try #require(
                try await test.modify([
                    save(.update, "R", tag: first.changeTag, try asset("photo", sent), text("title", "new"))
                ])[0].record)
            #expect(try again.assets() == [held])
            // Sealed again, the same file has another key.
            var resealed = sent
            resealed.wrappingKey = "K2"
            let third = try await test.modify([
                save(.update, "R", tag: again.changeTag, try asset("photo", resealed))
            ])[0].record
            #expect(try third?.assets().first?.wrappingKey == "K2")
            #expect(try third?.assets().first?.fileID == held.fileID)
        }
    }

    @Test func `an asset without receipt that the field does not hold is refused with any claim of the client`()
        async throws
    {
        try await withCloud { test in
            try await test.makeZone()
            let value = try await test.upload([1, 2, 3])
            let saved = try #require(
                try await test.modify([create("R", "Note", try asset("photo", value))])[0].record)
            let held = try saved.assets()[0]
            // Another record, another field, another checksum; the server's own name of the file is worth nothing.
            let bare = AssetValue(fileChecksum: held.fileChecksum, size: 3, fileID: held.fileID)
            let elsewhere = try await test.modify([create("S", "Note", try asset("photo", bare))])[0]
            #expect(elsewhere.failure?.reason == "missing asset receipt")
            let otherField = try await test.modify([
                save(.update, "R", tag: saved.changeTag, try asset("cover", bare))
            ])[0]
            #expect(otherField.failure?.reason == "missing asset receipt")
            var wrong = bare
            wrong.fileChecksum = "AW2cWT2PxzWixMKuuNMTHJ8CJ3sH"
            let otherFile = try await test.modify([save(.update, "R", tag: saved.changeTag, try asset("photo", wrong))]
            )[0]
            #expect(otherFile.failure?.reason == "missing asset receipt")
        }
    }

    @Test func `a receipt is good for one field of one record of one user`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.makeZone("Y")
            try await test.makeZone("Z", of: TestCloud.bob)
            let value = try await test.upload([1, 2, 3])
            func refusal(_ operation: RecordOperation, zone: String = "Z", by user: UserID = TestCloud.ada) async throws
                -> String?
            {
                try await test.modify([operation], zone: zone, by: Caller(user: user))[0].failure?.reason
            }
            let photo = try asset("photo", value)
            #expect(try await refusal(create("S", "Note", photo)) == "invalid asset receipt")
            #expect(try await refusal(create("R", "Other", photo)) == "invalid asset receipt")
            #expect(try await refusal(create("R", "Note", try asset("cover", value))) == "invalid asset receipt")
            #expect(try await refusal(create("R", "Note", photo), zone: "Y") == "invalid asset receipt")
            #expect(try await refusal(create("R", "Note", photo), by: TestCloud.bob) == "invalid asset receipt")
            var forged = value
            forged.receipt = (value.receipt ?? "").replacing("A", with: "B") + "x"
            #expect(try await refusal(create("R", "Note", try asset("photo", forged))) == "invalid asset receipt")
            // A token of another kind is not a receipt.
            forged.receipt = try await test.ticket().url
            #expect(try await refusal(create("R", "Note", try asset("photo", forged))) == "invalid asset receipt")
            #expect(try await refusal(create("R", "Note", photo)) == nil)
        }
    }

    @Test func `size and checksum have to be those of the file`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let value = try await test.upload([1, 2, 3])
            for change: (inout AssetValue) -> Void in [{ $0.size = 4 }, { $0.fileChecksum = "AW2c" }] {
                var other = value
                change(&other)
                let outcome = try await test.modify([create("R", "Note", try asset("photo", other))])[0]
                #expect(outcome.code == .badRequest)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a list of assets keeps its order, and the same file twice counts once`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let one = try await test.upload([1], for: "R", "photos")
            let two = try await test.upload([2, 2], for: "R", "photos")
            let saved = try #require(
                try await test.modify([create("R", "Note", try assets("photos", [two, one, two]))])[0].record)
            let held = try saved.assets("photos")
            #expect(held.map(\.size) == [2, 1, 2])
            // One goes, one stays; what stays needs no receipt.
            let kept = AssetValue(fileChecksum: one.fileChecksum, size: 1)
            let after = try await test.modify([
                save(.update, "R", tag: saved.changeTag, try assets("photos", [kept]))
            ])[0].record
            #expect(try after?.assets("photos").map(\.size) == [1])
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 1)
            #expect(try await test.download(held[1]) == [1])
        }
    }

    @Test func `B-BAT-01 an atomic batch that fails refers to nothing`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let value = try await test.upload([1, 2, 3])
            let outcomes = try await test.modify([
                create("R", "Note", try asset("photo", value)),
                save(.update, "missing", tag: ChangeTag("1"), text("a", "b")),
            ])
            #expect(outcomes.map(\.code) == [.atomicFailure, .itemNotFound])
            // The receipt is still good.
            #expect(try await test.modify([create("R", "Note", try asset("photo", value))])[0].record != nil)
            _ = try await test.modify([delete("R")])
            test.time.advance(longEnough)
            #expect(try await test.sweep() == 1)
        }
    }

    @Test func `a receipt is valid for a day, and again for a save whose response was lost`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let late = try await test.upload([1], for: "late")
            let value = try await test.upload([1, 2, 3])
            let saved = try #require(
                try await test.modify([create("R", "Note", try asset("photo", value))])[0].record)
            test.time.advance(24 * 3_600_000)
            let again = try await test.modify([save(.update, "R", tag: saved.changeTag, try asset("photo", value))])[0]
            #expect(again.record != nil)
            let expired = try await test.modify([create("late", "Note", try asset("photo", late))])[0]
            #expect(expired.code == .assetNotAvailable)
            #expect(RequestFailure.Code.assetNotAvailable.native.code == 35)
        }
    }

    @Test func `B-AST-06 asset bytes count to the quota, not to the record's size`() async throws {
        var limits = Limits()
        limits.quotaBytes = 10_000
        limits.recordBytesMax = 1000
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            let value = try await test.upload([UInt8](repeating: 1, count: 6000))
            #expect(try await test.modify([create("R", "Note", try asset("photo", value))])[0].record != nil)
            await expect(.quotaExceeded) { _ = try await test.upload([UInt8](repeating: 2, count: 6000), for: "S") }
            // Both fit when they come, but not both when they are saved.
            let small = try await test.upload([UInt8](repeating: 3, count: 3000), for: "S")
            let other = try await test.upload([UInt8](repeating: 4, count: 3000), for: "T")
            let outcomes = try await test.modify(
                [create("S", "Note", try asset("photo", small)), create("T", "Note", try asset("photo", other))],
                atomic: false)
            #expect(outcomes.map(\.code) == [nil, .quotaExceeded])
            // A deletion frees storage at once.
            _ = try await test.modify([delete("R")])
            #expect(try await test.modify([create("T", "Note", try asset("photo", other))])[0].record != nil)
        }
    }

    @Test func `B-AST-06 a deleted zone frees its storage`() async throws {
        var limits = Limits()
        limits.quotaBytes = 10_000
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            let value = try await test.upload([UInt8](repeating: 1, count: 8000))
            _ = try await test.modify([create("R", "Note", try asset("photo", value))])
            try await EndZone(test.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development)
            try await test.makeZone("Y")
            _ = try await test.upload([UInt8](repeating: 1, count: 8000), zone: "Y")
        }
    }

    @Test func `assets cannot be marked as encrypted fields`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let value = try await test.upload([1])
            var field = try Field(name: "photo", value: .asset(value))
            field.type.isEncrypted = true
            #expect(try await test.modify([create("R", "Note", .set(field))])[0].code == .badRequest)
        }
    }
}
