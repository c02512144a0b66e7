import CloudKitModel
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct QueryTranslatorTests {
    private let zone = CKRecordZone.ID(zoneName: "z")

    private func filters(_ format: String, _ arguments: Any?...) throws -> [QueryFilter] {
        try CKQuery(recordType: "T", tree: PredicateParser.tree(format, arguments: arguments), order: nil)
            .model(in: zone).filters
    }

    private func field(
        _ name: String, _ comparator: QueryFilter.Comparator, _ value: FieldValue
    ) -> QueryFilter {
        QueryFilter(key: .field(name), comparator: comparator, value: value)
    }

    @Test func `B-QRY-02 comparisons become filters`() throws {
        #expect(try filters("a == 'x'") == [field("a", .equals, .string("x"))])
        #expect(try filters("a != 1") == [field("a", .notEquals, .int64(1))])
        #expect(try filters("a < 1.5") == [field("a", .lessThan, .double(1.5))])
        #expect(try filters("a <= 1") == [field("a", .lessThanOrEquals, .int64(1))])
        #expect(try filters("a > 1") == [field("a", .greaterThan, .int64(1))])
        #expect(try filters("a >= 1") == [field("a", .greaterThanOrEquals, .int64(1))])
        #expect(try filters("a BEGINSWITH 'x'") == [field("a", .beginsWith, .string("x"))])
        #expect(try filters("a = TRUE") == [field("a", .equals, .int64(1))])
        #expect(try filters("a IN {'x', 'y'}") == [field("a", .in, .list(.string, [.string("x"), .string("y")]))])
        #expect(try filters("a IN %@", [1, 2]) == [field("a", .in, .list(.int64, [.int64(1), .int64(2)]))])
        #expect(try filters("a IN {1, 2.5}") == [field("a", .in, .list(.double, [.double(1), .double(2.5)]))])
        let date = Date(timeIntervalSince1970: 1.5)
        #expect(try filters("a > %@", date) == [field("a", .greaterThan, .timestamp(1500))])
    }

    @Test func `BETWEEN becomes two filters`() throws {
        let expected = [field("a", .greaterThanOrEquals, .int64(1)), field("a", .lessThanOrEquals, .int64(5))]
        #expect(try filters("a BETWEEN {1, 5}") == expected)
        #expect(try filters("a BETWEEN %@", [1, 5]) == expected)
    }

    @Test func `B-QRY-04 ANY asks for a member of a list, or for one of several values`() throws {
        #expect(try filters("ANY tags = 'x'") == [field("tags", .listContains, .string("x"))])
        #expect(try filters("SOME tags == %@", "x") == [field("tags", .listContains, .string("x"))])
        let values = FieldValue.list(.string, [.string("red"), .string("green")])
        #expect(try filters("ANY {'red', 'green'} = color") == [field("color", .in, values)])
        #expect(try filters("ANY %@ = color", ["red", "green"]) == [field("color", .in, values)])
        #expect(try filters("ANY tags BEGINSWITH 'x'") == [field("tags", .listMemberBeginsWith, .string("x"))])
        #expect(try filters("NOT (ANY tags BEGINSWITH 'x')") == [field("tags", .notListMemberBeginsWith, .string("x"))])
        #expect(try filters("NOT ANY tags = 'x'") == [field("tags", .notListContains, .string("x"))])
        #expect(throws: CKError.self) { try filters("ANY tags < 'x'") }
        #expect(throws: CKError.self) { try filters("ANY 'x' = color") }
    }

    @Test(arguments: ["allTokens", "self"]) func `B-QRY-08 a tokenized search may name its options`(side: String) throws
    {
        let expected = QueryFilter(key: .anySearchable, comparator: .containsAllTokens, value: .string("after dinner"))
        #expect(try filters("\(side) TOKENMATCHES[cdl] %@", "after dinner") == [expected])
    }

    @Test func `the sides of a comparison may be exchanged`() throws {
        #expect(try filters("5 < a") == [field("a", .greaterThan, .int64(5))])
        #expect(try filters("5 >= a") == [field("a", .lessThanOrEquals, .int64(5))])
        #expect(try filters("'x' IN tags") == [field("tags", .listContains, .string("x"))])
        #expect(try filters("%@ == a", "x") == [field("a", .equals, .string("x"))])
        #expect(try filters("{1, 2} CONTAINS a") == [field("a", .in, .list(.int64, [.int64(1), .int64(2)]))])
    }

    @Test func `B-QRY-01 AND is a list of filters`() throws {
        #expect(try filters("a = 1 AND (b = 2 AND c = 3)").count == 3)
        #expect(try filters("TRUEPREDICATE").isEmpty)
        #expect(try filters("a = 1 AND TRUEPREDICATE").count == 1)
        #expect(try filters("FALSEPREDICATE").map(\.comparator) == [.never])
        #expect(try filters("a IN {}").map(\.comparator) == [.never])
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "a = 1"), NSPredicate(format: "b = 2"),
        ])
        #expect(try CKQuery(recordType: "T", predicate: compound).model(in: zone).filters.count == 2)
        let all = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        #expect(try all.model(in: nil) == Query(recordType: "T"))
    }

    @Test func `B-QRY-04 CONTAINS is membership of a list, ANY is allowed with IN and CONTAINS`() throws {
        #expect(try filters("tags CONTAINS 'x'") == [field("tags", .listContains, .string("x"))])
        #expect(try filters("ANY tags CONTAINS 'x'") == [field("tags", .listContains, .string("x"))])
        #expect(try filters("ANY tags IN {'x'}") == [field("tags", .listContainsAny, .list(.string, [.string("x")]))])
        #expect(
            try filters("SOME tags IN %@", ["x"]) == [field("tags", .listContainsAny, .list(.string, [.string("x")]))])
    }

    @Test func `B-QRY-05 NOT turns a comparison into its opposite`() throws {
        #expect(try filters("NOT (a = 1)") == [field("a", .notEquals, .int64(1))])
        #expect(try filters("NOT a != 1") == [field("a", .equals, .int64(1))])
        #expect(try filters("NOT a < 1") == [field("a", .greaterThanOrEquals, .int64(1))])
        #expect(try filters("NOT a IN {1}") == [field("a", .notIn, .list(.int64, [.int64(1)]))])
        #expect(try filters("NOT a BEGINSWITH 'x'") == [field("a", .notBeginsWith, .string("x"))])
        #expect(try filters("NOT tags CONTAINS 'x'") == [field("tags", .notListContains, .string("x"))])
        #expect(try filters("NOT ANY tags IN {'x'}").map(\.comparator) == [.notListContainsAny])
        #expect(try filters("NOT NOT a = 1") == [field("a", .equals, .int64(1))])
        #expect(try filters("NOT TRUEPREDICATE").map(\.comparator) == [.never])
        #expect(try filters("NOT FALSEPREDICATE").isEmpty)
        #expect(try filters("NOT a IN {}").isEmpty)
    }

    @Test func `B-QRY-08 self CONTAINS looks for any word and tokenize for all`() throws {
        let any = QueryFilter(key: .anySearchable, comparator: .containsAnyTokens, value: .string("a b"))
        let all = QueryFilter(key: .anySearchable, comparator: .containsAllTokens, value: .string("a b"))
        #expect(try filters("self CONTAINS 'a b'") == [any])
        #expect(try filters("SELF contains[cd] %@", "a b") == [any])
        #expect(try filters("self CONTAINS tokenize(%@, 'Cdl')", "a b") == [all])
        #expect(try filters("allTokens TOKENMATCHES tokenize(%@, 'Cdl')", "a b") == [all])
        #expect(try filters("self TOKENMATCHES tokenize:using:('a b', 'Cdl')") == [all])
        #expect(
            try filters("name TOKENMATCHES tokenize('a', 'Cdl')") == [field("name", .containsAllTokens, .string("a"))])
        #expect(try filters("self CONTAINS 'a' AND self CONTAINS 'b'").count == 2)
    }

    @Test func `B-QRY-10 a distance is a circle`() throws {
        let place = CLLocation(latitude: 1, longitude: 2)
        let expected = QueryFilter(
            key: .field("loc"), comparator: .near, value: .location(LocationValue(latitude: 1, longitude: 2)),
            distance: 5000)
        #expect(try filters("distanceToLocation:fromLocation:(loc, %@) < 5000", place) == [expected])
        #expect(try filters("distanceToLocation:fromLocation:(%K,%@) < %f", "loc", place, 5000.0) == [expected])
        #expect(try filters("distanceToLocation:fromLocation:(%@, loc) <= 5000", place) == [expected])
        #expect(try filters("5000 > distanceToLocation:fromLocation:(loc, %@)", place) == [expected])
    }

    @Test func `B-QRY-13 the record's own attributes are keys`() throws {
        func system(_ key: QueryKey.SystemField, _ value: FieldValue) -> [QueryFilter] {
            [QueryFilter(key: .system(key), comparator: .equals, value: value)]
        }
        let id = CKRecord.ID(recordName: "r", zoneID: zone)
        let pointer = FieldValue.reference(ReferenceValue(recordName: "r"))
        for name in ["recordID", "recordName", "___recordID"] {
            #expect(try filters("%K = %@", name, "r") == system(.recordName, .string("r")))
            #expect(try filters("%K = %@", name, id) == system(.recordName, .string("r")))
        }
        #expect(
            try filters("recordID = %@", CKRecord.Reference(recordID: id, action: .none))
                == system(.recordName, .string("r")))
        #expect(try filters("recordID IN %@", [id]).first?.value == .list(.string, [.string("r")]))
        let date = Date(timeIntervalSince1970: 1)
        for name in ["creationDate", "___createTime"] {
            #expect(try filters("%K = %@", name, date) == system(.createdTimestamp, .timestamp(1000)))
        }
        for name in ["modificationDate", "___modTime"] {
            #expect(try filters("%K = %@", name, date) == system(.modifiedTimestamp, .timestamp(1000)))
        }
        for name in ["parent", "___parent"] {
            #expect(
                try filters("%K = %@", name, CKRecord.Reference(recordID: id, action: .deleteSelf))
                    == system(.parent, pointer))
        }
        #expect(try filters("share = %@", id) == system(.share, pointer))
        let user = CKRecord.ID(recordName: "_u")
        let users = ReferenceValue(recordName: "_u", zoneID: .default)
        #expect(try filters("creatorUserRecordID = %@", user) == system(.createdUserRecordName, .reference(users)))
        #expect(
            try filters("___modifiedBy = %@", "_u")
                == system(.modifiedUserRecordName, .reference(ReferenceValue(recordName: "_u"))))
    }

    @Test func `B-QRY-22 references are compared by the record's ID`() throws {
        let id = CKRecord.ID(recordName: "r", zoneID: zone)
        let expected = [field("owner", .equals, .reference(ReferenceValue(recordName: "r")))]
        #expect(try filters("owner == %@", id) == expected)
        #expect(try filters("owner == %@", CKRecord.Reference(recordID: id, action: .deleteSelf)) == expected)
        #expect(try filters("owner == %@", CKRecord(recordType: "T", recordID: id)) == expected)
        #expect(
            try filters("owner IN %@", [id]).first?.value
                == .list(.reference, [.reference(ReferenceValue(recordName: "r"))]))
        #expect(try filters("owners CONTAINS %@", id).first?.comparator == .listContains)
    }

    @Test(arguments: [
        ("a = 1 OR b = 2", "OR"), ("NOT (a = 1 OR b = 2)", "OR"), ("ALL a = 1", "ALL"), ("NONE a IN {1}", "NONE"),
        ("a LIKE 'x*'", "LIKE"), ("a MATCHES 'x'", "MATCHES"), ("a ENDSWITH 'x'", "ENDSWITH"), ("a.b = 1", "key path"),
        ("a.@count > 1", "key path"), ("NOT (a = 1 AND b = 2)", "NOT"), ("NOT (self CONTAINS 'a')", "tokenized"),
        ("NOT (a BETWEEN {1, 2})", "BETWEEN"), ("a = nil", "nil"), ("a ==[c] 'x'", "[c]"),
        ("tags CONTAINS[c] 'x'", "[c]"), ("a CONTAINS {1, 2}", "ANY"), ("ANY a < 1", "ANY"), ("a = b", "constant"),
        ("1 = 1", "name of a field"), ("a + 1 = 2", "a + 1"), ("a = $V", "$V"), ("self = 'x'", "self"),
        ("self CONTAINS 5", "string"), ("a IN 'x'", "IN takes a list"), ("a BETWEEN {1}", "BETWEEN"),
        ("a BEGINSWITH 5", "BEGINSWITH"), ("a = uppercase('x')", "uppercase"), ("creationDate > 5", "date"),
        ("parent = 5", "reference"), ("a =", "format"), ("a IN {'x', 1}", "one type"), ("a[0] = 1", "a[0]"),
    ])
    func `B-QRY-03 conditions that CloudKit cannot run are refused by name`(_ format: String, _ word: String) {
        let error = #expect(throws: CKError.self) { try filters(format) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.contains(word) == true, "\(error?.localizedDescription ?? "")")
    }

    @Test func `B-QRY-05 and B-QRY-10 distances have their limits`() {
        let place = CLLocation(latitude: 1, longitude: 2)
        for format in [
            "distanceToLocation:fromLocation:(loc, %@) > 5", "distanceToLocation:fromLocation:(loc, %@) = 5",
            "NOT (distanceToLocation:fromLocation:(loc, %@) < 5)", "distanceToLocation:fromLocation:(loc, %@) < other",
            "distanceToLocation:fromLocation:(loc, %@) < -5", "distanceToLocation:fromLocation:(loc) < 5", "loc = %@",
        ] {
            #expect(throws: CKError.self, "\(format)") { try filters(format, place) }
        }
        #expect(throws: CKError.self) {
            try filters("distanceToLocation:fromLocation:(loc, %@) < 5", CLLocation(latitude: .nan, longitude: 2))
        }
    }

    @Test func `B-QRY-06 data, assets and odd numbers are refused`() {
        for value in [Data([1]), Double.nan, UInt64.max, CKAsset(fileURL: URL(fileURLWithPath: "/")), [["a"]]] as [Any]
        {
            #expect(throws: CKError.self) { try filters("a = %@", value) }
            #expect(throws: CKError.self) { try filters("a IN %@", [value]) }
        }
    }

    @Test func `B-QRY-03 block predicates are refused`() {
        let query = CKQuery(recordType: "T", predicate: NSPredicate { _, _ in true })
        let error = #expect(throws: CKError.self) { try query.model(in: nil) }
        #expect(error?.localizedDescription.contains("block") == true)
    }

    // MARK: Order

    @Test func `B-QRY-12 sort descriptors keep their keys and order`() throws {
        let query = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        query.sortDescriptors = [
            NSSortDescriptor(key: "a", ascending: false), NSSortDescriptor(key: "creationDate", ascending: true),
            NSSortDescriptor(keyPath: \CKRecord.modificationDate, ascending: false),
        ]
        #expect(query.sortDescriptors?.map(\.key) == ["a", "creationDate", "modificationDate"])
        #expect(query.sortDescriptors?.map(\.ascending) == [false, true, false])
        #expect(
            try query.model(in: nil).sorts == [
                QuerySort(key: .field("a"), ascending: false), QuerySort(key: .system(.createdTimestamp)),
                QuerySort(key: .system(.modifiedTimestamp), ascending: false),
            ])
        query.sortDescriptors = nil
        #expect(query.sortDescriptors == nil)
    }

    @Test func `B-QRY-11 a location order is nearest first`() throws {
        let place = CLLocation(latitude: 1, longitude: 2)
        let descriptor = CKLocationSortDescriptor(key: "loc", relativeLocation: place)
        #expect(descriptor.key == "loc")
        #expect(descriptor.ascending)
        let query = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        query.sortDescriptors = [descriptor]
        #expect((query.sortDescriptors?.first as? CKLocationSortDescriptor)?.relativeLocation == place)
        #expect(
            try query.model(in: nil).sorts == [
                QuerySort(key: .field("loc"), relativeLocation: LocationValue(latitude: 1, longitude: 2))
            ])
        let again = try archivedAndBack(descriptor)
        #expect(again == descriptor)
    }

    @Test func `sort descriptors without a key are refused`() {
        let query = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(keyPath: \NSString.length, ascending: true)]
        #expect(throws: CKError.self) { try query.model(in: nil) }
        query.sortDescriptors = [NSSortDescriptor(key: "a.b", ascending: true)]
        #expect(throws: CKError.self) { try query.model(in: nil) }
    }

    @Test func `sort descriptors order records here as well`() {
        func record(_ value: Int?) -> CKRecord {
            let record = CKRecord(recordType: "T")
            record["a"] = value
            return record
        }
        let records = [record(3), record(nil), record(1)] as NSArray
        let sorted = records.sortedArray(using: [NSSortDescriptor(key: "a", ascending: true)])
        #expect(sorted.map { ($0 as? CKRecord)?["a"] as? Int } == [nil, 1, 3])
    }
}
