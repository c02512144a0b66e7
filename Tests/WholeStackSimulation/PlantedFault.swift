/// A fault that a test plants, to show that the invariants notice it.
enum PlantedFault: String, CaseIterable {
    /// The disk reports a commit that it did not keep.
    case lostCommit = "lost-commit"
    /// The network gives the answer to an earlier request of the same kind.
    case swappedAnswer = "swapped-answer"
    /// The network answers a save that it never sent.
    case forgedAnswer = "forged-answer"
    /// Notifications are lost although the cloud counts them as delivered.
    case lostNotifications = "lost-notifications"
    /// What happens follows from the process too, not from the seed alone.
    case chance
}
