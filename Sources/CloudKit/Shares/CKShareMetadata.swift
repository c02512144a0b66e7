import CloudKitClient
import CloudKitModel
import CloudKitWire
import Foundation

extension CKShare {
    /// The metadata of a share.
    public typealias Metadata = CKShareMetadata
}

/// The description of a share for the holder of its link, before and after accepting (B-ACP-01).
///
/// Apps write `CKShare.Metadata`; the class is at top level because a nested one cannot be archived.
public final class CKShareMetadata: NSObject, NSCopying, NSSecureCoding, Sendable {
    private let invitation: ShareInvitation
    private let openedShare: OpenedRecord
    private let openedRoot: OpenedRecord?
    /// The link as it was opened: a one-time link has another GUID than its share.
    let opened: ShareLink

    /// - Parameters:
    ///   - share: The invitation's share with its values opened.
    ///   - root: The same of its root.
    init(_ invitation: ShareInvitation, share: OpenedRecord, root: OpenedRecord?, opened: ShareLink) {
        self.invitation = invitation
        openedShare = share
        openedRoot = root
        self.opened = opened
        super.init()
    }

    convenience init(_ resolved: ResolvedShare) {
        self.init(resolved.invitation, share: resolved.share, root: resolved.root, opened: resolved.link)
    }

    /// The identifier of the container of the share.
    public var containerIdentifier: String { invitation.container.name }

    /// The share, as a separate object: changes to it do not affect the metadata.
    public var share: CKShare { CKShare(showing: openedShare) }

    /// The record at the top of the tree; nil for a share of a whole zone.
    public var hierarchicalRootRecordID: CKRecord.ID? {
        invitation.rootRecordName.map { CKRecord.ID(named: $0, in: CKRecordZone.ID(invitation.zoneID)) }
    }

    /// The identifier of the root record.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? CKRecord.ID(invitation.share.id) }

    /// The root, if it was asked for and can be read; nil for a share of a whole zone.
    public var rootRecord: CKRecord? { openedRoot.flatMap { try? CKRecord($0) } }

    /// The identity of the share’s owner.
    public var ownerIdentity: CKUserIdentity { CKUserIdentity(invitation.owner) }

    /// The role of the current user.
    public var participantRole: CKShare.ParticipantRole {
        CKShare.ParticipantRole(rawValue: invitation.role.rawValue) ?? .unknown
    }

    /// The state of the current user’s invitation.
    public var participantStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(rawValue: invitation.acceptance.rawValue) ?? .unknown
    }

    /// The permission of the current user.
    public var participantPermission: CKShare.ParticipantPermission {
        CKShare.ParticipantPermission(rawValue: invitation.permission.rawValue) ?? .unknown
    }

    /// The former name of the role.
    @available(*, deprecated, renamed: "participantRole")
    public var participantType: CKShare.ParticipantType {
        CKShare.ParticipantType(rawValue: invitation.role.rawValue) ?? .unknown
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return other.invitation == invitation && other.opened == opened
    }

    /// The hash value of the contents.
    public override var hash: Int { opened.hashValue }

    /// Contains only the names of container and zone: neither users nor the link belong in logs.
    public override var description: String {
        "<CKShareMetadata: \(addressText(of: self)); containerIdentifier=\(containerIdentifier), "
            + "share=\(invitation.share.id.recordName), participantRole=\(participantRole), "
            + "participantStatus=\(participantStatus), participantPermission=\(participantPermission)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        /// The answer as it came, without encrypted values and keys.
        var answer: Data
        var link: ShareLink
        var opened: ShareLink
    }

    private static let style = WireStyle(surface: .native, caller: nil, requestUUID: "")

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        if let content = Archive.decode(Content.self, from: coder) {
            guard
                case .invitation(let invitation)? = try? [ShareInvitationOutcome](wireAnswer: Array(content.answer))
                    .first
            else { return nil }
            var share = OpenedRecord(invitation.share)
            share.link = content.link
            self.init(
                invitation, share: share, root: invitation.rootRecord.map { OpenedRecord($0) }, opened: content.opened)
        } else if let (invitation, link) = ArchivedObject(coder)?.invitation {
            var share = OpenedRecord(invitation.share)
            share.link = link
            self.init(
                invitation, share: share, root: invitation.rootRecord.map { OpenedRecord($0) }, opened: link)
        } else {
            return nil
        }
    }

    /// Archives what can be shown of the share; its encrypted values and those of its root are left out.
    public func encode(with coder: NSCoder) {
        var plain = invitation
        plain.share.fields.removeAll { $0.type.isEncrypted }
        plain.share.sharing?.keys = nil
        if plain.rootRecord?.isSealed == true { plain.rootRecord = nil }
        let answer = [ShareInvitationOutcome.invitation(plain)].wireAnswer(
            style: Self.style, answering: [ShareInvitationRequest(shortGUID: opened.shortGUID)])
        Archive.encode(
            Content(answer: Data(answer), link: openedShare.link ?? opened, opened: opened), into: coder)
    }
}

extension CKShare {
    /// Creates a share for display, without encrypted values that this device cannot open.
    fileprivate convenience init(showing opened: OpenedRecord) {
        var readable = opened
        if (try? opened.values.get().count) != opened.record.fields.count(where: \.type.isEncrypted) {
            readable.values = .success([])
            readable.record.fields.removeAll { $0.type.isEncrypted }
        }
        let share = opened.record.sharing ?? Share(root: nil)
        let sharing = SharingState(share, link: opened.link)
        do {
            self.init(state: try CKRecord.answered(readable).state, sharing: sharing)
        } catch {
            readable.record.fields = []
            self.init(state: RecordState(RecordSystemFields(readable.record)), sharing: sharing)
        }
    }
}

extension CKShareMetadata {
    /// The participant slot that the link offers, as accepting asks for it.
    var offer: (container: String, link: ShareLink, share: RecordID) {
        (containerIdentifier, opened, invitation.share.id)
    }
}

extension Result where Success == ResolvedShare, Failure == CallFailure {
    /// The metadata that an app sees.
    func asMetadata() -> Result<CKShareMetadata, any Error> { map { CKShareMetadata($0) }.asError(.other) }
}

extension Result where Success == OpenedRecord, Failure == CallFailure {
    /// The share as the app sees it.
    func asShare() -> Result<CKShare, any Error> {
        do {
            guard let share = try CKRecord.answered(try get()) as? CKShare else {
                throw CallFailure.answerMalformed(status: 200)
            }
            return .success(share)
        } catch let failure as CallFailure {
            return .failure(CKError(failure))
        } catch {
            return .failure(error)
        }
    }
}
