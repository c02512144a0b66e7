import Crypto
import Foundation

/// The changes of a short time, as an object of the backup.
///
/// It has a line of JSON, the pages in the order of that line, and the SHA-256 of both; sealed as contents are. Each names the digest of the one before, so that none can be
/// left out or exchanged.
struct ChangeSegment: Sendable {
    var header: Header
    var changes: StoreChanges

    struct Header: Hashable, Sendable, Codable {
        var format = 1
        var series: String
        var number: Int
        /// The digest of the object of the segment before.
        var previous: String
        /// A time before the state was read: all that was committed until then is in it. Milliseconds since 1970.
        var time: Int64
        var pageBytes: Int
        var pageCount: Int
        var pages: [UInt32]
        /// The digest of the object with the files that appeared; nil: none did.
        var files: String?
    }

    static let formatMax = 1
    static let pageBytesMax = 65_536
    private static let digestBytes = 32

    /// The folder of all series.
    static let folder = "changes"

    /// The name of an object with pages.
    static func name(_ series: String, _ number: Int, time: Int64) -> String {
        "\(folder)/\(series)/\(digits(number))-\(time).pages"
    }

    /// The name of an object with files.
    static func filesName(_ series: String, _ number: Int) -> String { "\(folder)/\(series)/\(digits(number)).files" }

    private static func digits(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 12 - text.count)) + text
    }

    static func digest(_ bytes: [UInt8]) -> String {
        // A digest of SHA-256 has 32 bytes.
        ChunkID(SHA256.hash(data: bytes))!.name
    }

    /// The digest that the first segment of a series names.
    static let noDigest = digest([])

    // MARK: Bytes

    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = Array(try encoder.encode(header)) + [10]
        for number in header.pages { bytes += changes.pages[number] ?? [] }
        return bytes + Array(SHA256.hash(data: bytes))
    }

    /// nil: it is no segment, or not a whole one.
    init?(_ bytes: [UInt8]) {
        let body = bytes.dropLast(Self.digestBytes)
        guard Array(SHA256.hash(data: body)) == Array(bytes.suffix(Self.digestBytes)),
            let end = body.firstIndex(of: 10),
            let header = try? JSONDecoder().decode(Header.self, from: Data(body[..<end])),
            header.format <= Self.formatMax, (512...Self.pageBytesMax).contains(header.pageBytes),
            header.pageCount >= 0, body.count - end - 1 == header.pages.count * header.pageBytes
        else { return nil }
        var pages: [UInt32: [UInt8]] = [:]
        var place = end + 1
        for number in header.pages {
            guard number > 0, number <= header.pageCount else { return nil }
            pages[number] = Array(body[place..<place + header.pageBytes])
            place += header.pageBytes
        }
        self.header = header
        changes = StoreChanges(pageBytes: header.pageBytes, pageCount: header.pageCount, pages: pages)
    }

    init(header: Header, changes: StoreChanges) {
        self.header = header
        self.changes = changes
    }
}

/// The files that appeared in the time of a segment.
struct ChangedFiles: Hashable, Sendable, Codable {
    /// New files that never change, by their folders.
    var folders: [String: [BackupFile]] = [:]
    /// All further files, if any of them changed.
    var files: [BackupFile]?
}

/// An object of a series, as its name tells.
struct ChangeObject: Hashable, Sendable {
    var series: String
    var number: Int
    /// nil: it has files, no pages.
    var time: Int64?
    var name: String

    /// nil: it is another one.
    init?(_ name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == ChangeSegment.folder else { return nil }
        series = String(parts[1])
        self.name = name
        let file = parts[2]
        if file.hasSuffix(".files"), let number = Int(file.dropLast(6)) {
            self.number = number
            time = nil
            guard name == ChangeSegment.filesName(series, number) else { return nil }
        } else if file.hasSuffix(".pages") {
            let numbers = file.dropLast(6).split(separator: "-").map { String($0) }
            guard numbers.count == 2, let number = Int(numbers[0]), let time = Int64(numbers[1]) else { return nil }
            self.number = number
            self.time = time
            guard name == ChangeSegment.name(series, number, time: time) else { return nil }
        } else {
            return nil
        }
    }
}
