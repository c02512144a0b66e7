import CloudUnderTest
import Foundation

/// Fetches a zone's changes from the beginning, page by page, and records the time of each page.
struct FeedReader {
    let zone: String
    let user: SignedInUser
    private(set) var isAtEnd = false
    /// The seconds per record of each page, without decoding.
    private(set) var times: [Double] = []
    private(set) var token: String?
    private var records = 0

    private struct Answer: Decodable {
        struct Zone: Decodable {
            var syncToken: String
            var moreComing: Bool?
        }

        var zones: [Zone]
    }

    init(zone: String, user: SignedInUser) {
        self.zone = zone
        self.user = user
    }

    mutating func readPage(_ exchange: RawExchange) throws {
        let request = user.changes(of: zone, since: token, limit: 200)
        let asked = Moment.now
        let answer = try exchange.ask(request)
        let waited = Moment.now.seconds(since: asked)
        guard answer.status == 200,
            let page = try JSONDecoder().decode(Answer.self, from: Data(answer.body)).zones.first
        else { throw BenchError("HTTP \(answer.status): \(answer.text.prefix(300))") }
        let count = answer.body.count(of: #""recordName":"r"#)
        records += count
        if count > 0 { times.append(waited / Double(count)) }
        token = page.syncToken
        isAtEnd = page.moreComing != true
    }

    func expect(_ count: Int) throws {
        guard records == count else { throw BenchError("the feed of \(zone) has \(records) records, not \(count)") }
    }
}

extension [UInt8] {
    /// Returns the number of occurrences of a text.
    fileprivate func count(of text: StaticString) -> Int {
        let pattern = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return withUnsafeBytes { bytes in
            var found = 0
            var place = 0
            while place + pattern.count <= bytes.count {
                if bytes[place] == pattern[0], bytes[place..<place + pattern.count].elementsEqual(pattern) {
                    found += 1
                    place += pattern.count
                } else {
                    place += 1
                }
            }
            return found
        }
    }
}
