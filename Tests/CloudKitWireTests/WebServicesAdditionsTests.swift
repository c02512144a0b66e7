import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct WebServicesAdditionsTests {
    @Test(arguments: [
        (#"{"operations":[{"operationType":"raiseKeyEpoch"}]}"#, "raiseKeyEpoch"),
        (#"{"query":{"filterBy":[{"comparator":"WELKIN_NEVER"}]}}"#, "WELKIN_NEVER"),
        (#"{"zones":[{"zoneState":{}}]}"#, "zoneState"),
        (#"{"records":[{"recordName":"raiseKeyEpoch","recordType":"WELKIN_NEVER"}]}"#, nil),
        (#"{"record":{"fields":{"title":{"value":"raiseKeyEpoch"}}}}"#, nil),
    ])
    func `an operation or a comparator is an addition, a name that reads the same is not`(
        body: String, addition: String?
    ) {
        #expect(WebServicesAdditions.first(in: bytes(body)) == addition)
    }
}
