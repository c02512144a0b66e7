import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Testing

@testable import CloudKitServer

/// Pins the bytes of everything sealed that clients and the store hold: with one secret and one sequence of random bytes they
/// stay the same.
@Suite(.timeLimit(.minutes(20))) struct SealedFormTests {
    private let serverEnvironment = ServerEnvironment(
        secret: Array(0..<32), now: { 0 }, random: { count in (0..<count).map { UInt8(100 + $0) } })
    private let container = ContainerID("iCloud.com.example.app")
    private let user = UserID("_0123456789abcdef0123456789abcdef")

    private var partition: StoragePartition { .privateDatabase(container, .development, of: user) }
    private var bearer: AssetBearer { AssetBearer(container: container, environment: .development, user: user) }
    private var purpose: AssetPurpose {
        AssetPurpose(
            partition: partition, zoneName: "Z", recordName: "r", recordType: "T", fieldName: "f", user: user)
    }
    private func file() throws -> AssetFileID { try #require(AssetFileID(bytes: Array(20..<40))) }

    @Test func `courier address`() throws {
        let seal = LongPollAddressSeal(serverEnvironment)
        let address = LongPollAddress(
            container: container, environment: .production, user: user, hash: Array(1...32), sessionID: "s")
        let text = try seal.seal(address)
        #expect(
            text == """
                ZGVmZ2hpamtsbW5vCJBzUVk24UR1Qm7NEpWEeXUC0wXe0a0PwhVCrQwxZfWkgTQi_DzHyefcC3CDONy4phuD5yBIDI0hOo8m\
                OZgsoDinJMcaIMefsxLCfZkgcnjZ1TviBvY9_UWpFS8f21nWKfaluVu8E4-T0HE78KbE1FCQafcS
                """)
        #expect(seal.open(text) == address)
    }

    @Test func `push address`() throws {
        let seal = PushAddressSeal(serverEnvironment)
        let address = PushAddress(bytes: Array(1...40), identity: "https://push.example/1")
        let sealed = try seal.seal(address, service: "web", in: partition)
        #expect(
            sealed.hex == """
                6465666768696a6b6c6d6e6f7685c5245326e887e8aa862932ffdb04f0f70bc5b15f00a66e2285ec4833f290b724486b\
                d26ae856b54d46c52599008b2a2f9addbd97271c02cd7bba426b32940bfcd52da4ae30516b74d858e131cfc3e9
                """)
        #expect(seal.open(sealed, service: "web", in: partition) == address)
        #expect(seal.identity(of: address, service: "web").hex == "2893b97dad4ebaf022d5ced8cbc18b24")
    }

    @Test func `permissions and receipts of assets`() throws {
        let seal = AssetSeal(serverEnvironment)
        let download = AssetDownloadToken(
            bearer: bearer, id: try file(), size: 77, fileChecksum: "sum", expires: 1_700_000_000_000)
        let downloadText = try download.sealed(by: seal)
        #expect(
            downloadText == """
                ZGVmZ2hpamtsbW5vlAbDFQ4wE-s7PpAn2vSsnlo-WknxDP2OKv2QPWwJIe8NrwoW-qZrqhAu_tx5Hs-SH8XU7y6wyJpGvEgx\
                iDvfJV1aW_dfXBsAebY-ILNlX6BjrAIoFQ_qU3i6hMR8tdPwsAMnEPZ1oMcvC-EqoqxT3n5yp86jGwAjTedOjUZoExZD37Cp\
                oUxJiCDoBCRFRlQZ1I-h_oatTw
                """)
        #expect(AssetDownloadToken(downloadText, by: seal) == download)
        let upload = AssetUploadToken(
            bearer: bearer, purpose: purpose, id: try file(), bytesMax: 99, issued: 1_700_000_000_000)
        let uploadText = try upload.sealed(by: seal)
        #expect(
            uploadText == """
                ZGVmZ2hpamtsbW5v4kaREjPP_quOv7oM99MLpb4fTdxWnRfuoRX8mitLkIBPdKBdMeNEUuaEvASUlo7COpbjykC_gqloHKYB\
                XK5cwg47DjmRlF4wXyHsG4DjzvcyEQRiOos2o4MygwQfPUSDn30wiJjeTPn3zoRyZJQ6GZQLHewTx1GotWAmmkGTgbfsUhdI\
                82-3YDng3PPh-Dw_adcTpwg9vQtXFuEPIWjHq9qmrsxCJuT69_rLDlNAtLJc2HfFFMtChn1XcKkukxv8kfKViQrmORKBLS72\
                Eo-zf3Zd4VPtU7iJeSpCihMybuqZsLGC0jXj3NvIe-FM7SPI5rolcoGnD4uDTJDnF9K5TAngKAQWM1IjNdzdFjX18w
                """)
        #expect(AssetUploadToken(uploadText, by: seal) == upload)
        #expect(AssetDownloadToken(uploadText, by: seal) == nil)
        let receipt = AssetReceipt(
            purpose: purpose, asset: StoredAsset(id: try file(), size: 5, fileChecksum: "sum", keptUntil: 0),
            expires: 1_700_000_000_000)
        let receiptText = try receipt.sealed(by: seal)
        #expect(
            receiptText == """
                ZGVmZ2hpamtsbW5vweOcLKx5kptUu99Qh8ef8R2Ss2QHKqxY6wx2HoqJawebmj2pLyNPs4DKq4xQk29W-077MkClu1P6GT76\
                PmwUg-NQ-TGPBXZohob1d1aJc6SbiM3uSrFZXtSkTLi4owVsplE8Uy7gV2J62KXP2sC0LfcE4PVq5DebbVbSP9T_Fi9OlYUO\
                mfHtfttPIUCVZA4Z8J17RrI-9kfkFjPpgK19ApqshE47upcDhFCSy7aBWinfbjW7nxm7eAHp6cCfF3OkZTk5uuqE6l_fOZXy
                """)
        #expect(AssetReceipt(receiptText, by: seal) == receipt)
    }

    @Test func `sync token`() throws {
        let seal = SyncTokenSeal(secret: serverEnvironment.secret, epoch: 0x1234_5678_9ABC)
        let tokens = [
            SyncToken.zone(3, at: 77), SyncToken(.zoneReversed, zone: 4, version: 5, baseline: 9, floor: 2),
            SyncToken(.database, version: 9), SyncToken(.member, zone: 4, version: 5, floor: 2),
        ]
        #expect(
            tokens.map { seal.seal($0, for: partition) } == [
                "xAsBNFZ4mq4AAAADAAAAAABNAAAAAAAAwsi9Jo7prYqx3gKr",
                "xAsCNFZ4mq4AAAAEAAAAAAAFAAAAAAAJAAAAAAAC90B4WrZyfA/QpvFK",
                "xAsDNFZ4mq4AAAAAAAAAAAAJAAAAAAAAmTWIieYD4ITzYfBu",
                "xAsENFZ4mq4AAAAEAAAAAAAFAAAAAAAAAAAAAAACajWFqJzGrTpXDIeE",
            ])
    }

    @Test func `continuation marker`() throws {
        let seal = QueryMarkerSeal(serverEnvironment)
        let place = try DatabaseAccess.place(
            DatabaseAddress(container: container, environment: .development, scope: .private),
            for: Caller(user: user), to: .readRecords)
        let query = try QueryFingerprint(
            QueryRecordsRequest(query: Query(recordType: "T"), zoneID: ZoneID(zoneName: "Z")), in: place)
        var texts: [String] = []
        for length in 1...3 {
            var key = KeyBuilder(capacity: 16)
            key.append(Int64(3))
            key.append([UInt8](repeating: 9, count: length))
            let position = try #require(QueryPosition(decoding: key.bytes))
            let text = try seal.seal(position, for: query)
            #expect(try seal.open(text, for: query) == position)
            texts.append(text)
        }
        #expect(
            texts == [
                "ZGVmZ2hpamtsbW5vVS5f6o648kNsQzdBdFhjhvj6BjvLJJ3F",
                "ZGVmZ2hpamtsbW5vVi5K/Iyw8kMgJlGwtfcy3P/zCiT+sxV1",
                "ZGVmZ2hpamtsbW5vVztc/oSw8kMqCLg67V4dlrNzxqyN7woO",
            ])
    }
}
