import CloudKitClient
import CloudKitModel
import Foundation

extension CKShareParticipant.Content {
    /// A participant in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        guard let id = archived.string("ParticipantID"), !id.isEmpty else { return nil }
        self.init(
            participant: ShareParticipant(
                id: id, role: archived.choice("Type") ?? .unknown,
                permission: archived.choice("Permission") ?? .unknown,
                acceptance: archived.choice("AcceptanceStatus") ?? .unknown,
                identity: archived.identity("UserIdentity").map { PersonIdentity($0) } ?? PersonIdentity()))
    }
}

extension PersonIdentity {
    fileprivate init(_ identity: CKUserIdentity) {
        self.init(
            user: identity.userRecordID.map { UserID($0.recordName) }, lookup: identity.lookupInfo?.model,
            givenName: identity.nameComponents?.givenName, familyName: identity.nameComponents?.familyName)
    }
}

extension ArchivedObject {
    /// The case whose raw value is under a key.
    fileprivate func choice<Choice: RawRepresentable<Int>>(_ key: String) -> Choice? {
        integer(key).flatMap { Choice(rawValue: $0) }
    }

    // MARK: Shares

    /// The share that Apple's framework archived as this object; nil for any other object.
    var share: (RecordState, SharingState.Content)? {
        guard let state = record, state.system.recordType == CKRecord.SystemType.share else { return nil }
        return (state, sharing(of: state.system))
    }

    private func sharing(of system: RecordSystemFields) -> SharingState.Content {
        let archived = items("Participants").compactMap { item -> ArchivedObject? in
            if case .object(let object) = item { object } else { nil }
        }
        let participants = archived.compactMap { CKShareParticipant.Content(apple: $0) }
        let current = archived.first { $0.flag("IsCurrentUser") }?.string("ParticipantID")
        let isZoneWide = system.recordID.recordName == CKRecordNameZoneWideShare
        let root = isZoneWide ? nil : recordID("RootRecordID")?.recordName
        let permission: ParticipantPermission = choice("PublicPermission") ?? .none
        // Without a tag the share was never saved, so that everything in it is the app's change.
        let held = system.changeTag.map { _ in
            Share(
                root: root, publicPermission: permission, participants: participants.map(\.participant),
                currentParticipantID: current)
        }
        return SharingState.Content(
            held: held, link: url("URL").flatMap { ShareLink($0) }, root: root, publicPermission: permission,
            allowsAccessRequests: false, participants: participants, currentParticipantID: current, denied: [],
            newlyBlocked: [], unblocked: [])
    }

    // MARK: Metadata

    /// The metadata that Apple's framework archived as this object, with its link; nil for any other object.
    ///
    /// The link leads to Apple's cloud: a share that this cloud does not know is refused when it is accepted.
    var invitation: (ShareInvitation, ShareLink)? {
        guard let container = object("ContainerID"), let name = container.string("ContainerIdentifier"),
            let archivedShare = object("Share"), let (state, sharing) = archivedShare.share
        else { return nil }
        var share = state.model
        share.sharing = sharing.held ?? Share(root: sharing.root, participants: sharing.participants.map(\.participant))
        let owner = share.sharing?.owner?.identity
        let root = object("RootRecord")?.record?.model
        let invitation = ShareInvitation(
            container: ContainerID(name),
            environment: container.integer("Environment") == 1 ? .production : .development,
            scope: choice("ParticipantType") == ParticipantRole.owner ? .private : .shared, share: share,
            rootRecordName: recordID("RootRecordID")?.recordName ?? root?.id.recordName, rootRecord: root,
            role: choice("ParticipantType") ?? .unknown, permission: choice("ParticipantPermission") ?? .unknown,
            acceptance: choice("ParticipantStatus") ?? .unknown,
            owner: identity("OwnerIdentity").map { PersonIdentity($0) } ?? owner ?? PersonIdentity())
        return (invitation, sharing.link ?? ShareLink.unknown)
    }
}

extension RecordState {
    /// The record as a Model value, with the plain fields that one can hold.
    fileprivate var model: Record {
        let converter = FieldConverter(zoneID: system.recordID.zoneID)
        let fields = fields.values.sorted { $0.key < $1.key }.compactMap { key, value in
            (try? converter.value(of: value, key: key)).flatMap { try? Field(name: key, value: $0) }
        }
        return Record(
            id: system.recordID.model, recordType: system.recordType, fields: fields,
            changeTag: ChangeTag(system.changeTag ?? ""), created: stamp(system.creationDate, system.creator),
            modified: stamp(system.modificationDate, system.modifier), parent: system.parent?.recordID.recordName,
            share: system.share?.recordID.recordName)
    }

    private func stamp(_ date: Date?, _ user: CKRecordID?) -> Stamp {
        let time = date.flatMap { try? FieldConverter.milliseconds($0, key: "") } ?? 0
        return Stamp(timestamp: time, user: user.map { UserID($0.recordName) } ?? .caller)
    }
}
