import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// The limits of a cloud; an operator may set tighter ones (B-LIM-16).
package struct Limits: Hashable, Sendable {
    /// Bytes of a request's fields together (B-LIM-02).
    package var requestBytesMax = 2 * 1_048_576
    /// Bytes of one record's fields (B-LIM-05).
    package var recordBytesMax = Validity.recordBytesMax
    /// Fields of one record type (B-LIM-06).
    package var fieldsMax = 256
    /// Whether record types that saves create in development can be queried without filters; Apple's service wants the index of
    /// `recordName` for that, and so does Welkin, except in clouds of tests (B-SCH-06).
    package var recordNamesQueryable = false
    /// Custom zones of one user in one container (B-LIM-06).
    package var zonesMax = 1000
    /// deleteSelf references to one record (B-LIM-07).
    package var owningReferencesMax = 750
    /// Records that one deletion may take with it at once; a deletion that needs more is refused.
    package var cascadeMax = 5000
    /// Records that one batch may move into or out of the tree of a share; a batch that moves more is refused.
    package var treeMovesMax = 100_000
    /// Stored bytes of one user's private database; nil: no limit (B-THR-01).
    package var quotaBytes: UInt64?
    /// Records, or zones, in one page; no more than a request of the caller may have items.
    package var pageItemsMax = Int.max
    /// Bytes of records in one page of one zone's feed; a page holds at least one record.
    package var pageBytesMax = 1_048_576
    /// Bytes of records in one answer: to a query, a fetch by name, or with the feeds of several zones (B-LIM-17).
    package var answerBytesMax = 4 * 1_048_576
    /// Feed entries that one page may skip, because they were not requested, before it ends early.
    package var skippedEntriesMax = 5000
    /// Stored bytes of the records that one batch may concern: those under its names and those that new references point to (B-LIM-18).
    package var batchHeldBytesMax = 16 * 1_048_576
    /// Index entries that one batch may add in all its turns (B-LIM-18).
    package var indexEntriesMax = 30_000
    /// Index entries that one turn in the writer may add, and half of what it may change: other users wait as long as they take to write
    /// (B-LIM-18).
    ///
    /// A batch that takes effect as a whole has one turn.
    package var wholeEntriesMax = 16_000
    /// Index entries and bytes of fields that a batch without atomicity changes in one turn in the writer; what exceeds them waits for
    /// another turn, a record at least.
    package var turnEntriesMax = 4000
    /// See `turnEntriesMax`.
    package var turnBytesMax = 512 * 1024
    /// Subscriptions of one user in one database.
    package var subscriptionsMax = 500
    /// The limits of the notifications that wait for the devices of one user in one container.
    package var notifications = NotificationQueueLimits()
    /// Devices of one user that may wait for notifications in one container; beyond that, the one longest unseen is removed.
    package var pushTokensMax = 50
    /// Those of them that a push service sends to.
    package var pushAddressesMax = 10
    /// Milliseconds after which a device that did not ask for its notifications loses its token, or a browser that did not
    /// register again its place with a push service.
    package var pushTokenLifetime: Int64 = 90 * 86_400_000

    /// Requests a second that one user may send to one container, on average; nil: no limit (B-THR-06).
    package var userRequestsPerSecond: Double?
    /// Requests a second that one container may get, on average, from all its users and apps together; nil: no limit (B-THR-06).
    package var containerRequestsPerSecond: Double?
    /// Look-ups of people, for discovery and for shares, that one user may make in an hour (B-ACC-05).
    package var peopleLookupsMax = 1000
    /// The accounts that people make for themselves in an hour, without an invitation.
    package var signUpsMax = SignUp.hourMaxDefault

    /// Bytes of one asset that a client of web services uploads (B-LIM-10).
    package var webAssetBytesMax: Int64 = 50 * 1_048_576
    /// Bytes of one asset that our SDK uploads, sealed (B-LIM-10).
    package var nativeAssetBytesMax: Int64 = 4 * 1_073_741_824
    /// Times in the life of a file.
    package var assetLifetimes = AssetLifetimes()
    /// Bytes that uploads leave free on the disk.
    package var freeBytesMin: Int64 = 256 * 1_048_576

    /// Creates the limits that apply unless the operator sets others.
    package init() {}

    /// Returns the number of items of a page, of which the caller may want fewer than there can be.
    func pageItems(wanted: Int?, by caller: Caller, usually: Int = .max) -> Int {
        let max = min(caller.surface.itemsMax, pageItemsMax)
        return min(wanted.flatMap { $0 > 0 ? $0 : nil } ?? usually, max)
    }

    /// Seconds after which a save that found the quota used up may be tried again (B-THR-01).
    static let quotaRetryAfter: Double = 300
}

/// Times in the life of a file, milliseconds.
package struct AssetLifetimes: Hashable, Sendable {
    /// The time for which an upload can be begun (docs/web-services.md §7: 15 minutes).
    package var begin: Int64 = 15 * 60_000
    /// The time for which an upload can go on in pieces, counted from its permission.
    package var upload: Int64 = 24 * 3_600_000
    /// The time for which a receipt can be saved.
    package var receipt: Int64 = 24 * 3_600_000
    /// The time for which a download can be begun.
    package var download: Int64 = 6 * 3_600_000
    /// The time for which a file stays that nothing refers to any more (B-AST-02).
    package var grace: Int64 = 3_600_000
    /// Age at which a file that no database knows is one that a crash left. Longer than an upload can last, so that none
    /// is mistaken that is just being finished.
    package var orphan: Int64 = 48 * 3_600_000

    /// Creates the lifetimes that apply unless the operator sets others.
    package init() {}
}
