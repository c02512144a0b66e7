import CloudKit
import CoreLocation
import Foundation

/// The content of a record, which follows from the number of the attempt that saved it.
struct Content {
    let stamp: Int

    var n: Int { stamp % 10 }
    var word: String { Self.words[stamp % Self.words.count] }
    var list: [Int] { [n, n + 1] }
    var when: Date { Date(timeIntervalSince1970: 1_800_000_000 + Double(stamp) * 60) }
    var at: CLLocation { CLLocation(latitude: Double(n), longitude: 10) }
    /// The content of the file, which every third record has.
    var file: Data? {
        stamp.isMultiple(of: 3) ? Data(repeatElement(Data("file \(stamp)\n".utf8), count: 40).joined()) : nil
    }
    var secret: String { "secret \(stamp)" }

    static let words = ["amber", "beryl", "coral", "delta stone", "ember", "flint stone"]

    /// The fields besides `stamp`, all of them open to queries.
    static let keys = ["n", "word", "list", "when", "at"]

    /// Gives a record this content.
    func fill(_ record: CKRecord, at place: Place) throws {
        record["stamp"] = stamp
        record["n"] = n
        record["word"] = word
        record["list"] = list
        record["when"] = when
        record["at"] = at
        if place.isSealed { record.encryptedValues["secret"] = secret }
        if place.hasFiles { record["file"] = try file.map { try Self.asset($0, of: stamp) } }
    }

    /// Returns what a record shows instead of this content.
    ///
    /// - Parameters:
    ///   - keys: The fields that were asked for; nil: all.
    ///   - hasContents: Whether the contents of files were fetched; otherwise it may show them or not.
    func differences(from record: CKRecord, at place: Place, keys: [String]?, hasContents: Bool) -> [String] {
        let isSealed = place.isSealed
        var differences: [String] = []
        func compare(_ key: String, _ isEqual: Bool) {
            if let keys, !keys.contains(key) {
                if record.allKeys().contains(key) { differences.append("\(key) came unasked") }
            } else if !isEqual {
                differences.append("\(key): \(record[key].map { "\($0)" } ?? "-")")
            }
        }
        compare("n", record["n"] as? Int == n)
        compare("word", record["word"] as? String == word)
        compare("list", record["list"] as? [Int] == list)
        compare("when", record["when"] as? Date == when)
        compare("at", (record["at"] as? CLLocation)?.coordinate.latitude == Double(n))
        if place.hasFiles {
            let asset = record["file"] as? CKAsset
            let contents = asset.map { $0.fileURL.flatMap { try? Data(contentsOf: $0) } ?? Data() }
            let isMissing = !hasContents && asset != nil && asset?.fileURL == nil
            compare("file", isMissing ? file != nil : contents == file)
        }
        if isSealed, keys?.contains("secret") ?? true {
            let opened = record.encryptedValues["secret"] as? String
            if opened != secret { differences.append("secret: \(opened ?? "-")") }
        }
        return differences
    }

    /// Returns an asset with a file of its own.
    private static func asset(_ content: Data, of stamp: Int) throws -> CKAsset {
        let path = "\(FileManager.default.currentDirectoryPath)/asset-\(stamp)"
        try content.write(to: URL(fileURLWithPath: path))
        return CKAsset(fileURL: URL(fileURLWithPath: path))
    }

    // MARK: Queries

    /// A predicate with the rule that the model applies.
    struct Question {
        var format: String
        var arguments: [Any]
        var matches: (Content) -> Bool
    }

    /// Returns a predicate of each kind.
    static func questions(_ chance: Chance) -> [Question] {
        let n = chance.number(0..<10)
        let date = Content(stamp: chance.number(0..<400)).when
        let word = words[chance.number(0..<words.count)]
        return [
            Question(format: "TRUEPREDICATE", arguments: []) { _ in true },
            Question(format: "FALSEPREDICATE", arguments: []) { _ in false },
            Question(format: "n == %d", arguments: [n]) { $0.n == n },
            Question(format: "n != %d", arguments: [n]) { $0.n != n },
            Question(format: "n < %d AND when >= %@", arguments: [n, date as NSDate]) { $0.n < n && $0.when >= date },
            Question(format: "n BETWEEN {%d, %d}", arguments: [n, n + 2]) { (n...n + 2).contains($0.n) },
            Question(format: "n IN {1, 3, %d}", arguments: [n]) { [1, 3, n].contains($0.n) },
            Question(format: "NOT (n IN {1, 3, %d})", arguments: [n]) { ![1, 3, n].contains($0.n) },
            Question(format: "list CONTAINS %d", arguments: [n]) { $0.list.contains(n) },
            Question(format: "word == %@", arguments: [word]) { $0.word == word },
            Question(format: "word BEGINSWITH %@", arguments: [String(word.prefix(2))]) {
                $0.word.hasPrefix(word.prefix(2))
            },
            Question(format: "self CONTAINS 'stone'", arguments: []) { $0.word.hasSuffix("stone") },
            Question(format: "when > %@", arguments: [date as NSDate]) { $0.when > date },
            Question(
                format: "distanceToLocation:fromLocation:(at, %@) < %f",
                arguments: [CLLocation(latitude: Double(n), longitude: 10), 50_000.0]
            ) { $0.n == n },
        ]
    }
}
