import Testing

/// A way in which a cloud may lie; each has a row in docs/threat-model.md.
enum Attack: String, CaseIterable, Sendable, CustomTestStringConvertible {
    // Records
    case fieldsSwapped, fieldsOfOtherRecord, fieldsOfOtherZone, typeChanged, fieldTypeChanged, fieldTruncated
    case fieldFlipped, fieldRenamed, fieldUnsealed, fieldReplacedByPlain, fieldRemoved, fieldOlder, fieldRestored
    case sealedStripped, sealedStrippedElsewhere, parentChanged, parentRemoved, creationChanged, modificationChanged,
        plainFieldChanged
    case protectionRemoved
    case protectionOfOtherRecord, protectionEpochRaised, protectionOlder, wrapsDamaged

    // Histories
    case recordRolledBack, recordRolledBackAfterRestart, recordRolledBackElsewhere, restorationInvented, recordHidden
    case conflictRolledBack, saveAnswerSwapped, saveDropped, feedOmitsRecord, feedOmitsDeletion, feedFrozen
    case deletionInvented, feedRolledBack, historiesForked, historiesMerged, queryOmitsRecord, zoneHidden
    case zoneDeletionInvented, zoneEpochLowered, zoneEpochRaised

    // What devices of an account write for one another
    case newDeviceMisled, omissionCoveredByDeletion, deletedAndRolledBack
    case statesStripped, stateWithheld, stateWithheldFromNewDevice, stateOlder, stateRelabelled, stateDamaged
    case ownStateDropped, incarnationInvented, incarnationTakenBack

    // Files
    case assetOfOtherField, assetTruncated, assetExtended, assetFlipped, assetChunksSwapped, assetEmptied
    case assetHeaderChanged, assetKeysSwapped, assetFieldsSwapped, assetOlder, assetRemoved, assetInPlain
    case assetAloneInPlain, assetAloneInPlainElsewhere

    // Shares
    case inventedZoneShare, inventedRecordShare, ghostParticipant, ghostShownToMember, ghostShownToAdministrator
    case ghostAdministrator, ghostInFreeSlot, ghostJoinsByLink, memberPromoted, permissionRaised, permissionLowered
    case publicPermissionRaised, participantHidden, removalInvented, removalHidden, identitySwapped, personSwapped
    case shareRolledBack, shareRestorationInvented, shareKeysHidden, shareRootChanged, statementRemoved,
        statementDamaged
    case statementForgedByMember
    case linkProofCopied

    // Keys and identities
    case participantSubstituted, ownerSubstituted, shareEpochLowered, shareEpochRaised, invitationOfOtherParticipant
    case invitationOfOtherShare, invitationOlder, invitationRemoved, invitationDamaged, invitationForged
    case ownersKeyResetInvented, administratorForged, keyringOlder, keyringOfOtherShare, keyringRemoved
    case keyringDamaged, statementOlder, statementOfOtherShare

    // Links
    case linkKeptOpen, linkWrapOfOtherSlot, linkWrapOlder, linkWrapOfOtherShare, linkLeadsElsewhere

    // Accounts
    case keychainIdentitySwapped, keychainOfOtherAccount, keychainHidden, roundsLowered, saltOfOtherAccount
    case userNameSwapped, ghostDevice

    // The approval of a new device
    case approvalKeySwapped, approvalByCloudAsNewDevice, approvalByCloudAsOldDevice, approvalIdentitySwapped
    case approvalSecretSwapped, approvalAnswerChanged, approvalRepeated

    // The directory of identities
    case directoryKeysReplaced, directoryOfOtherCloud, directoryHeadDamaged, directoryHeadOlder
    case directoryProofDamaged, directoryProofOfOther, directoryHistoryRemoved, directoryHistoryDamaged
    case directorySilent, directoryShowsGhostForOwner, directoryShowsGhostForMember, directoryForked

    var testDescription: String { rawValue }

    /// The attacks of one test.
    enum Family: String, CaseIterable, Sendable {
        case records = "RecordAttackTests"
        case feeds = "FeedAttackTests"
        case assets = "AssetAttackTests"
        case shares = "ShareAttackTests"
        case keys = "KeyAttackTests"
        case links = "LinkAttackTests"
        case accounts = "AccountAttackTests"
        case approvals = "ApprovalAttackTests"
        case directory = "DirectoryAttackTests"
    }

    static func of(_ family: Family) -> [Attack] { allCases.filter { $0.family == family } }

    var family: Family {
        switch position {
        case ..<Self.recordRolledBack.position: .records
        case ..<Self.assetOfOtherField.position: .feeds
        case ..<Self.inventedZoneShare.position: .assets
        case ..<Self.participantSubstituted.position: .shares
        case ..<Self.linkKeptOpen.position: .keys
        case ..<Self.keychainIdentitySwapped.position: .links
        case ..<Self.approvalKeySwapped.position: .accounts
        case ..<Self.directoryKeysReplaced.position: .approvals
        default: .directory
        }
    }

    private var position: Int { Self.positions[self] ?? 0 }
    private static let positions = Dictionary(uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}
