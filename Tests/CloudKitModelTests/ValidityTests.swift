import CloudKitModel
import Testing

@Suite(.timeLimit(.minutes(20))) struct ValidityTests {
    private func code(_ check: () throws(RequestFailure) -> Void) -> RequestFailure.Code? {
        do {
            try check()
            return nil
        } catch { return error.code }
    }

    @Test func `B-LIM-11 record and zone names`() {
        for name in ["R", "a b", "{x}", String(repeating: "x", count: 255)] {
            #expect(code { () throws(RequestFailure) in try Validity.recordName(name) } == nil)
            #expect(code { () throws(RequestFailure) in try Validity.zoneName(name) } == nil)
        }
        for name in ["", "_x", "é", "a\n", String(repeating: "x", count: 256)] {
            #expect(code { () throws(RequestFailure) in try Validity.recordName(name) } == .badRequest)
            #expect(code { () throws(RequestFailure) in try Validity.zoneName(name) } == .badRequest)
        }
        #expect(code { () throws(RequestFailure) in try Validity.recordName("_abc", isSystem: true) } == nil)
        #expect(code { () throws(RequestFailure) in try Validity.zoneName("_defaultZone") } == nil)
        #expect(code { () throws(RequestFailure) in try Validity.newZoneName("_defaultZone") } == .badRequest)
    }

    @Test func `B-LIM-12 and B-LIM-14 field names`() {
        func field(_ name: String, _ type: String = "Note") -> RequestFailure.Code? {
            code { () throws(RequestFailure) in try Validity.fieldName(name, ofType: type) }
        }
        for name in ["a", "Z9_", String(repeating: "x", count: 255)] { #expect(field(name) == nil) }
        for name in ["", "9a", "a b", "a.b", "é", "cloudkit.title", String(repeating: "x", count: 256)] {
            #expect(field(name) == .badRequest)
        }
        for name in ["_a", "___createTime", "a$b"] { #expect(field(name) == .systemFieldWrite) }
        for name in ["recordID", "etag", "modifiedByDevice"] { #expect(field(name) == .badRequest) }
        #expect(field("cloudkit.title", "cloudkit.share") == nil)
    }

    @Test func `B-LIM-13 record types`() {
        for name in ["Note", "cloudkit.share", "A_1"] {
            #expect(code { () throws(RequestFailure) in try Validity.recordType(name) } == nil)
        }
        for name in ["", "My Note", "_T", "1T", "cloudkit.other"] {
            #expect(code { () throws(RequestFailure) in try Validity.recordType(name) } == .typeNotFound)
        }
    }

    @Test func `B-LIM-05 a record has at most one megabyte`() {
        func field(_ bytes: Int) -> Field {
            Field(name: "f", type: .string, json: [UInt8](repeating: 0x22, count: bytes))
        }
        #expect(code { () throws(RequestFailure) in try Validity.recordSize([field(1_048_575)]) } == nil)
        #expect(code { () throws(RequestFailure) in try Validity.recordSize([field(1_048_576)]) } == .sizeLimitExceeded)
    }
}
