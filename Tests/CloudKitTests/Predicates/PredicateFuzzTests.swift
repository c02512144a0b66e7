import CloudKitModel
import SeededChance
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct PredicateFuzzTests {
    private static let seeds = [
        "a == %@ AND b > 5", "NOT (tags CONTAINS 'x')", "ANY tags IN {'a', \"b\"}", "self CONTAINS 'a b'",
        "distanceToLocation:fromLocation:(loc, %@) < 5000", "a BETWEEN {1, -2.5e3}", "%K BEGINSWITH[cd] %@",
        "allTokens TOKENMATCHES tokenize(%@, 'Cdl')", "d < now() && recordID IN %@",
        "a.b = 0x1F OR SUBQUERY(x, $y, $y = 1)",
        "(a + 1) * -2 <= #in || TRUEPREDICATE", "'\\u00e9\\n' IN tags",
    ]
    private static let pieces = [
        "(", ")", "{", "}", "[", "]", "'", "\"", "\\", "%", "%@", "%K", "%d", "%f", "AND", "OR", "NOT", "ANY", "IN",
        "-", ".",
        ":", "#", "$", "@", "=", "<", ">", ",", "nil", "self", "é", "\u{301}", "\u{0}", "0x", "1e",
        "9999999999999999999999", " ",
    ]

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `no format and no arguments end the process`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let arguments: [Any?] = [
            "x", 5, CLLocation(latitude: .nan, longitude: 1), nil, ["a", 1] as [Any],
            Date(timeIntervalSince1970: .infinity),
            CKRecord.ID(recordName: "r"), Double.nan, UInt64.max, URL(fileURLWithPath: "/"), [[1]], Data([1]),
        ]
        let zone = CKRecordZone.ID(zoneName: "z")
        for _ in 0..<4_000 {
            var format = Self.seeds.randomElement(using: &random) ?? ""
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                mutate(&format, &random)
            }
            let tree = PredicateParser.tree(format, arguments: arguments.shuffled(using: &random))
            // A parsed tree is printed, evaluated, archived and either translated or refused.
            _ = tree.text
            _ = PredicateEvaluator(object: ["a": 1, "tags": ["x"]]).holds(tree)
            let query = CKQuery(recordType: "T", tree: tree, order: nil)
            do {
                _ = try query.model(in: zone)
            } catch {
                #expect(error.code == .invalidArguments, "seed \(seed): \(format)")
            }
        }
    }

    private func mutate(_ format: inout String, _ random: inout SplitMix64) {
        var characters = Array(format.unicodeScalars)
        let place = Int.random(in: 0...characters.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where place < characters.count: characters.remove(at: place)
        case 1:
            characters.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").unicodeScalars, at: place)
        case 2:
            characters.insert(contentsOf: (Self.seeds.randomElement(using: &random) ?? "").unicodeScalars, at: place)
        default: characters.removeSubrange(place..<min(place + 3, characters.count))
        }
        format = String(String.UnicodeScalarView(characters))
    }
}
