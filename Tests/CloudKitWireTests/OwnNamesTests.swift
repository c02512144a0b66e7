import CloudKitWire
import Testing

/// The caller's own name in answers of documented web services.
@Suite(.timeLimit(.minutes(20))) struct OwnNamesTests {
    private func replaced(_ body: String, caller: String? = "_ada") -> String {
        String(decoding: OwnNames(caller: caller).replaced(in: Array(body.utf8)), as: UTF8.self)
    }

    @Test func `B-ZN-03 B-USR-04 owners, creators and modifiers are named as our own surface names them`() {
        #expect(
            replaced(
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"_ada"},"created" : {"timestamp":1, "userRecordName" : "_ada"},"modified":{"userRecordName":"_bob"}}"#
            )
                == #"{"zoneID":{"zoneName":"Z","ownerRecordName":"__defaultOwner__"},"created" : {"timestamp":1, "userRecordName" : "__defaultOwner__"},"modified":{"userRecordName":"_bob"}}"#
        )
        #expect(
            replaced(#"[{"ownerRecordName":"_defaultOwner"},{"ownerRecordName":"_ada"}]"#, caller: nil)
                == #"[{"ownerRecordName":"__defaultOwner__"},{"ownerRecordName":"_ada"}]"#)
    }

    @Test(arguments: [
        #"{"fields":{"ownerRecordName":{"value":"_ada"},"t":{"value":"ownerRecordName"},"u":{"value":"_ada"}}}"#,
        #"{"owner":{"userIdentity":{"userRecordName":"_ada"}}}"#,
        #"{"t":"\"ownerRecordName\":\"_ada\""}"#, #"{"list":["ownerRecordName","_ada"]}"#, #"{"recordName":"_ada"}"#,
        #"{"ownerRecordName":null,"userRecordName":"_ada"}"#, #"{"created":{"timestamp":1},"userRecordName":"_ada"}"#,
        #"{"ownerRecordName":"_ada2"}"#, #"{"ownerRecordName":"#, #"{"ownerRecordName""#, #"{"a"#, #"""#, "", "{}",
    ])
    func `values of fields, identities of shares and broken answers stay as they are`(body: String) {
        #expect(replaced(body) == body)
    }
}
