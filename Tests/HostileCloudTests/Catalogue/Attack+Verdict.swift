import CloudKit

extension Attack {
    var verdict: Verdict {
        switch family {
        case .records: ofRecords
        case .feeds: ofFeeds
        case .assets: ofAssets
        case .shares: ofShares
        case .keys: ofKeys
        case .links: ofLinks
        case .accounts: ofAccounts
        }
    }

    /// A device has no key, because the cloud withholds it, and says so.
    private static let waiting = Verdict.detected(.atOnce, [.zoneBusy], ["waiting for key"])

    private static func tampered(_ texts: String...) -> Verdict { .detected(.atOnce, [.internalError], texts) }

    private var ofRecords: Verdict {
        switch self {
        case .plainFieldChanged, .modificationChanged:
            .undetected("plain fields and dates of modification are the cloud's, which sees and sets them")
        default: Self.tampered("encrypted field", "protection", "key of record", "statement")
        }
    }

    private var ofFeeds: Verdict {
        switch self {
        case .zoneEpochLowered: Self.tampered("went back in time")
        case .zoneEpochRaised: .harmless("values are sealed in an epoch that the owner's devices derive as any other")
        case .queryOmitsRecord:
            .undetected("a query has no order that a device could follow; the feed shows the record")
        case .zoneHidden: .undetected("the list of zones is not authenticated; reading the zone by its name works")
        case .historiesForked:
            .undetected("devices that are never shown each other's writes know nothing of each other")
        default: Self.tampered("statement", "went back")
        }
    }

    private var ofAssets: Verdict {
        switch self {
        case .assetTruncated, .assetEmptied:
            .detected(.atOnce, [.networkFailure, .internalError], ["connection broke", "file that came"])
        default: Self.tampered("asset key", "file that came", "other bytes of the file", "statement")
        }
    }

    private var ofShares: Verdict { Self.tampered("share", "statement") }

    private var ofKeys: Verdict {
        switch self {
        case .invitationRemoved, .invitationOlder, .keyringOfOtherShare, .keyringOlder, .keyringRemoved,
            .shareEpochRaised:
            Self.waiting
        default: Self.tampered("invitation", "public key", "share", "statement")
        }
    }

    private var ofLinks: Verdict {
        switch self {
        case .linkKeptOpen: Self.tampered("share", "statement")
        default: Self.waiting
        }
    }

    private var ofAccounts: Verdict {
        switch self {
        case .keychainIdentitySwapped: .refusedAtSignIn("does not fit the account's public identity")
        case .keychainOfOtherAccount:
            .detected(.atOnce, [.accountTemporarilyUnavailable], ["do not open with this password"])
        case .roundsLowered: .refusedAtSignIn("from which your password could be guessed")
        case .saltOfOtherAccount: .refusedAtSignIn("password")
        case .ghostDevice: .harmless("a device without the account's secret opens nothing")
        default: Self.tampered("encrypted field", "key of record", "statement")
        }
    }
}
