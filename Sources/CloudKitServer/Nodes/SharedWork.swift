/// Work without an end that one node does for all; the raw values are stored.
package enum SharedWork: String, Hashable, Sendable, CaseIterable {
    /// Removes old deletions from change feeds.
    case compaction
    /// Removes files that nothing refers to.
    case assetSweeps
    /// Processes what transactions have deferred.
    case outbox
    /// Sends notifications by push services.
    case push
    /// Deletes accounts whose people asked for it.
    case accountDeletions
}
