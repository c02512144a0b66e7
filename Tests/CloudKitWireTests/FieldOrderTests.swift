import CloudKitModel
import CloudKitWire
import Testing

/// The order of a request's fields when they are sent, in whichever order they were received.
@Suite(.timeLimit(.minutes(20))) struct FieldOrderTests {
    private func fields(_ json: String) throws -> [FieldChange] {
        let body =
            #"{"operations":[{"operationType":"create","record":{"recordType":"T","recordName":"r","fields":{\#(json)}}}]}"#
        let request = try ModifyRecordsRequest(wire: Array(body.utf8), limits: .web)
        return try #require(request.operations.first).change.fields
    }

    @Test func `fields are sorted by name, and of two with one name the later one counts`() throws {
        let changes = try fields(#""b":{"value":1},"c":null,"a":{"value":2},"b":{"value":3},"c":{"value":4}"#)
        #expect(changes.map(\.name) == ["a", "b", "c"])
        let values = changes.map {
            if case .set(let field) = $0 { String(decoding: field.json, as: UTF8.self) } else { "" }
        }
        #expect(values == ["2", "3", "4"])
    }

    @Test func `very many fields in the worst order cost no more than sorting them`() throws {
        let count = 20_000
        let json = (0..<count).reversed().map { "\"f\(1_000_000 + $0)\":null" }.joined(separator: ",")
        let names = try fields(json).map(\.name)
        #expect(names.count == count)
        #expect(names.first == "f1000000" && names.last == "f\(1_000_000 + count - 1)")
    }
}
