import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct PredicateFormatTests {
    private func tree(_ format: String, _ arguments: Any?...) -> PredicateTree {
        PredicateParser.tree(format, arguments: arguments)
    }

    private func comparison(
        _ left: PredicateExpression, _ comparator: PredicateComparator, _ right: PredicateExpression,
        _ modifier: PredicateTree.Comparison.Modifier = .direct, options: String = ""
    ) -> PredicateTree {
        .comparison(
            PredicateTree.Comparison(
                left: left, comparator: comparator, right: right, modifier: modifier, options: options))
    }

    @Test(arguments: [
        ("a = 1", PredicateComparator.equal), ("a == 1", .equal), ("a != 1", .notEqual), ("a <> 1", .notEqual),
        ("a < 1", .less), ("a <= 1", .lessOrEqual), ("a =< 1", .lessOrEqual), ("a > 1", .greater),
        ("a >= 1", .greaterOrEqual), ("a => 1", .greaterOrEqual), ("a=1", .equal), ("a IN 1", .in), ("a in 1", .in),
        ("a CONTAINS 1", .contains), ("a BeginsWith 1", .beginsWith), ("a between 1", .between), ("a LIKE 1", .like),
        ("a MATCHES 1", .matches), ("a ENDSWITH 1", .endsWith),
    ])
    func `B-QRY-02 operators are read in every spelling`(_ format: String, _ comparator: PredicateComparator) {
        #expect(tree(format) == comparison(.key("a"), comparator, .constant(.int(1))))
    }

    @Test(arguments: [
        ("1", PredicateValue.int(1)), ("-1", .int(-1)), ("1.5", .double(1.5)), ("-.5", .double(-0.5)),
        ("1e3", .double(1000)), ("2E-2", .double(0.02)), ("0x1F", .int(31)), ("0b101", .int(5)),
        ("9223372036854775807", .int(.max)), ("99999999999999999999", .double(1e20)), ("TRUE", .bool(true)),
        ("yes", .bool(true)), ("false", .bool(false)), ("NO", .bool(false)), ("nil", .null), ("NULL", .null),
        ("'x'", .string("x")), ("\"x\"", .string("x")), ("'it\\'s'", .string("it's")), ("\"a\\\"b\"", .string("a\"b")),
        ("'a\"b'", .string("a\"b")), ("'\\n\\t\\\\'", .string("\n\t\\")), ("'\\u00e9'", .string("é")),
        ("''", .string("")),
        ("'%@ stays'", .string("%@ stays")),
    ])
    private func `literals are read`(_ text: String, _ value: PredicateValue) {
        #expect(tree("a == \(text)") == comparison(.key("a"), .equal, .constant(value)))
    }

    @Test func `arguments take the place of their conversions`() {
        let date = Date(timeIntervalSince1970: 5)
        #expect(tree("%K == %@", "k", "v") == comparison(.key("k"), .equal, .constant(.string("v"))))
        #expect(tree("k == %@", 3) == comparison(.key("k"), .equal, .constant(.int(3))))
        #expect(tree("k == %@", true) == comparison(.key("k"), .equal, .constant(.bool(true))))
        #expect(tree("k == %@", 2.5) == comparison(.key("k"), .equal, .constant(.double(2.5))))
        #expect(tree("k > %@", date) == comparison(.key("k"), .greater, .constant(.date(date))))
        #expect(tree("k > %@", date as NSDate) == comparison(.key("k"), .greater, .constant(.date(date))))
        #expect(tree("k == %@", nil) == comparison(.key("k"), .equal, .constant(.null)))
        #expect(tree("k == %@", NSNull()) == comparison(.key("k"), .equal, .constant(.null)))
        #expect(
            tree("k IN %@", ["a", "b"])
                == comparison(.key("k"), .in, .constant(.list([.string("a"), .string("b")]))))
        #expect(
            tree("k IN %@", [1, 2] as NSArray) == comparison(.key("k"), .in, .constant(.list([.int(1), .int(2)]))))
        for conversion in ["%d", "%i", "%u", "%ld", "%lld", "%lu", "%llu", "%hd", "%zd", "%qi"] {
            #expect(tree("k == \(conversion)", 7) == comparison(.key("k"), .equal, .constant(.int(7))), "\(conversion)")
        }
        for conversion in ["%f", "%lf", "%g", "%e"] {
            #expect(tree("k == \(conversion)", 7.5) == comparison(.key("k"), .equal, .constant(.double(7.5))))
        }
        #expect(tree("k == %d", Int32(7)) == comparison(.key("k"), .equal, .constant(.int(7))))
        #expect(tree("k == %f", 7) == comparison(.key("k"), .equal, .constant(.double(7))))
        let optional: String? = "o"
        #expect(tree("k == %@", optional as Any) == comparison(.key("k"), .equal, .constant(.string("o"))))
        let none: String? = nil
        #expect(tree("k == %@", none as Any) == comparison(.key("k"), .equal, .constant(.null)))
    }

    @Test func `CloudKit's own objects are arguments`() {
        let id = CKRecord.ID(recordName: "r")
        let reference = CKRecord.Reference(recordID: id, action: .none)
        let place = CLLocation(latitude: 1, longitude: 2)
        #expect(tree("k == %@", id) == comparison(.key("k"), .equal, .constant(.recordID(id))))
        #expect(tree("k == %@", reference) == comparison(.key("k"), .equal, .constant(.reference(reference))))
        #expect(
            tree("distanceToLocation:fromLocation:(k, %@) < 5", place)
                == comparison(
                    .function("distanceToLocation:fromLocation:", [.key("k"), .constant(.location(place))]), .less,
                    .constant(.int(5))))
        let record = CKRecord(recordType: "T", recordID: id)
        #expect(tree("k == %@", record) == comparison(.key("k"), .equal, .constant(.recordID(id))))
    }

    @Test func `AND binds closer than OR and NOT closest`() {
        let a = comparison(.key("a"), .equal, .constant(.int(1)))
        let b = comparison(.key("b"), .equal, .constant(.int(2)))
        let c = comparison(.key("c"), .equal, .constant(.int(3)))
        #expect(tree("a = 1 AND b = 2 AND c = 3") == .and([a, b, c]))
        #expect(tree("a = 1 && b = 2 || c = 3") == .or([.and([a, b]), c]))
        #expect(tree("a = 1 and (b = 2 or c = 3)") == .and([a, .or([b, c])]))
        #expect(tree("NOT a = 1 AND b = 2") == .and([.not(a), b]))
        #expect(tree("! (a = 1 AND b = 2)") == .not(.and([a, b])))
        #expect(tree("((a = 1))") == a)
        #expect(tree("NOT NOT a = 1") == .not(.not(a)))
        #expect(tree("TRUEPREDICATE") == .constant(true))
        #expect(tree("falsepredicate") == .constant(false))
    }

    @Test func `modifiers, options, lists and functions are read`() {
        #expect(
            tree("ANY tags IN {'a', 'b'}")
                == comparison(
                    .key("tags"), .in, .aggregate([.constant(.string("a")), .constant(.string("b"))]), .any))
        #expect(tree("SOME tags CONTAINS 'a'") == comparison(.key("tags"), .contains, .constant(.string("a")), .any))
        #expect(tree("ALL tags = 'a'") == comparison(.key("tags"), .equal, .constant(.string("a")), .all))
        #expect(tree("NONE tags = 'a'") == comparison(.key("tags"), .equal, .constant(.string("a")), .none))
        #expect(tree("a ==[cd] 'x'") == comparison(.key("a"), .equal, .constant(.string("x")), options: "cd"))
        #expect(tree("self CONTAINS[c] 'x'") == comparison(.itself, .contains, .constant(.string("x")), options: "c"))
        #expect(tree("a < now()") == comparison(.key("a"), .less, .function("now", [])))
        #expect(
            tree("allTokens TOKENMATCHES tokenize(%@, 'Cdl')", "x y")
                == comparison(
                    .key("allTokens"), .tokenMatches,
                    .function("tokenize", [.constant(.string("x y")), .constant(.string("Cdl"))])))
        #expect(tree("a IN {}") == comparison(.key("a"), .in, .aggregate([])))
        #expect(
            tree("a BETWEEN {1, 2}")
                == comparison(.key("a"), .between, .aggregate([.constant(.int(1)), .constant(.int(2))])))
    }

    @Test func `keys may be paths, escaped, and hold words of the language in part`() {
        #expect(tree("a.b.c = 1") == comparison(.key("a.b.c"), .equal, .constant(.int(1))))
        #expect(tree("#in = 1") == comparison(.key("in"), .equal, .constant(.int(1))))
        #expect(tree("index = 1") == comparison(.key("index"), .equal, .constant(.int(1))))
        #expect(tree("order = 1") == comparison(.key("order"), .equal, .constant(.int(1))))
        #expect(tree("self.name = 1") == comparison(.key("name"), .equal, .constant(.int(1))))
        #expect(tree("%K.%K = 1", "a", "b") == comparison(.key("a.b"), .equal, .constant(.int(1))))
        #expect(tree("a.@count = 1") == comparison(.key("a.@count"), .equal, .constant(.int(1))))
        #expect(tree("___createTime > 1") == comparison(.key("___createTime"), .greater, .constant(.int(1))))
        #expect(tree("größe = 1") == comparison(.key("größe"), .equal, .constant(.int(1))))
    }

    @Test func `predicates that only Foundation runs are read too`() {
        #expect(tree("a + 1 > 2") == comparison(.other("a + 1"), .greater, .constant(.int(2))))
        #expect(tree("(a + 1) * 2 > 2") == comparison(.other("a + 1 * 2"), .greater, .constant(.int(2))))
        #expect(tree("a[0] = 1") == comparison(.other("a[0]"), .equal, .constant(.int(1))))
        #expect(tree("a = $V") == comparison(.key("a"), .equal, .variable("V")))
        guard case .comparison(let subquery) = tree("SUBQUERY(a, $x, $x.b = 1).@count > 0") else {
            Issue.record("not read")
            return
        }
        #expect(subquery.comparator == .greater)
    }

    @Test(arguments: [
        "", " ", "a", "a =", "= 1", "a = 1 AND", "a = 1 b = 2", "(a = 1", "a = 1)", "a = 'x", "a == == 1", "a IN {1, 2",
        "a = %@", "%K = 1", "a = %", "a = %y", "AND", "NOT", "1", "'x'", "a ==[q] 1", "a ==[c 1", "ANY a", "a & b",
        "a = 1 OR",
        "a = #", "distanceToLocation:fromLocation: < 5", "a = 0x", "a.", "a = {1,}", "a NOT IN {1}",
        "TRUEPREDICATE = 1",
        "(a = 1) = 2", "a = '\\u12'", "$", "@", "a ? b", "a = 1 ; b = 2", "\u{0}",
    ])
    func `B-QRY-17 a syntax error has a reason and a position`(_ format: String) {
        guard case .malformed(let reason) = tree(format) else {
            Issue.record("was read: \(format)")
            return
        }
        #expect(reason.contains(", at character "))
    }

    @Test func `positions are those of the format`() {
        #expect(tree("a = 1 AND AND b = 2") == .malformed("'AND' is not expected, at character 11"))
        #expect(tree("a = 'open") == .malformed("the string has no end, at character 5"))
        // The place where the name would begin.
        #expect(tree("a = # 1") == .malformed("a name is expected, at character 6"))
    }

    @Test func `deep nesting is refused and does not exhaust the stack`() {
        for format in [
            String(repeating: "(", count: 10_000), String(repeating: "NOT ", count: 10_000) + "a = 1",
            "a = " + String(repeating: "-", count: 10_000) + "1", "a = " + String(repeating: "{", count: 10_000),
            "a = " + String(repeating: "f(", count: 10_000), "a" + String(repeating: "[a", count: 10_000),
        ] {
            guard case .malformed(let reason) = tree(format) else {
                Issue.record("was read")
                continue
            }
            #expect(reason.contains("nested"))
        }
        #expect(tree(String(repeating: "(", count: 90) + "a = 1" + String(repeating: ")", count: 90)) == tree("a = 1"))
    }

    @Test(arguments: [
        "name == \"x\"", "age > 5 AND name BEGINSWITH \"a\"", "NOT (a == 1 AND b == 2)", "ANY tags IN {\"a\", \"b\"}",
        "TRUEPREDICATE", "a == nil", "SELF CONTAINS \"x\"", "a ==[c] \"x\"", "#in == 1",
        "a == 1 AND (b == 2 OR c == 3)",
        "a == \"q\\\"\\\\\\n\"", "a BETWEEN {1, 2.5}", "a < now()",
    ])
    func `the canonical text reads back the same`(_ format: String) {
        #expect(tree(format).text == format)
    }

    // MARK: NSPredicate

    @Test func `NSPredicate keeps its format`() {
        let predicate = NSPredicate(format: "name = %@ && age > %d", "x", 5)
        #expect(predicate.description == "name == \"x\" AND age > 5")
        #expect(PredicateTree(predicate) == tree("name == 'x' AND age > 5"))
        #expect(PredicateTree(NSPredicate(format: "a IN %@", argumentArray: [["x"]])) == tree("a IN %@", ["x"]))
        #expect(PredicateTree(NSPredicate(format: "a == %@", argumentArray: nil)) != tree("a == 1"))
        #expect(PredicateTree(NSPredicate(value: true)) == .constant(true))
        #expect(PredicateTree(NSPredicate(value: false)) == .constant(false))
        #expect(PredicateTree(NSPredicate { _, _ in true }) == .opaque)
        #expect(NSPredicate(format: "a = 1") == NSPredicate(format: "a == 1"))
        #expect(
            PredicateTree(NSPredicate(format: "d > %@", Date(timeIntervalSince1970: 1) as CVarArg))
                == tree("d > %@", Date(timeIntervalSince1970: 1)))
        #expect(PredicateTree(NSPredicate(format: "d IN %@", ["a"] as CVarArg)) == tree("d IN %@", ["a"]))
        #expect(PredicateTree(NSPredicate(format: "d = %@", NSNumber(value: 3) as CVarArg)) == tree("d = 3"))
    }

    @Test func `a C argument list is taken apart by the format`() {
        let date = Date(timeIntervalSince1970: 1)
        let predicate = withVaList(["x y", 5, -0.1, date, Int32(-7), ["a"], "k"]) {
            NSPredicate(
                format: "a = %@ AND b = %ld AND c = %f AND d = %@ AND e = %d AND f IN %@ AND %K = 1", arguments: $0)
        }
        #expect(
            PredicateTree(predicate)
                == tree("a = 'x y' AND b = 5 AND c = -0.1 AND d = %@ AND e = -7 AND f IN %@ AND k = 1", date, ["a"]))
        #expect(PredicateTree(withVaList([]) { NSPredicate(format: "a = 1", arguments: $0) }) == tree("a = 1"))
        #expect(PredicateTree(withVaList([]) { NSPredicate(format: "a = 'x", arguments: $0) }) == tree("a = 'x"))
    }

    @Test func `T7 compounds and copies keep their content`() throws {
        let a = NSPredicate(format: "a = 1")
        let b = NSPredicate(format: "b = 2")
        let and = NSCompoundPredicate(andPredicateWithSubpredicates: [a, b, NSPredicate(value: true)])
        #expect(PredicateTree(and) == .and([PredicateTree(a), PredicateTree(b), .constant(true)]))
        #expect(PredicateTree(NSCompoundPredicate(orPredicateWithSubpredicates: [a, b])) == tree("a = 1 OR b = 2"))
        #expect(PredicateTree(NSCompoundPredicate(notPredicateWithSubpredicate: a)) == tree("NOT a = 1"))
        #expect(
            PredicateTree(NSCompoundPredicate(type: .and, subpredicates: [and, b]))
                == .and([PredicateTree(and), PredicateTree(b)]))
        #expect(PredicateTree(try #require(a.copy() as? NSPredicate)) == PredicateTree(a))
        let query = CKQuery(recordType: "T", predicate: and)
        #expect(PredicateTree(query.predicate) == PredicateTree(and))
    }

    @Test func `comparison predicates and expressions can be made by hand`() throws {
        let predicate = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "name"), rightExpression: NSExpression(forConstantValue: "x"),
            modifier: .direct, type: .beginsWith, options: [.caseInsensitive])
        #expect(PredicateTree(predicate) == tree("name BEGINSWITH[c] 'x'"))
        #expect(predicate.description == "name BEGINSWITH[c] \"x\"")
        let and = NSCompoundPredicate(andPredicateWithSubpredicates: [predicate, NSPredicate(value: true)])
        #expect(PredicateTree(and) == .and([PredicateTree(predicate), .constant(true)]))
        let list = NSExpression(forAggregate: [NSExpression(forConstantValue: 1), 2])
        let member = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "tags"), rightExpression: list, modifier: .any, type: .in)
        #expect(PredicateTree(member) == tree("ANY tags IN {1, 2}"))
        #expect(member.evaluate(with: ["tags": [2, 3]]))
        let now = NSExpression(forFunction: "now", arguments: [])
        #expect(now.expressionType == .function)
        #expect(NSExpression.expressionForEvaluatedObject().description == "SELF")
        #expect(NSExpression(forKeyPath: "a").keyPath == "a")
    }

    @Test func `predicates hold for records and dictionaries`() {
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "r"))
        record["name"] = "Alice"
        record["age"] = 30
        record["tags"] = ["a", "b"]
        record["text"] = "some wide words"
        func holds(_ format: String, _ arguments: Any?...) -> Bool {
            NSPredicate(format: format, argumentArray: arguments.map { $0 ?? NSNull() }).evaluate(with: record)
        }
        #expect(holds("name == 'Alice'"))
        #expect(!holds("name == 'alice'"))
        #expect(holds("name ==[c] 'alice'"))
        #expect(holds("age > 20 AND age <= 30.0"))
        #expect(holds("age BETWEEN {20, 40}"))
        #expect(holds("name BEGINSWITH 'Al' OR FALSEPREDICATE"))
        #expect(holds("name LIKE 'A*e'"))
        #expect(holds("name MATCHES '[A-Z][a-z]+'"))
        #expect(holds("tags CONTAINS 'a'"))
        #expect(holds("'b' IN tags"))
        #expect(holds("ANY tags IN {'b', 'c'}"))
        #expect(!holds("ALL tags IN {'b', 'c'}"))
        #expect(holds("NOT (age = 1)"))
        #expect(holds("missing == nil"))
        #expect(holds("recordID.recordName == 'r'"))
        #expect(holds("recordID == %@", CKRecord.ID(recordName: "r")))
        #expect(holds("self CONTAINS 'wide'"))
        #expect(NSPredicate(format: "a = 1").evaluate(with: ["a": 1]))
        #expect(!NSPredicate(format: "a = ").evaluate(with: ["a": 1]))
    }
}
