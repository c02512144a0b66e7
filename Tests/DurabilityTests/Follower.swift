import CloudUnderTest
import SeededChance

/// A reader of one zone's feed: keeps a copy as a device does, and remembers some of the tokens it was given together
/// with the copy they stood for.
struct Follower {
    /// A token and what the zone was like by it: record name → change tag.
    struct Bookmark {
        var token: String?
        var copy: [String: String]
    }

    let zone: String
    private(set) var here = Bookmark(token: nil, copy: [:])
    private(set) var bookmarks = [Bookmark(token: nil, copy: [:])]
    private(set) var faults: [String] = []
    private(set) var pages = 0
    /// Whether the last page said that there is nothing more; asking again makes sense once somebody has written.
    private(set) var isCaughtUp = false

    private var chance: SplitMix64
    private static let bookmarksMax = 40

    init(zone: String, seed: UInt64) {
        self.zone = zone
        chance = SplitMix64(seed: seed)
    }

    /// The next page, of a random size.
    mutating func next(_ user: SignedInUser) -> RawRequest {
        user.changes(of: zone, since: here.token, limit: Int.random(in: 1...60, using: &chance))
    }

    mutating func take(status: Int, body: [UInt8]) throws {
        guard status == 200 else {
            faults.append("HTTP \(status): \(String(decoding: body.prefix(300), as: UTF8.self))")
            return
        }
        let page = try ZoneChangesAnswer(body)
        pages += 1
        isCaughtUp = page.moreComing != true
        faults += here.apply(page)
        if here.token != bookmarks.last?.token, chance.next(upperBound: UInt(6)) == 0 { keepBookmark() }
    }

    /// Keeps the newest token; a random older one makes room.
    private mutating func keepBookmark() {
        if bookmarks.count == Self.bookmarksMax {
            // The first one stays: it is the beginning of the feed.
            bookmarks.remove(at: Int.random(in: 1..<bookmarks.count, using: &chance))
        }
        bookmarks.append(here)
    }
}

extension Follower.Bookmark {
    /// Applies one page.
    ///
    /// - Returns: What is wrong with it: the same record twice, or a record that has not changed since.
    mutating func apply(_ page: ZoneChangesAnswer) -> [String] {
        guard page.serverErrorCode == nil, let records = page.records, let token = page.syncToken else {
            return ["the feed failed: \(page.serverErrorCode ?? "no token") \(page.reason ?? "")"]
        }
        var faults: [String] = []
        if Set(records.map(\.recordName)).count != records.count { faults.append("a record is twice on one page") }
        for record in records {
            if record.isDeleted {
                copy[record.recordName] = nil
            } else if let tag = record.recordChangeTag {
                if copy[record.recordName] == tag { faults.append("\(record.recordName) came again, unchanged") }
                copy[record.recordName] = tag
            } else {
                faults.append("\(record.recordName) has no change tag in the feed")
            }
        }
        self.token = token
        return faults
    }
}
