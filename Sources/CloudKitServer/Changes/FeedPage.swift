import CloudKitModel
import CloudKitRecordLayer

/// Picks the entries of one page out of a zone's feed.
///
/// Filled entry by entry until it is full or the feed ends; what it needs of records is then read in one go.
struct FeedPage: Sendable {
    private(set) var picked: [FeedEntry] = []
    /// The last entry looked at, picked or passed over.
    private(set) var last: UInt64?
    private(set) var isFull = false
    private var bytes = 0
    private var skippedEntries = 0

    /// At most so many entries.
    let resultsMax: Int
    let bytesMax: Int
    let skippedEntriesMax: Int
    /// Deletions up to here are passed over (B-CHG-08).
    let silentDeletions: UInt64
    /// nil: every type; deletions of any type are always reported (docs/web-services.md §8.3).
    let recordTypes: Set<String>?

    /// - Parameter bytesLeft: The bytes that the whole answer has left; without any, the page takes nothing.
    init(
        of request: ZoneChangesRequest, by caller: Caller, limits: Limits, silentDeletions: UInt64, bytesLeft: Int
    ) {
        resultsMax = bytesLeft > 0 ? limits.pageItems(wanted: request.resultsLimit, by: caller) : 0
        bytesMax = min(limits.pageBytesMax, bytesLeft)
        skippedEntriesMax = limits.skippedEntriesMax
        self.silentDeletions = silentDeletions
        recordTypes = request.desiredRecordTypes.map(Set.init)
    }

    /// Looks at the next entry; false when the page is full without it.
    mutating func take(_ entry: FeedEntry) -> Bool {
        if picked.count >= resultsMax || skippedEntries >= skippedEntriesMax
            || (bytes > 0 && bytes + entry.size > bytesMax)
        {
            isFull = true
            return false
        }
        last = entry.version
        if isWanted(entry) {
            picked.append(entry)
            bytes += entry.isTombstone ? 64 : entry.size
        } else {
            skippedEntries += 1
        }
        return true
    }

    var bytesTaken: Int { bytes }

    private func isWanted(_ entry: FeedEntry) -> Bool {
        if entry.isTombstone { return entry.version > silentDeletions }
        return recordTypes?.contains(entry.recordType) ?? true
    }
}
