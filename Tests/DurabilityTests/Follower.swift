import CloudUnderTest
import SeededChance

/// A reader of one zone's changes that maintains a copy as a device does, and keeps some of its tokens together with the copy at
/// that time.
struct Follower {
    /// A token and the content of the zone at it: record name → change tag.
    struct Bookmark {
        var token: String?
        var copy: [String: String]
    }

    let zone: String
    private(set) var here = Bookmark(token: nil, copy: [:])
    private(set) var bookmarks = [Bookmark(token: nil, copy: [:])]
    private(set) var faults: [String] = []
    private(set) var pages = 0
    /// Whether the last page was the end of the feed; the next fetch waits for a write.
    private(set) var isCaughtUp = false

    private var chance: SplitMix64
    private static let bookmarksMax = 40

    init(zone: String, seed: UInt64) {
        self.zone = zone
        chance = SplitMix64(seed: seed)
    }

    /// Returns a request for the next page, of a random size.
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

    /// Keeps the newest token and drops a random older one.
    private mutating func keepBookmark() {
        if bookmarks.count == Self.bookmarksMax {
            // The first one, the beginning of the feed, is kept.
            bookmarks.remove(at: Int.random(in: 1..<bookmarks.count, using: &chance))
        }
        bookmarks.append(here)
    }
}

extension Follower.Bookmark {
    /// Applies one page.
    ///
    /// - Returns: Its violations: a repeated record, or an unchanged one.
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
