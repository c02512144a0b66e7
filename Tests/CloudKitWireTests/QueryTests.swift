import CloudKitModel
import CloudKitWire
import Testing

private func request(_ text: String) throws -> QueryRecordsRequest {
    try QueryRecordsRequest(wire: bytes(text), limits: .web)
}

private func filter(_ json: String) throws -> QueryFilter {
    try #require(try request(#"{"query":{"recordType":"T","filterBy":[\#(json)]}}"#).query.filters.first)
}

@Suite(.timeLimit(.minutes(20))) struct QueryTests {
    @Test func `B-QRY-01 the documented body`() throws {
        let read = try request(
            """
            { "zoneID": { "zoneName": "Z" }, "zoneWide": false, "resultsLimit": 50,
              "query": { "recordType": "Note",
                "filterBy": [ { "fieldName": "title", "comparator": "BEGINS_WITH", "distance": null,
                                "fieldValue": { "value": "A", "type": "STRING" } } ],
                "sortBy":   [ { "fieldName": "plays", "ascending": false } ] },
              "continuationMarker": "m", "desiredKeys": [ "a" ], "numbersAsStrings": false }
            """)
        let query = Query(
            recordType: "Note",
            filters: [QueryFilter(key: .field("title"), comparator: .beginsWith, value: .string("A"))],
            sorts: [QuerySort(key: .field("plays"), ascending: false)])
        #expect(
            read
                == QueryRecordsRequest(
                    query: query, zoneID: ZoneID(zoneName: "Z"), resultsLimit: 50, continuationMarker: "m",
                    desiredKeys: ["a"]))
    }

    @Test func `without a zone the default one, zone-wide none`() throws {
        #expect(try request(#"{"query":{"recordType":"T"}}"#).zoneID == .default)
        let wide = try request(#"{"query":{"recordType":"T"},"zoneWide":true}"#)
        #expect(wide.zoneID == nil && wide.zoneWide)
        #expect(try !request(#"{"query":{"recordType":"T"},"zoneWide":true,"zoneID":{}}"#).zoneWide)
        #expect(try request(#"{"continuationMarker":"m"}"#).continuationMarker == "m")
        #expect(throws: RequestFailure.self) { try request("{}") }
        #expect(throws: RequestFailure.self) { try request(#"{"query":{}}"#) }
    }

    @Test func `B-QRY-13 an attribute has several names and its value several forms`() throws {
        let reference = FieldValue.reference(ReferenceValue(recordName: "R1"))
        let time = FieldValue.timestamp(1_700_000_000_000)
        let forms: [(String, QueryKey.SystemField, FieldValue)] = [
            (
                #""fieldName":"___recordID","fieldValue":{"value":{"recordName":"R1","action":"NONE"},"type":"REFERENCE"}"#,
                .recordName, .string("R1")
            ),
            (
                #""systemFieldName":"recordName","fieldValue":{"value":{"recordName":"R1"},"type":"REFERENCE"}"#,
                .recordName,
                .string("R1")
            ),
            (#""fieldName":"___recordId","fieldValue":{"value":"R1"}"#, .recordName, .string("R1")),
            (#""fieldName":"parent","fieldValue":{"value":{"recordName":"R1"}}"#, .parent, reference),
            (#""systemFieldName":"parent","fieldValue":{"value":{"parent":{"recordName":"R1"}}}"#, .parent, reference),
            (
                #""fieldName":"___createdBy","fieldValue":{"value":"R1","type":"STRING"}"#, .createdUserRecordName,
                reference
            ),
            (
                #""systemFieldName":"modifiedUserRecordName","fieldValue":{"value":{"modifiedUserRecordName":"R1"}}"#,
                .modifiedUserRecordName, reference
            ),
            (
                #""systemFieldName":"createdTimestamp","fieldValue":{"value":{"createdTimestamp":1700000000000}}"#,
                .createdTimestamp, time
            ),
            (
                #""systemFieldName":"___modTime","fieldValue":{"value":1700000000000,"type":"TIMESTAMP"}"#,
                .modifiedTimestamp,
                time
            ),
        ]
        for (json, field, value) in forms {
            let read = try filter(#"{"comparator":"EQUALS",\#(json)}"#)
            #expect(read == QueryFilter(key: .system(field), comparator: .equals, value: value), "\(json)")
        }
    }

    @Test func `a list of values needs its tag`() throws {
        let tagged = try filter(
            #"{"fieldName":"a","comparator":"IN","fieldValue":{"type":"STRING_LIST","value":["x","y"]}}"#)
        #expect(tagged.value == .list(.string, [.string("x"), .string("y")]))
        let untagged = failure {
            _ = try filter(#"{"fieldName":"a","comparator":"IN","fieldValue":{"value":["x"]}}"#)
        }
        #expect(untagged?.reason == "BadRequestException: Unexpected input")
        let all = try filter(#"{"fieldName":"a","comparator":"LIST_CONTAINS_ALL","fieldValue":{"value":["x"]}}"#)
        #expect(all.value == .list(.string, [.string("x")]))
    }

    @Test(arguments: [
        "{}", #"{"fieldName":"a"}"#, #"{"fieldName":"a","comparator":"LIKE","fieldValue":{"value":1}}"#,
        #"{"fieldName":"a","comparator":"EQUALS"}"#,
        #"{"fieldName":"a","comparator":"EQUALS","fieldValue":{"value":null}}"#,
        #"{"comparator":"EQUALS","fieldValue":{"value":1}}"#,
        #"{"fieldName":"parent","comparator":"EQUALS","fieldValue":{"value":1}}"#,
        #"{"systemFieldName":"createdTimestamp","comparator":"EQUALS","fieldValue":{"value":"x"}}"#,
    ])
    func `a filter that says too little or nonsense is refused`(json: String) {
        #expect(failure { _ = try filter(json) }?.code == .badRequest)
    }

    @Test func `queries come back as they were printed`() throws {
        let values = try sampleFields().filter { !$0.isEmptyList && !$0.type.isEncrypted }.map { try $0.value() }
        var filters = values.map { QueryFilter(key: .field("f"), comparator: .equals, value: $0) }
        filters.append(QueryFilter(key: .anySearchable, comparator: .containsAllTokens, value: .string("a b")))
        filters.append(QueryFilter(key: .anySearchable, comparator: .never, value: .list(.unknown, [])))
        filters.append(
            QueryFilter(
                key: .field("p"), comparator: .near, value: .location(LocationValue(latitude: 1, longitude: 2)),
                distance: 1000.5))
        filters.append(
            QueryFilter(
                key: .system(.recordName), comparator: .in, value: .list(.string, [.string("a"), .string("b")])))
        filters.append(
            QueryFilter(
                key: .system(.createdUserRecordName), comparator: .equals,
                value: .reference(ReferenceValue(recordName: "_u"))))
        let sorts = [
            QuerySort(key: .system(.modifiedTimestamp), ascending: false),
            QuerySort(key: .field("p"), relativeLocation: LocationValue(latitude: 1, longitude: 2)),
        ]
        let request = QueryRecordsRequest(
            query: Query(recordType: "T", filters: filters, sorts: sorts), zoneID: ZoneID(zoneName: "Z", owner: other),
            resultsLimit: 3, continuationMarker: "m", desiredKeys: [], numbersAsStrings: true)
        #expect(try QueryRecordsRequest(wire: request.wire(), limits: .web) == request)
    }

    @Test func `a page comes back as it was printed`() throws {
        var record = try sampleRecord()
        record.id.zoneID.owner = .caller
        record.created.user = .caller
        for marker in [nil, "m"] {
            let page = QueryPage(records: [record], continuationMarker: marker)
            let answer = page.wireAnswer(style: nativeStyle)
            #expect(try QueryPage(wireAnswer: answer, zoneID: .default) == page)
            #expect(text(answer).contains("continuationMarker") == (marker != nil))
        }
    }
}
