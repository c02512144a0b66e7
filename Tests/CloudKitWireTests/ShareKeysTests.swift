import CloudKitModel
import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareKeysTests {
    @Test(arguments: [nil, 3])
    func `a request for a share's keys comes back as it was printed`(before: Int?) throws {
        let request = ShareKeysRequest(
            zoneID: ZoneID(zoneName: "Z", owner: other), recordName: "Share-1", before: before)
        #expect(try ShareKeysRequest(wire: request.wire(), limits: .native) == request)
    }
}
