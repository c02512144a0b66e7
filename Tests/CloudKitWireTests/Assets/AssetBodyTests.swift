import CloudKitModel
import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetBodyTests {
    @Test func `requests for uploads come back as they were printed`() throws {
        let request = AssetUploadRequest(
            items: [
                .init(recordType: "Note", recordName: "R", fieldName: "photo"),
                .init(recordType: "Note", fieldName: "cover"),
            ], zoneID: ZoneID(zoneName: "Z"))
        #expect(try AssetUploadRequest(wire: request.wire(), limits: .web) == request)
        let bare = #"{"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#
        #expect(try AssetUploadRequest(wire: Array(bare.utf8), limits: .web).zoneID == .default)
        for wrong in [
            #"{"tokens":[{"recordType":"Note"}]}"#, #"{"tokens":[{"fieldName":"photo"}]}"#, #"{"tokens":[1]}"#,
        ] {
            #expect(throws: RequestFailure.self) { try AssetUploadRequest(wire: Array(wrong.utf8), limits: .web) }
        }
        let tickets = [AssetUploadTarget(recordName: "R", fieldName: "photo", url: "https://example.com/u")]
        #expect(try [AssetUploadTarget](wireAnswer: tickets.wireAnswer()) == tickets)
    }

    @Test func `an upload answers with the file's dictionary`() throws {
        let asset = AssetValue(fileChecksum: "AfmD7UtOGIItmXHUm5CO1yik4vxv", size: 11, receipt: "R")
        let text = #"{"singleFile":{"fileChecksum":"AfmD7UtOGIItmXHUm5CO1yik4vxv","size":11,"receipt":"R"}}"#
        #expect(String(decoding: asset.wireUploadAnswer(), as: UTF8.self) == text)
        #expect(try AssetValue(wireUploadAnswer: Array(text.utf8)) == asset)
        #expect(throws: RequestFailure.self) { try AssetValue(wireUploadAnswer: Array("{}".utf8)) }
    }

    @Test func `requests to use assets again come back as they were printed, item by item`() throws {
        let request = RereferenceAssetsRequest(
            items: [.init(recordName: "R", fieldName: "photo")], zoneID: ZoneID(zoneName: "Z"),
            targetZoneID: ZoneID(zoneName: "Y"))
        #expect(try RereferenceAssetsRequest(wire: request.wire(), limits: .web) == request)
        let outcomes: [RereferenceOutcome] = [
            .asset(AssetValue(fileChecksum: "c", size: 1, wrappingKey: "k", receipt: "r")),
            .failed(
                .init(recordName: "S", fieldName: "photo"), RequestFailure(.itemNotFound, "Record not found")),
        ]
        #expect(try [RereferenceOutcome](wireAnswer: outcomes.wireAnswer(style: nativeStyle)) == outcomes)
    }

    @Test func `a request to import an asset comes back as it was printed, with its zone`() throws {
        let url = "https://example.com/a/${f}"
        var request = ImportAssetRequest(
            item: .init(recordType: "Note", recordName: "R", fieldName: "photo"), zoneID: ZoneID(zoneName: "Z"),
            downloadURL: url)
        #expect(try ImportAssetRequest(wire: request.wire(), limits: .native) == request)
        request.zoneID = .default
        #expect(try ImportAssetRequest(wire: request.wire(), limits: .native) == request)
        for wrong in [
            #"{"fieldName":"photo","downloadURL":"u"}"#, #"{"recordType":"Note","downloadURL":"u"}"#,
            #"{"recordType":"Note","fieldName":"photo"}"#, "[]",
        ] {
            #expect(throws: RequestFailure.self) { try ImportAssetRequest(wire: Array(wrong.utf8), limits: .native) }
        }
    }

    @Test func `an answer shows an asset's URL and not its name on the server`() throws {
        let stored = AssetValue(
            fileChecksum: "c", size: 1, wrappingKey: "k", receipt: "never", fileID: "0123456789abcdef")
        var record = try sampleRecord()
        record.fields = [
            try Field(name: "one", value: .asset(stored)),
            try Field(name: "some", value: .list(.asset, [.asset(stored)])),
        ]
        var style = webStyle
        style.downloadURL = { "https://example.com/\($0.fileID ?? "")/${f}" }
        let answer = [RecordOutcome.record(record)].wireAnswer(style: style)
        let shown =
            #"{"fileChecksum":"c","size":1,"wrappingKey":"k","#
            + #""downloadURL":"https://example.com/0123456789abcdef/${f}"}"#
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.contains(#""one":{"value":\#(shown),"type":"ASSETID"}"#))
        #expect(text.contains(#""some":{"value":[\#(shown)],"type":"ASSETID_LIST"}"#))
        #expect(!text.contains("receipt"))
        #expect(!text.contains("fileID"))
    }
}
