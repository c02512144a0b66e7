import Foundation

/// The functions of databases with completion handlers that Apple's framework declares in C.
///
/// They are members of a protocol, so that `CKDatabase` can have each of them without `@Sendable` as well: a protocol of an app or library that
/// repeats a function, with or without `@Sendable`, is then satisfied by an empty extension in every language mode. Calls find the forms of this protocol,
/// whose handlers are `@Sendable`, so that the compiler checks what they capture.
public protocol _CKDatabaseHandlers: CKDatabase {}

extension CKDatabase: _CKDatabaseHandlers {}

// The forms without `@Sendable`, for protocols alone.
extension CKDatabase {
    /// Fetches one record, see `record(for:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping (CKRecord?, (any Error)?) -> Void
    ) {
        fetch(withRecordID: recordID, completionHandler: Self.sendable(completionHandler))
    }

    /// Saves one record, see `save(_:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func save(_ record: CKRecord, completionHandler: @escaping (CKRecord?, (any Error)?) -> Void) {
        save(record, completionHandler: Self.sendable(completionHandler))
    }

    /// Deletes one record, see `deleteRecord(withID:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func delete(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping (CKRecord.ID?, (any Error)?) -> Void
    ) {
        delete(withRecordID: recordID, completionHandler: Self.sendable(completionHandler))
    }

    /// Fetches every zone, see `allRecordZones()`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func fetchAllRecordZones(completionHandler: @escaping ([CKRecordZone]?, (any Error)?) -> Void) {
        fetchAllRecordZones(completionHandler: Self.sendable(completionHandler))
    }

    /// Fetches one zone, see `recordZone(for:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping (CKRecordZone?, (any Error)?) -> Void
    ) {
        fetch(withRecordZoneID: zoneID, completionHandler: Self.sendable(completionHandler))
    }

    /// Creates a zone, see `save(_:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func save(_ zone: CKRecordZone, completionHandler: @escaping (CKRecordZone?, (any Error)?) -> Void) {
        save(zone, completionHandler: Self.sendable(completionHandler))
    }

    /// Deletes a zone, see `deleteRecordZone(withID:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        delete(withRecordZoneID: zoneID, completionHandler: Self.sendable(completionHandler))
    }

    /// Fetches every subscription, see `allSubscriptions()`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func fetchAllSubscriptions(completionHandler: @escaping ([CKSubscription]?, (any Error)?) -> Void) {
        fetchAllSubscriptions(completionHandler: Self.sendable(completionHandler))
    }

    /// Fetches one subscription, see `subscription(for:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping (CKSubscription?, (any Error)?) -> Void
    ) {
        fetch(withSubscriptionID: subscriptionID, completionHandler: Self.sendable(completionHandler))
    }

    /// Saves a subscription, see `save(_:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func save(
        _ subscription: CKSubscription, completionHandler: @escaping (CKSubscription?, (any Error)?) -> Void
    ) {
        save(subscription, completionHandler: Self.sendable(completionHandler))
    }

    /// Deletes a subscription, see `deleteSubscription(withID:)`.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @_disfavoredOverload
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping (String?, (any Error)?) -> Void
    ) {
        delete(withSubscriptionID: subscriptionID, completionHandler: Self.sendable(completionHandler))
    }

    /// The first page of what matches a query, without a way to go on.
    ///
    /// For protocols that repeat the function without `@Sendable`; the handler runs on the operation's queue all the same.
    @available(*, deprecated, renamed: "fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:)")
    @_disfavoredOverload
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping ([CKRecord]?, (any Error)?) -> Void
    ) {
        perform(query, inZoneWith: zoneID, completionHandler: Self.sendable(completionHandler))
    }

    /// Returns the same handler for a function that wants a `@Sendable` one.
    private static func sendable<Value: SendableMetatype>(
        _ handler: @escaping (Value?, (any Error)?) -> Void
    ) -> @Sendable (Value?, (any Error)?) -> Void {
        // The caller's protocol does not ask for `@Sendable`, as Apple's declarations allow; the handler is called once.
        nonisolated(unsafe) let handler = handler
        return { handler($0, $1) }
    }
}
