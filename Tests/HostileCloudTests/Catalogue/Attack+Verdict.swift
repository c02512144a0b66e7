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
        case .approvals: ofApprovals
        case .directory: ofDirectory
        }
    }

    /// A device has no key, because the cloud withholds it, and says so.
    private static let waiting = Verdict.detected(.atOnce, [.zoneBusy], ["waiting for key"])

    private static func tampered(_ texts: String...) -> Verdict { .detected(.atOnce, [.internalError], texts) }

    /// Whether the ghost reads until the attack is noticed.
    var opensUntilNoticed: Bool { self == .directoryShowsGhostForMember || self == .directoryForked }

    private var ofDirectory: Verdict {
        switch self {
        case .directorySilent: .harmless("new participants wait for keys until the directory answers")
        case .directoryShowsGhostForOwner, .directoryShowsGhostForMember:
            .detected(.ownDevices, [.internalError], ["shows others keys"])
        case .directoryForked:
            .detected(.otherParticipants, [.internalError], ["different directories", "went back to head"])
        default: Self.tampered("directory")
        }
    }

    private var ofApprovals: Verdict {
        switch self {
        case .approvalByCloudAsNewDevice, .approvalIdentitySwapped: .refusedAtApproval(.codeOnOldDevice)
        case .approvalByCloudAsOldDevice: .refusedAtApproval(.codeOnNewDevice)
        default: .refusedAtApproval(.atOnce)
        }
    }

    private var ofRecords: Verdict {
        switch self {
        case .plainFieldChanged, .modificationChanged:
            .undetected("plain fields and dates of modification are the cloud's, which sees and sets them")
        case .sealedStrippedElsewhere: Self.unseen
        default:
            Self.tampered(
                "encrypted field", "protection", "key of record", "differs from its statement", "went back in time",
                // Where a feed shows the record without any statement, beside what another device wrote about it.
                "another history")
        }
    }

    private static let unseen = Verdict.undetected("a device knows what it has seen itself")

    private var ofFeeds: Verdict {
        switch self {
        case .zoneEpochLowered: Self.tampered("went back in time")
        case .zoneEpochRaised: .harmless("values are sealed in an epoch that the owner's devices derive as any other")
        case .queryOmitsRecord, .recordHidden, .zoneDeletionInvented:
            .undetected("absence is not signed: the cloud can delete what it likes")
        case .zoneHidden: .undetected("the list of zones is not authenticated; reading the zone by its name works")
        case .recordRolledBackElsewhere, .feedOmitsRecord, .feedOmitsDeletion, .feedFrozen, .historiesForked,
            .newDeviceMisled, .statesStripped, .stateWithheld, .stateWithheldFromNewDevice, .stateOlder,
            .stateRelabelled, .stateDamaged, .ownStateDropped, .incarnationTakenBack:
            .detected(.endOfFeed, [.internalError], ["another history"])
        case .deletionInvented, .omissionCoveredByDeletion, .deletedAndRolledBack:
            .detected(.otherDevices, [.internalError], ["another history"])
        case .incarnationInvented:
            .undetected("so it is after an app has made a zone again, or an operator restored a cloud")
        case .feedRolledBack: Self.tampered("another history", "went back in time")
        case .restorationInvented: Self.tampered("says that it was restored")
        case .saveDropped: .detected(.nextFetch, [.internalError], ["went back in time"])
        default: Self.tampered("went back in time")
        }
    }

    private var ofAssets: Verdict {
        switch self {
        case .assetTruncated, .assetEmptied:
            .detected(.atOnce, [.networkFailure, .internalError], ["broke before an answer came", "file that came"])
        case .assetAloneInPlainElsewhere: Self.unseen
        default: Self.tampered("asset key", "file that came", "other bytes of the file", "statement")
        }
    }

    private var ofShares: Verdict {
        switch self {
        case .ghostParticipant, .ghostShownToMember, .ghostShownToAdministrator, .ghostAdministrator, .personSwapped:
            .harmless("no statement has the ghost, which waits for keys until the owner confirms it")
        case .ghostInFreeSlot, .ghostJoinsByLink, .linkProofCopied:
            .harmless("only a proof of the link's secret, for this user, gets a key")
        case .permissionLowered, .participantHidden, .removalInvented:
            .harmless("less than was stated; the cloud can refuse access in any case")
        case .inventedZoneShare, .inventedRecordShare, .shareKeysHidden:
            .harmless("devices make keys only for shares that they, or the owner by a confirmation, have stated")
        case .identitySwapped:
            .harmless("the participant is known by other keys; these get nothing until the owner trusts them")
        case .shareRestorationInvented: Self.tampered("says that it was restored")
        case .removalHidden: .detected(.endOfFeed, [.internalError], ["another history"])
        default: Self.tampered("share", "statement", "public key")
        }
    }

    private var ofKeys: Verdict {
        switch self {
        case .invitationRemoved, .invitationOlder, .keyringOlder, .keyringRemoved, .shareEpochRaised: Self.waiting
        default: Self.tampered("invitation", "public key", "another identity", "share", "statement")
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
        case .keychainOfOtherAccount, .saltOfOtherAccount:
            .detected(.atOnce, [.accountTemporarilyUnavailable], ["what signed it in opens none"])
        case .roundsLowered: .refusedAtSignIn("from which your password could be guessed")
        case .ghostDevice: .harmless("a device without the account's secret opens nothing")
        default: Self.tampered("encrypted field", "key of record", "statement")
        }
    }
}
