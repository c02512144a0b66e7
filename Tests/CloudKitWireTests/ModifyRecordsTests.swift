import CloudKitModel
import CloudKitWire
import Testing

private func request(_ text: String, limits: WireLimits = .web) throws -> ModifyRecordsRequest {
    try ModifyRecordsRequest(wire: bytes(text), limits: limits)
}

private func failure(of text: String, limits: WireLimits = .web) -> RequestFailure? {
    failure { _ = try request(text, limits: limits) }
}

@Suite(.timeLimit(.minutes(20))) struct ModifyRecordsTests {
    @Test func `B-BAT-12 the documented body`() throws {
        let read = try request(
            """
            { "operations": [
                { "operationType": "create",
                  "record": { "recordType": "Note", "recordName": "R1",
                              "fields": { "title": { "value": "x" } } },
                  "desiredKeys": ["title"] } ],
              "zoneID": { "zoneName": "Z" },
              "atomic": true,
              "desiredKeys": ["title"],
              "numbersAsStrings": false }
            """)
        let title = Field(name: "title", type: FieldType(.string, isGuess: true), json: bytes("\"x\""))
        let change = RecordChange(
            recordName: "R1", recordType: "Note", fields: [.set(title)], desiredKeys: ["title"])
        #expect(
            read
                == ModifyRecordsRequest(
                    operations: [RecordOperation(.create, change)], zoneID: ZoneID(zoneName: "Z"), atomic: true,
                    desiredKeys: ["title"]))
    }

    @Test func `nulls are absent and unknown keys pass`() throws {
        let read = try request(
            """
            {"operations":[{"operationType":"create","recordType":"Note","record":{"recordName":"R1","recordType":"Note",
            "recordChangeTag":null,"created":null,"modified":{"timestamp":1},"deleted":false,"pluginFields":{},
            "fields":{"b":{"value":null,"type":"STRING"},"a":null,"c":{"type":"INT64","value":7}},
            "zoneID":{"zoneName":"Y","zoneType":"REGULAR_CUSTOM_ZONE"}},"x":[{}]}],
            "zoneID":null,"atomic":null,"desiredKeys":null,"numberAsStrings":true,"y":{"z":1}}
            """)
        #expect(read.zoneID == ZoneID(zoneName: "Y"))
        #expect(read.atomic == nil && read.desiredKeys == nil && read.numbersAsStrings)
        let seven = Field(name: "c", type: .int64, json: bytes("7"))
        #expect(read.operations[0].change.fields == [.remove(name: "a"), .remove(name: "b"), .set(seven)])
        #expect(read.operations[0].change.changeTag == nil)
    }

    @Test func `fields are sorted and the last of a name counts`() throws {
        let read = try request(
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R","fields":{"#
                + #""b":{"value":1},"a":{"value":2},"b":{"value":3}}}}]}"#)
        let fields = read.operations[0].change.fields
        #expect(fields.map(\.name) == ["a", "b"])
        #expect(fields[1] == .set(Field(name: "b", type: FieldType(.int64, isGuess: true), json: bytes("3"))))
    }

    @Test func `parents are kept, removed or set`() throws {
        func parent(_ json: String) throws -> ParentChange {
            try request(#"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R"\#(json)}}]}"#)
                .operations[0].change.parent
        }
        #expect(try parent("") == .keep)
        #expect(try parent(#","parent":null"#) == .remove)
        #expect(try parent(#","parent":{"recordName":"P","action":"NONE"}"#) == .set(recordName: "P"))
    }

    @Test func `encrypted values are marked in either form`() throws {
        let read = try request(
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R","fields":{"#
                + #""a":{"isEncrypted":true,"value":"x","type":"STRING"},"b":{"value":"Zg==","type":"ENCRYPTED_BYTES"}}}}]}"#
        )
        let types = read.operations[0].change.fields.map { change -> FieldType? in
            if case .set(let field) = change { field.type } else { nil }
        }
        #expect(types == [FieldType(.string, isEncrypted: true), FieldType(.bytes, isEncrypted: true)])
    }

    @Test func `sealed values of every type are sent as base64, with the protection of their record`() throws {
        let read = try request(
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R","fields":{"#
                + #""a":{"isEncrypted":true,"value":"AQI=","type":"INT64_LIST"},"b":{"value":"AQI=","type":"ENCRYPTED_DOUBLE"},"#
                + #""c":{"isEncrypted":true,"value":"AQI="}},"protection":{"epoch":3,"keys":"AA==","statement":"AQ=="}}}]}"#
        )
        let change = read.operations[0].change
        #expect(change.protection == Protection(epoch: 3, keys: [0], statement: [1]))
        for case .set(let field) in change.fields { #expect(field.sealed == [1, 2], "\(field.name)") }
        #expect(try ModifyRecordsRequest(wire: read.wire(), limits: .web) == read)
        for bad in [#"{"epoch":-1}"#, #"{"epoch":4294967296}"#, #"{"epoch":0,"keys":"?"}"#, "[]", #"{"epoch":"0"}"#] {
            let body =
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"R","protection":\#(bad)}}]}"#
            #expect(failure(of: body)?.code == .badRequest, "\(bad)")
        }
    }

    @Test func `B-LIM-01 too many operations are counted and refused`() {
        let operation = #"{"operationType":"forceDelete","record":{"recordName":"R"}}"#
        let body = #"{"operations":[\#(Array(repeating: operation, count: 401).joined(separator: ","))]}"#
        #expect(failure(of: body, limits: .native)?.code == .itemLimitExceeded)
        #expect(
            failure(of: body, limits: .native)?.reason
                == "Your request contains 401 items which is more than the maximum number of items in a single request (400)"
        )
        #expect(failure(of: body, limits: .web)?.reason.contains("(200)") == true)
        let large = #"{"x":"\#(String(repeating: "x", count: 4_000_000))"}"#
        #expect(failure(of: large)?.code == .sizeLimitExceeded)
    }

    @Test func `update, replace and delete need a change tag`() {
        for kind in ["update", "replace", "delete"] {
            for tag in ["", #","recordChangeTag":null"#] {
                let body = #"{"operations":[{"operationType":"\#(kind)","record":{"recordName":"R"\#(tag)}}]}"#
                #expect(
                    failure(of: body)
                        == RequestFailure(
                            .badRequest, "BadRequestException: missing required field 'recordChangeTag'"))
            }
            let empty =
                #"{"operations":[{"operationType":"\#(kind)","record":{"recordName":"R","recordChangeTag":""}}]}"#
            #expect(failure(of: empty) == nil)
        }
    }

    @Test func `one operation for each record`() {
        let first = #"{"operationType":"create","record":{"recordName":"R","recordType":"T"}}"#
        let second = #"{"operationType":"forceDelete","record":{"recordName":"R"}}"#
        #expect(failure(of: #"{"operations":[\#(first),\#(second)]}"#)?.code == .badRequest)
        let nameless = #"{"operationType":"create","record":{"recordType":"T"}}"#
        #expect(failure(of: #"{"operations":[\#(nameless),\#(nameless)]}"#) == nil)
    }

    @Test func `records of one request are of one zone`() throws {
        func body(_ zones: [String]) -> String {
            let operations = zones.enumerated().map { index, zone in
                #"{"operationType":"forceDelete","record":{"recordName":"R\#(index)","zoneID":{"zoneName":"\#(zone)"}}}"#
            }
            return #"{"operations":[\#(operations.joined(separator: ","))]}"#
        }
        #expect(try request(body(["Y", "Y"])).zoneID == ZoneID(zoneName: "Y"))
        #expect(
            failure(of: body(["Y", "Z"]))?.reason
                == "BadRequestException: records of several zones in one request")
    }

    @Test func `an unexpected input is named by its place`() {
        #expect(
            failure(of: #"{"operations":[{"operationType":"upsert"}]}"#)?.reason
                == "BadRequestException: Unexpected input at [line: 1, column: 33]")
        #expect(failure(of: "{\n x")?.reason == "BadRequestException: Unexpected input at [line: 2, column: 2]")
        for body in ["[]", "1", "null", #"{"operations":{}}"#, #"{"operations":[1]}"#, #"{"atomic":1}"#, "\u{FEFF}{}"] {
            #expect(failure(of: body)?.code == .badRequest)
        }
        #expect(
            failure(
                of: #"{"operations":[{"operationType":"create","record":{"recordType":"T","fields":{"d":"#
                    + #"{"type":"TIMESTAMP","value":1.5}}}}]}"#)?.reason == "Invalid value, expected type TIMESTAMP.")
    }

    @Test func `a depth bomb and broken text are refused`() {
        #expect(failure(of: String(repeating: #"{"operations":["#, count: 50_000))?.code == .badRequest)
        #expect(failure(of: #"{"x":"\ud800"}"#)?.code == .badRequest)
        let invalid = bytes(#"{"x":""#) + [0xFF] + bytes("\"}")
        #expect(failure { _ = try ModifyRecordsRequest(wire: invalid, limits: .web) }?.code == .badRequest)
        #expect(failure(of: #"{"resultsLimit":1e99999}"#) == nil)
    }

    @Test func `requests come back as they were printed`() throws {
        var operations = try RecordOperation.Kind.allCases.enumerated().map { index, kind in
            RecordOperation(
                kind,
                RecordChange(
                    recordName: "R\(index)", recordType: "Note",
                    fields: [.remove(name: "a")] + (try sampleFields().map(FieldChange.set)),
                    changeTag: ChangeTag("t"), parent: [.keep, .remove, .set(recordName: "P")][index % 3],
                    createShortGUID: index == 1, desiredKeys: index == 2 ? ["x", "é\""] : nil))
        }
        operations.append(RecordOperation(.create, RecordChange(recordName: nil, recordType: "T")))
        for operation in operations {
            let request = ModifyRecordsRequest(
                operations: [operation], zoneID: ZoneID(zoneName: "Z", owner: other), atomic: false, desiredKeys: [],
                numbersAsStrings: true, clientChangeToken: [1, 2])
            #expect(try ModifyRecordsRequest(wire: request.wire(), limits: .native) == request)
        }
        let request = ModifyRecordsRequest(operations: operations, zoneID: .default)
        #expect(try ModifyRecordsRequest(wire: request.wire(), limits: .native) == request)
    }
}
