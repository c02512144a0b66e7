import CloudKitModel
import CloudKitWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct RecordAnswerTests {
    @Test func `a record as web services print it`() throws {
        let record = try sampleRecord(fields: [
            Field(name: "plays", value: .int64(7)), Field(name: "secret", type: .string, sealed: [0, 1, 2]),
            Field(name: "title", value: .string("x")),
        ])
        let zone = #"{"zoneName":"Z","ownerRecordName":"\#(me)","zoneType":"REGULAR_CUSTOM_ZONE"}"#
        let expected =
            #"{"records":[{"recordName":"R1","recordType":"Note","fields":{"plays":{"value":7,"type":"INT64"},"#
            + #""secret":{"value":"AAEC","type":"ENCRYPTED_BYTES","isEncrypted":true},"title":{"value":"x","type":"STRING"}},"#
            + #""pluginFields":{},"recordChangeTag":"jx3","#
            + #""created":{"timestamp":1700000000000,"userRecordName":"\#(me)","deviceID":"2"},"#
            + #""modified":{"timestamp":1700000000001,"userRecordName":"\#(other)"},"deleted":false,"zoneID":\#(zone),"#
            + #""shortGUID":"0a1b","parent":{"recordName":"P1"},"share":{"recordName":"Share-1","zoneID":\#(zone)}}],"#
            + #""syncToken":"tok"}"#
        #expect(text([RecordOutcome.record(record)].wireAnswer(style: webStyle, syncToken: "tok")) == expected)
    }

    @Test func `B-ZN-03 the caller is __defaultOwner__ on the native surface alone`() throws {
        let answer = [RecordOutcome.record(try sampleRecord(fields: []))].wireAnswer(style: nativeStyle)
        #expect(!text(answer).contains(me.recordName) && text(answer).contains("__defaultOwner__"))
        #expect(text(answer).contains(other.recordName))
        let unresolved = [ZoneOutcome.deleted(ZoneID(zoneName: "Z"))].wireAnswer(style: webStyle)
        #expect(text(unresolved).contains(me.recordName))
        let publicZone = ZoneOutcome.deleted(ZoneID(zoneName: "_defaultZone", owner: .publicOwner))
        #expect(text([publicZone].wireAnswer(style: webStyle)).contains(#""ownerRecordName":"_defaultOwner""#))
        #expect(text([publicZone].wireAnswer(style: webStyle)).contains(#""zoneType":"DEFAULT_ZONE""#))
    }

    @Test func `deletions and errors are returned at the position of their item`() {
        let outcomes: [RecordOutcome] = [
            .deleted(RecordTombstone(recordName: "R1")),
            .failed(
                recordName: "R2",
                RequestFailure(.itemNotFound, "Record not found", remedy: "Look elsewhere.", retryAfter: 30)),
        ]
        #expect(
            text(outcomes.wireAnswer(style: webStyle))
                == #"{"records":[{"recordName":"R1","deleted":true},{"recordName":"R2","serverErrorCode":"NOT_FOUND","#
                + #""reason":"Record not found","retryAfter":30,"uuid":"\#(requestUUID)"}]}"#)
        #expect(
            text(outcomes.wireAnswer(style: nativeStyle)).contains(
                #""failure":"itemNotFound","nativeCode":11,"nativeSubcode":2003,"remedy":"Look elsewhere.""#))
    }

    @Test func `B-REC-08 desired keys limit the fields, those of an operation first`() throws {
        let outcomes = try [RecordOutcome.record(sampleRecord("A")), .record(sampleRecord("B"))]
        let operations = [nil, ["int"]].map { keys in
            RecordOperation(.create, RecordChange(recordName: nil, recordType: "Note", desiredKeys: keys))
        }
        let request = ModifyRecordsRequest(operations: operations, zoneID: .default, desiredKeys: ["text"])
        let answer = outcomes.wireAnswer(style: nativeStyle, answering: request)
        let names = try [RecordOutcome](wireAnswer: answer, zoneID: .default).map { outcome -> [String] in
            if case .record(let record) = outcome { record.fields.map(\.name) } else { [] }
        }
        #expect(names == [["text"], ["int"]])
        var style = nativeStyle
        style.desiredKeys = []
        #expect(text(outcomes.wireAnswer(style: style)).contains(#""fields":{}"#))
        #expect(try sampleRecord().keeping(keys: ["int", "none"]).fields.map(\.name) == ["int", "none"])
    }

    @Test func `numbers come as strings when asked for`() throws {
        var style = webStyle
        style.numbersAsStrings = true
        let secret = [RecordOutcome.record(try sampleRecord(fields: [Field(name: "s", type: .int64, sealed: [1])]))]
        #expect(
            text(secret.wireAnswer(style: style)).contains(
                #""s":{"value":"AQ==","type":"ENCRYPTED_BYTES","isEncrypted":true}"#))
        let answer = text([RecordOutcome.record(try sampleRecord())].wireAnswer(style: style))
        #expect(answer.contains(#""int":{"value":"9223372036854775807","type":"INT64"}"#))
        #expect(answer.contains(#""ints":{"value":["1","2"],"type":"INT64_LIST"}"#))
        #expect(answer.contains(#""double":{"value":"12.340000000000002","type":"DOUBLE"}"#))
        #expect(answer.contains(#""date":{"value":1700000000000,"type":"TIMESTAMP"}"#))
        let read = try [RecordOutcome](wireAnswer: bytes(answer), zoneID: .default)
        // Web services show bytes, whatever type is sealed in them (B-ENC-06).
        let fields = try sampleFields().map { field in
            var field = field
            if field.type.isEncrypted { field.type = FieldType(.bytes, isEncrypted: true) }
            return field
        }
        #expect(try read == [.record(sampleRecord(fields: fields))])
    }

    @Test func `the protection of values is reported on the native surface only`() throws {
        var record = try sampleRecord()
        record.protection = Protection(epoch: .max, keys: [1, 2], statement: [3])
        let answer = [RecordOutcome.record(record)].wireAnswer(style: nativeStyle)
        #expect(text(answer).contains(#""protection":{"epoch":4294967295,"keys":"AQI=","statement":"Aw=="}"#))
        guard case .record(let read)? = try [RecordOutcome](wireAnswer: answer, zoneID: .default).first else { return }
        #expect(read.protection == record.protection)
        #expect(!text([RecordOutcome.record(record)].wireAnswer(style: webStyle)).contains("protection"))
    }

    @Test func `a value that is not sealed does not make the answer unreadable`() throws {
        let answer =
            #"{"records":[{"recordName":"R","recordType":"T","fields":{"s":{"value":[5, {}],"type":"STRING","#
            + #""isEncrypted":true},"t":{"value":"x","type":"STRING"}}}]}"#
        guard case .record(let read)? = try [RecordOutcome](wireAnswer: bytes(answer), zoneID: .default).first else {
            Issue.record("unreadable")
            return
        }
        #expect(read.fields.map(\.name) == ["s", "t"])
        #expect(read.fields[0].sealed == nil && read.fields[0].sealedEpoch == nil)
    }

    @Test func `answers come back as they were printed`() throws {
        var mine = try sampleRecord()
        mine.id.zoneID.owner = .caller
        mine.created.user = .caller
        let outcomes: [RecordOutcome] = [
            .record(mine), .deleted(RecordTombstone(recordName: "R2", recordType: "T", changeTag: ChangeTag("x"))),
            .failed(
                recordName: "R3",
                RequestFailure(.conflict, "client oplock error updating record", retryAfter: 0.5, serverRecord: mine)),
        ]
        let answer = outcomes.wireAnswer(style: nativeStyle)
        #expect(try [RecordOutcome](wireAnswer: answer, zoneID: .default) == outcomes)
    }

    @Test func `every failure survives the native surface and has one of the fourteen words`() throws {
        for code in RequestFailure.Code.allCases {
            var failure = RequestFailure(code, "why", remedy: "what", retryAfter: 3)
            failure.restoredTo = 5
            failure.lastVersion = 9
            let answer = [RecordOutcome.failed(recordName: "R", failure)].wireAnswer(style: nativeStyle)
            #expect(try [RecordOutcome](wireAnswer: answer, zoneID: .default) == [.failed(recordName: "R", failure)])
            let error = WireError(failure: failure, redirectURL: "https://example.com/")
            let whole = error.wireAnswer(style: nativeStyle)
            let read = WireError(wireAnswer: whole, status: code.httpStatus)
            #expect(read.failure == failure)
            #expect(read.failure.requestID == read.uuid && read.uuid?.isEmpty == false)
            let web = WireError(wireAnswer: error.wireAnswer(style: webStyle), status: code.httpStatus).failure
            #expect(WireErrorCode(web.code) == WireErrorCode(code))
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct WireErrorTests {
    @Test func `B-ERR-20 codes and HTTP status`() {
        let table = [
            "ACCESS_DENIED": 403, "ATOMIC_ERROR": 400, "AUTHENTICATION_FAILED": 401, "AUTHENTICATION_REQUIRED": 421,
            "BAD_REQUEST": 400, "CONFLICT": 409, "EXISTS": 409, "INTERNAL_ERROR": 500, "NOT_FOUND": 404,
            "QUOTA_EXCEEDED": 413, "THROTTLED": 429, "TRY_AGAIN_LATER": 503, "VALIDATING_REFERENCE_ERROR": 412,
            "ZONE_NOT_FOUND": 404,
        ]
        #expect(Dictionary(uniqueKeysWithValues: WireErrorCode.allCases.map { ($0.rawValue, $0.httpStatus) }) == table)
        #expect(RequestFailure.Code.methodNotAllowed.httpStatus == 405)
    }

    @Test func `the documented error object`() {
        let failure = RequestFailure(.authenticationRequired, "request needs authorization", remedy: "Sign in.")
        let error = WireError(failure: failure, redirectURL: "https://example.com/sign-in")
        #expect(
            text(error.wireAnswer(style: webStyle))
                == #"{"uuid":"\#(requestUUID)","serverErrorCode":"AUTHENTICATION_REQUIRED","#
                + #""reason":"request needs authorization","redirectURL":"https://example.com/sign-in"}"#)
        let read = WireError(wireAnswer: error.wireAnswer(style: webStyle), status: 421)
        #expect(read.redirectURL == "https://example.com/sign-in" && read.uuid == requestUUID)
        #expect(read.failure.code == .authenticationRequired)
    }

    @Test func `without an error object the status decides`() {
        let codes: [(Int, RequestFailure.Code)] = [
            (503, .serverUnavailable), (502, .serverUnavailable), (401, .authenticationFailed), (429, .throttled),
            (404, .endpointNotFound), (500, .internalError), (418, .internalError),
        ]
        for (status, code) in codes {
            for body in ["", "<html>", "{}", "[1]", #"{"serverErrorCode":1}"#] {
                #expect(WireError(wireAnswer: bytes(body), status: status).failure.code == code)
            }
        }
    }
}
